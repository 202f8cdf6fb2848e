import cluster from 'node:cluster'
import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import type { Config } from '../config/config.ts'
import { nameOf } from '../config/database-address.ts'
import { type ScrapeReport, scrapeByPrimary } from './worker-scrape.ts'

/** How a serving process reports its state and learns that it must stop: alone, or as one of several workers. */
export type Role = {
  readonly listening: (address: ReturnType<typeof addressOf>) => void
  readonly started?: () => void
  /** Registers the function that stops the service. A second call of it does nothing. */
  readonly onStop: (stop: () => void) => void
  readonly stopped: () => void
  /** The answer of `/metrics` if not the metrics of this process: those of all workers. */
  readonly scrape?: (metrics: Metrics) => () => Promise<string>
}

/** Where a service with these settings listens, and the name of its database. */
export const addressOf = ({ host, database }: Config, port: number) => {
  const name = nameOf(database)
  const path = host.startsWith('/') ? host : 'passed by systemd'
  if (port === 0) return { path, url: `unix:${path}`, database: name }
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  return { host, port, url, database: name }
}

/** A process that is the whole service: it logs its state, and the first of these signals stops it. */
export const standaloneRole = (log: Log): Role => ({
  listening: (address) => log.info(address, 'listening'),
  onStop: (stop) => onSignals(log, stop),
  stopped: () => log.info('stopped'),
})

/** SIGHUP: the terminal was closed. */
const STOPPING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
/** A terminal sends its signals to all of its processes, and `npm` passes them on: this soon after the first it is the same. */
const SAME_SIGNAL_MS = 300

/** Stops at the first of these signals. The second ends the process at once. */
export const onSignals = (log: Log, stop: () => void, beforeExit = () => {}): void => {
  let firstMs: number | null = null
  const handle = (signal: NodeJS.Signals) => {
    if (firstMs === null) {
      firstMs = performance.now()
      log.info({ signal }, 'stopping')
      stop()
    } else if (performance.now() - firstMs > SAME_SIGNAL_MS) {
      beforeExit()
      process.exit(1)
    }
  }
  for (const signal of STOPPING) process.on(signal, handle)
}

/** The reports of a worker to the primary. */
export type Report = ScrapeReport | { kind: 'listening' | 'started' } | { kind: 'refused'; detail: string }

const report = (message: Report, then: () => void = () => {}): void => {
  if (process.connected) process.send?.(message, undefined, undefined, then)
  else then()
}

/** One of several workers. The primary logs starts and stops, once for all of them. */
export const workerRole: Role = {
  listening: () => report({ kind: 'listening' }),
  started: () => report({ kind: 'started' }),
  // All signals count as one: a terminal sends one to every process, and the primary passes it on. Only the primary
  // kills a worker. A worker that loses its primary finishes the requests in flight and ends.
  onStop: (stop) => {
    for (const signal of STOPPING) process.on(signal, stop)
    const { worker } = cluster
    worker?.once('disconnect', () => {
      // Without this `node:cluster` would exit at once.
      worker.exitedAfterDisconnect = true
      stop()
    })
  },
  // The channel to the primary is the last thing that keeps the process alive.
  stopped: () => {
    if (process.connected) cluster.worker?.disconnect()
  },
  scrape: scrapeByPrimary(report),
}

/** Ends a worker that cannot serve; the primary decides the consequence for all of them. */
export const reportRefusal = (error: unknown): void => {
  const detail = error instanceof Error ? error.message : String(error)
  report({ kind: 'refused', detail }, () => process.exit(1))
}
