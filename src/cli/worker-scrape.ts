import cluster, { type Worker } from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import type { createAggregate, MetricsReport } from '../adapters/metrics/aggregate.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import { refuse } from '../core/engine/failures.ts'

// A scrape reaches one worker and answers for all: that worker asks the primary, which collects the metrics of every
// worker and returns their sum.
export type ScrapeReport = { kind: 'scrape' } | { kind: 'metrics'; metrics: MetricsReport }
type Order = { kind: 'report metrics' } | { kind: 'scraped'; text: string }

/** A worker that has not reported within this time does not respond. It may wait a second for its database. */
const REPORT_MS_MAX = 2_000
const SCRAPE_MS_MAX = 3_000
const ignore = () => {}

/** In the primary: answers the scrapes of its workers. */
export const answerScrapes = (aggregate: ReturnType<typeof createAggregate>): void => {
  const reports = new EventEmitter().setMaxListeners(0)
  const send = (worker: Worker, order: Order) => worker.isConnected() && worker.send(order, () => {})

  const collect = async (): Promise<string> => {
    const signal = AbortSignal.timeout(REPORT_MS_MAX)
    const reportOf = (worker: Worker | undefined) =>
      worker &&
      send(worker, { kind: 'report metrics' }) &&
      once(reports, String(worker.id), { signal }).catch(() => aggregate.silent(worker.id))
    await Promise.all(Object.values(cluster.workers ?? {}).map(reportOf))
    return aggregate.text()
  }

  cluster.on('message', (worker, message: ScrapeReport) => {
    if (message.kind === 'metrics') {
      aggregate.report(worker.id, message.metrics)
      reports.emit(String(worker.id))
    } else if (message.kind === 'scrape')
      // On a failure nothing is sent, and the scraped worker runs into its timeout.
      void collect().then((text) => send(worker, { kind: 'scraped', text }), ignore)
  })
  cluster.on('exit', (worker) => {
    aggregate.exit(worker.id)
    reports.emit(String(worker.id))
  })
}

/** In a worker: reports its metrics on request, and gets the sum over all workers from the primary. */
export const scrapeByPrimary = (send: (message: ScrapeReport) => void) => (metrics: Metrics) => {
  const scrapes = new EventEmitter().setMaxListeners(0)
  process.on('message', (order: Order) => {
    if (order.kind === 'scraped') scrapes.emit('done', order.text)
    else if (order.kind === 'report metrics')
      void metrics.report().then((metrics) => send({ kind: 'metrics', metrics }), ignore)
  })

  return async () => {
    const scraped = once(scrapes, 'done', { signal: AbortSignal.timeout(SCRAPE_MS_MAX) })
    send({ kind: 'scrape' })
    const [text] = await scraped.catch(() =>
      refuse('unavailable', 'The metrics of all workers could not be collected in time.', { retryAfterS: 1 }),
    )
    return text
  }
}
