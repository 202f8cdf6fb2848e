import cluster from 'node:cluster'
import type { Role } from './role.ts'
import { type ScrapeReport, scrapeByPrimary } from './worker-scrape.ts'

/** What a worker reports to the primary. */
export type Report = ScrapeReport | { kind: 'listening' | 'started' } | { kind: 'refused'; detail: string }

const report = (message: Report, then: () => void = () => {}): void => {
  if (process.connected) process.send?.(message, undefined, undefined, then)
  else then()
}

/** One of several workers. The primary logs starts and stops, once for all of them. */
export const workerRole: Role = {
  listening: () => report({ kind: 'listening' }),
  started: () => report({ kind: 'started' }),
  // All signals count as one: a terminal sends its own to every process, and the primary passes it on. Only the primary
  // kills a worker. A worker that loses its primary finishes the requests in flight and ends.
  onStop: (stop) => {
    process.on('SIGTERM', stop).on('SIGINT', stop)
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

/** Ends a worker that cannot serve; the primary decides what that means for all of them. */
export const reportRefusal = (error: unknown): void => {
  const detail = error instanceof Error ? error.message : String(error)
  report({ kind: 'refused', detail }, () => process.exit(1))
}
