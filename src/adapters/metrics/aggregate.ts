import { AggregatorRegistry } from 'prom-client'

/** What one process has measured, as it sends it to another: of each metric its `type`, and what prom-client reads. */
export type MetricsReport = readonly { readonly type: unknown }[]

export const UNRESPONSIVE = 'Processes that did not respond to this scrape. Their last metrics are included.'
/** The report of the process that collects the others. */
export const unresponsive = (processes: number): MetricsReport => {
  const name = 'prospect_pages_processes_unresponsive'
  const values = [{ value: processes, labels: {} }]
  const gauge = { name, help: UNRESPONSIVE, type: 'gauge', aggregator: 'sum', values }
  return [gauge]
}

/**
 * The metrics of several processes as one. A process that does not respond contributes its last report. When a process
 * exits, its counters are kept, so sums never decrease; its gauges are dropped.
 */
export const createAggregate = () => {
  const reports = new Map<number, MetricsReport>()
  /** A worker's last message may arrive after its exit. */
  const exited = new Set<number>()
  let kept: MetricsReport = []

  return {
    report: (processId: number, report: MetricsReport): void => {
      if (!exited.has(processId)) reports.set(processId, report)
    },
    exit: (processId: number): void => {
      const counters = reports.get(processId)?.filter(({ type }) => type !== 'gauge')
      exited.add(processId)
      reports.delete(processId)
      if (counters) kept = sumOf(kept, counters).getMetricsAsArray()
    },
    /** In Prometheus's text format. */
    text: (): Promise<string> => sumOf(...reports.values(), kept).metrics(),
  }
}

const sumOf = (...reports: MetricsReport[]) => AggregatorRegistry.aggregate(reports)
