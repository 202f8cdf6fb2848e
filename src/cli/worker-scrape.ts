import cluster, { type Worker } from 'node:cluster'
import type { createAggregate, MetricsReport } from '../adapters/metrics/aggregate.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import { DomainFailure } from '../core/failures.ts'

/**
 * A scrape reaches any of the workers, and answers for all: that worker asks the primary, which asks every worker, adds
 * up what they tell, and hands back the text.
 */
export type ScrapeReport =
  | { readonly kind: 'scrape' }
  | { readonly kind: 'figures'; readonly figures: MetricsReport }
type Order = { readonly kind: 'tell figures' } | { readonly kind: 'scraped'; readonly text: string }

/** A worker that has not told its figures by then is there with those that it told last. */
const FIGURES_MS_MAX = 1_000
const SCRAPE_MS_MAX = 3_000

/** In the primary: answers the scrapes of its workers for as long as it lives. */
export const answerScrapes = (aggregate: ReturnType<typeof createAggregate>): void => {
  const asked = new Set<Worker>()
  let allTold: () => void = () => {}
  const order = (worker: Worker, order: Order) => worker.isConnected() && worker.send(order, () => {})
  const toldBy = (worker: Worker) => {
    if (asked.delete(worker) && asked.size === 0) allTold()
  }

  const askAll = async (): Promise<string> => {
    for (const worker of Object.values(cluster.workers ?? {})) if (worker?.isConnected()) asked.add(worker)
    const told = new Promise<void>((resolve) => {
      allTold = resolve
    })
    const late = setTimeout(() => allTold(), FIGURES_MS_MAX)
    for (const worker of asked) order(worker, { kind: 'tell figures' })
    await told
    clearTimeout(late)
    asked.clear()
    return aggregate.text()
  }

  let asking: Promise<string> | null = null
  cluster.on('message', (worker, report: ScrapeReport) => {
    if (report.kind === 'figures') {
      aggregate.report(worker.id, report.figures)
      toldBy(worker)
    } else if (report.kind === 'scrape') {
      asking ??= askAll().finally(() => {
        asking = null
      })
      // Figures that cannot be added up are not told; the worker waits no longer than it may.
      asking.then((text) => order(worker, { kind: 'scraped', text })).catch(() => {})
    }
  })
  cluster.on('exit', (worker) => {
    aggregate.exit(worker.id)
    toldBy(worker)
  })
}

/** In a worker: tells its figures when it is asked, and gets those of all of them from the primary. */
export const scrapeByPrimary = ({ report }: Metrics): (() => Promise<string>) => {
  let waiting: PromiseWithResolvers<string> | null = null
  const tell = (report: ScrapeReport) => process.connected && process.send?.(report, undefined, {}, () => {})

  const tellFigures = async () => tell({ kind: 'figures', figures: await report() })
  process.on('message', (order: Order) => {
    if (order.kind === 'tell figures') tellFigures().catch(() => {})
    else if (order.kind === 'scraped') waiting?.resolve(order.text)
  })

  return async () => {
    if (waiting !== null) return waiting.promise
    const scrape = Promise.withResolvers<string>()
    waiting = scrape
    const timer = setTimeout(() => scrape.reject(noFigures()), SCRAPE_MS_MAX)
    tell({ kind: 'scrape' })
    try {
      return await scrape.promise
    } finally {
      clearTimeout(timer)
      waiting = null
    }
  }
}

const noFigures = () =>
  new DomainFailure('unavailable', 'The figures of all workers could not be had.', { retryAfterS: 1 })
