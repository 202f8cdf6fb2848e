import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Log } from '../adapters/log.ts'
import type { Config } from '../config.ts'
import { DomainFailure } from '../core/failures.ts'
import { loadAggregate } from '../telemetry.ts'
import { onSignals, urlOf } from './role.ts'
import type { Report } from './worker.ts'
import { answerScrapes } from './worker-scrape.ts'

/** A worker that lived as long as this was in order: the next one may come at once. */
const CALM_MS = 10_000
const PAUSE_MS_MIN = 100
const PAUSE_MS_MAX = 10_000
/** A worker ends itself after its drain and ten seconds more; whatever hangs even then is ended from here. */
const LAST_WORD_MS = 12_000

/** How long a place stays empty after so many short lives in a row: a crash loop is not a hot one. */
export const pauseMsAfter = (shortLives: number): number =>
  Math.min(PAUSE_MS_MIN * 2 ** Math.max(shortLives - 1, 0), PAUSE_MS_MAX)

type End = { readonly code: number | null; readonly signal: NodeJS.Signals | null }
type Refusal = Extract<Report, { kind: 'refused' }>

/**
 * Keeps `WORKERS` processes serving on one port; this one serves nothing. A worker that ends is replaced, unless all
 * are to stop. What keeps the first from starting at all, a taken port or a database that refuses, is thrown, once.
 */
export const superviseWorkers = async (config: Config, log: Log): Promise<void> => {
  const port = await freePort(config.host, config.port)
  if (config.metrics) answerScrapes(await loadAggregate())
  await new Promise<void>((resolve, reject) => {
    const living = new Set<Worker>()
    const listening = new Set<Worker>()
    const replacing = new Set<NodeJS.Timeout>()
    let isAnnounced = false
    let hasStarted = false
    let stopping = false
    let orderly = true
    let shortLives = 0

    const killAll = () => {
      for (const worker of living) worker.process.kill('SIGKILL')
    }
    const fail = (error: Error) => {
      stopping = true
      killAll()
      reject(error)
    }
    const stoppedIfNone = () => {
      if (!stopping || living.size > 0) return
      log.info('stopped')
      log.flush()
      process.exitCode = orderly ? 0 : 1
      resolve()
    }

    const fork = (replaces: number | null) => {
      const worker = cluster.fork({ PORT: String(port) })
      const bornMs = performance.now()
      const { pid } = worker.process
      let refusal: Refusal | null = null
      living.add(worker)
      worker.on('message', (report: Report) => {
        if (report.kind === 'refused') refusal = report
        else if (report.kind === 'started') hasStarted = true
        else if (report.kind === 'listening') nowListening()
      })
      const nowListening = () => {
        listening.add(worker)
        if (replaces !== null) log.info({ workerPid: pid, replaces }, 'a worker took the place of another')
        if (isAnnounced || listening.size < config.workers) return
        isAnnounced = true
        const { host, database, workers } = config
        log.info({ host, port, url: urlOf(host, port), database: database.kind, workers }, 'listening')
      }
      const ended = (end: End) => {
        if (!living.delete(worker)) return
        const hadListened = listening.delete(worker)
        const isOrderly = end.code === 0 || end.signal === 'SIGTERM'
        if (stopping) {
          orderly &&= isOrderly
          return stoppedIfNone()
        }
        if (refusal !== null && !hasStarted) return fail(errorOf(refusal))
        if (!hadListened && !isAnnounced) return fail(new Error(`A worker ended at once: ${wordOf(end)}.`))
        shortLives = performance.now() - bornMs < CALM_MS ? shortLives + 1 : 0
        const pauseMs = pauseMsAfter(shortLives)
        const why = { workerPid: pid, ...end, ...(refusal && { detail: refusal.detail }), pauseMs }
        log[isOrderly ? 'info' : 'error'](why, 'a worker ended; another takes its place')
        const timer = setTimeout(() => {
          replacing.delete(timer)
          fork(pid ?? null)
        }, pauseMs)
        replacing.add(timer)
      }
      worker.once('exit', (code, signal) => ended({ code, signal: signal as NodeJS.Signals | null }))
      // Where there is no room for another process, there is no exit of one either.
      worker.on('error', () => {
        if (worker.process.pid === undefined) ended({ code: null, signal: null })
      })
    }

    onSignals(
      (signal) => {
        log.info({ signal }, 'stopping')
        stopping = true
        for (const timer of replacing) clearTimeout(timer)
        for (const worker of living) worker.process.kill('SIGTERM')
        setTimeout(killAll, config.drainMsMax + LAST_WORD_MS).unref()
        stoppedIfNone()
      },
      () => {
        killAll()
        process.exit(1)
      },
    )
    cluster.schedulingPolicy = cluster.SCHED_NONE
    for (let number = 0; number < config.workers; number++) fork(null)
  })
}

/** The port, or a free one for 0. Throws where somebody else listens on it, which those who share a port do not notice. */
const freePort = async (host: string, port: number): Promise<number> => {
  const trial = createServer().listen(port, host)
  await once(trial, 'listening')
  const { port: free } = trial.address() as AddressInfo
  await new Promise((resolve) => trial.close(resolve))
  return free
}

const wordOf = ({ code, signal }: End): string => signal ?? `exit code ${code}`

const errorOf = ({ failure, detail }: Refusal): Error =>
  failure === null ? new Error(detail) : new DomainFailure(failure, detail)
