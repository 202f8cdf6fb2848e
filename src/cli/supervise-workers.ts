import cluster, { type Worker } from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../adapters/log.ts'
import type { Config } from '../config/config.ts'
import { freePort, passedSocket } from './listen-place.ts'
import { addressOf, onSignals, type Report } from './role.ts'
import { answerScrapes } from './worker-scrape.ts'

/** A worker that lived shorter than this counts as one of a crash loop. */
const SHORT_LIFE_MS = 10_000
const PAUSE_MS_MIN = 100
const PAUSE_MS_MAX = 10_000
/** A worker exits ten seconds after its drain at the latest; one that hangs even then is killed. */
const KILL_AFTER_DRAIN_MS = 12_000

/** The pause before the next worker starts, after this many short lives in a row. */
export const pauseMsAfter = (shortLives: number): number =>
  Math.min(PAUSE_MS_MIN * 2 ** Math.max(shortLives - 1, 0), PAUSE_MS_MAX)

/**
 * Keeps `WORKERS` processes serving on one port and replaces each that exits; this process serves nothing. Throws, once
 * for all, the error that keeps the first ones from starting: a port in use, or a database that refuses them.
 */
export const superviseWorkers = async (config: Config, log: Log): Promise<void> => {
  const isPort = passedSocket() === undefined && !config.host.startsWith('/')
  const port = isPort ? await freePort(config.host, config.port) : 0
  if (config.metrics) answerScrapes((await import('../adapters/metrics/aggregate.ts')).createAggregate())
  const done = Promise.withResolvers<void>()
  const living = new Set<Worker>()
  const listening = new Set<Worker>()
  const stop = new AbortController()
  let isAnnounced = false
  let hasStarted = false
  let shortLives = 0

  const killAll = () => {
    for (const worker of living) worker.process.kill('SIGKILL')
  }
  const finishIfNoneLives = () => {
    if (living.size > 0) return
    log.info('stopped')
    log.flush()
    done.resolve()
  }

  const fork = (replacedPid?: number) => {
    const worker = cluster.fork({ PORT: String(port) })
    const startedMs = performance.now()
    const { pid } = worker.process
    let refusal: string | undefined
    living.add(worker)

    const onListening = () => {
      listening.add(worker)
      if (replacedPid !== undefined) log.info({ workerPid: pid, replacedPid }, 'worker replaced')
      if (isAnnounced || listening.size < config.workers) return
      isAnnounced = true
      log.info({ ...addressOf(config, port), workers: config.workers }, 'listening')
    }
    const onExit = (code: number | null, signal: string | null) => {
      if (!living.delete(worker)) return
      const hadListened = listening.delete(worker)
      const isOrderly = code === 0 || signal === 'SIGTERM'
      if (stop.signal.aborted) {
        if (!isOrderly) process.exitCode = 1
        return finishIfNoneLives()
      }
      if ((refusal !== undefined && !hasStarted) || (!hadListened && !isAnnounced)) {
        stop.abort()
        killAll()
        return done.reject(new Error(refusal ?? `A worker exited at once: ${signal ?? `exit code ${code}`}.`))
      }
      shortLives = performance.now() - startedMs < SHORT_LIFE_MS ? shortLives + 1 : 0
      const pauseMs = pauseMsAfter(shortLives)
      const facts = { workerPid: pid, code, signal, detail: refusal, pauseMs }
      log[isOrderly ? 'info' : 'error'](facts, 'worker exited, starting another')
      void pause(pauseMs, pid, { signal: stop.signal }).then(fork, () => {})
    }
    worker.on('message', (message: Report) => {
      if (message.kind === 'refused') refusal = message.detail
      else if (message.kind === 'started') hasStarted = true
      else if (message.kind === 'listening') onListening()
    })
    worker.once('exit', onExit)
    // A process that could not be created does not emit `exit`.
    worker.on('error', () => {
      if (pid === undefined) onExit(null, null)
    })
  }

  const stopAll = () => {
    stop.abort()
    for (const worker of living) worker.process.kill('SIGTERM')
    setTimeout(killAll, config.drainMsMax + KILL_AFTER_DRAIN_MS).unref()
    finishIfNoneLives()
  }
  onSignals(log, stopAll, killAll)
  cluster.schedulingPolicy = cluster.SCHED_NONE
  for (let number = 0; number < config.workers; number++) fork()
  await done.promise
}
