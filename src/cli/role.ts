import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'

/** What a serving process tells of itself, and by what it learns that it has to stop: alone, or as one of several. */
export type Role = {
  readonly listening: (where: Where) => void
  readonly started: () => void
  /** Takes what stops the service; it is called once. */
  readonly onStop: (stop: () => Promise<void>) => void
  readonly stopped: () => void
  /** What `/metrics` answers: the figures of this process, or of all that serve with it. */
  readonly scrape: (metrics: Metrics) => () => Promise<string>
}
type Where = {
  readonly host: string
  readonly port: number
  readonly url: string
  readonly database: string
}

export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** One process is the whole service: it logs for all, and the first SIGTERM or SIGINT stops it. */
export const alone = (log: Log): Role => ({
  listening: (where) => log.info(where, 'listening'),
  started: () => {},
  onStop: (stop) => {
    onSignals(
      (signal) => {
        log.info({ signal }, 'stopping')
        void stop()
      },
      () => process.exit(1),
    )
  },
  stopped: () => log.info('stopped'),
  scrape: ({ text }) => text,
})

/**
 * A terminal sends its SIGINT to every process that it runs, and some pass it on: `npm`, or the old Node that started
 * this one. What comes this soon after the first is the first again.
 */
const SAME_MS = 300

/** The first SIGTERM or SIGINT, and the second of either. */
export const onSignals = (first: (signal: NodeJS.Signals) => void, second: () => void): void => {
  let firstMs: number | null = null
  const tell = (signal: NodeJS.Signals) => {
    if (firstMs === null) {
      firstMs = performance.now()
      first(signal)
    } else if (performance.now() - firstMs > SAME_MS) second()
  }
  process.on('SIGTERM', tell).on('SIGINT', tell)
}
