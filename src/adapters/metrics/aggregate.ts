import { AggregatorRegistry } from 'prom-client'

/** The measurements that one process sends to another: for each metric its `type` and the members for prom-client. */
export type MetricsReport = readonly { readonly type: unknown }[]

/**
 * The metrics of several processes as one. The counters of a process that does not respond, or that exits, are kept, so
 * sums never decrease; its gauges are dropped.
 */
export const createAggregate = () => {
  const reports = new Map<number, MetricsReport>()
  /** A worker's last message may arrive after its exit. */
  const exited = new Set<number>()
  let kept: MetricsReport = []
  const countersOf = (processId: number) => reports.get(processId)?.filter(({ type }) => type !== 'gauge')

  return {
    report: (processId: number, report: MetricsReport): void => {
      if (!exited.has(processId)) reports.set(processId, report)
    },
    /** Call it when the process does not respond. */
    silent: (processId: number): void => void reports.set(processId, countersOf(processId) ?? []),
    exit: (processId: number): void => {
      const counters = countersOf(processId)
      exited.add(processId)
      reports.delete(processId)
      if (counters) kept = sumOf(kept, counters).getMetricsAsArray()
    },
    /** In Prometheus's text format. */
    text: (): Promise<string> => sumOf(...reports.values(), kept).metrics(),
  }
}

const sumOf = (...reports: MetricsReport[]) => AggregatorRegistry.aggregate(reports)
