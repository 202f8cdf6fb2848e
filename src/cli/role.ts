import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'

/** How a serving process reports its state and learns that it must stop: on its own, or as one of several workers. */
export type Role = {
  readonly listening: (address: { host: string; port: number; url: string; database: string }) => void
  readonly started?: () => void
  /** Registers what stops the service. A second call of it does nothing. */
  readonly onStop: (stop: () => void) => void
  readonly stopped: () => void
  /** What `/metrics` answers if not the metrics of this process: those of all workers. */
  readonly scrape?: (metrics: Metrics) => () => Promise<string>
}

export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** A process that is the whole service: it logs its state, and the first SIGTERM or SIGINT stops it. */
export const standaloneRole = (log: Log): Role => ({
  listening: (address) => log.info(address, 'listening'),
  onStop: (stop) => onSignals(log, stop),
  stopped: () => log.info('stopped'),
})

/** A terminal sends SIGINT to all of its processes, and `npm` passes it on: this soon after the first it is the same. */
const SAME_SIGNAL_MS = 300

/** Stops at the first SIGTERM or SIGINT. The second of either ends the process at once. */
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
  process.on('SIGTERM', handle).on('SIGINT', handle)
}
