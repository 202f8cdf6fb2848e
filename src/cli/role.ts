import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'

/** How a serving process reports its state and learns that it must stop: on its own, or as one of several workers. */
export type Role = {
  readonly listening: (address: { host: string; port: number; url: string; database: string }) => void
  readonly started: () => void
  /** Registers what stops the service. A second call of it does nothing. */
  readonly onStop: (stop: () => void) => void
  readonly stopped: () => void
  /** What `/metrics` answers: the metrics of this process, or those of all workers. */
  readonly scrape: (metrics: Metrics) => () => Promise<string>
}

export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** A process that is the whole service: it logs its state, and the first SIGTERM or SIGINT stops it. */
export const standaloneRole = (log: Log): Role => ({
  listening: (address) => log.info(address, 'listening'),
  started: () => {},
  onStop: (stop) => {
    onSignals((signal) => {
      log.info({ signal }, 'stopping')
      stop()
    })
  },
  stopped: () => log.info('stopped'),
  scrape: ({ text }) => text,
})

/** A terminal sends SIGINT to all of its processes, and `npm` passes it on: this soon after the first it is the same. */
const SAME_SIGNAL_MS = 300

/** Handles the first SIGTERM or SIGINT. The second of either ends the process at once. */
export const onSignals = (handleFirst: (signal: NodeJS.Signals) => void, beforeExit = () => {}): void => {
  let firstMs: number | null = null
  const handle = (signal: NodeJS.Signals) => {
    if (firstMs === null) {
      firstMs = performance.now()
      handleFirst(signal)
    } else if (performance.now() - firstMs > SAME_SIGNAL_MS) {
      beforeExit()
      process.exit(1)
    }
  }
  process.on('SIGTERM', handle).on('SIGINT', handle)
}
