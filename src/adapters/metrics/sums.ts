import { AggregatorRegistry } from 'prom-client'

/** What one process has measured, as it is sent to another. */
export type Figures = readonly {
  readonly name: string
  readonly help: string
  /** `counter`, `gauge` or `histogram`. */
  readonly type: unknown
  readonly aggregator: string
  readonly values: readonly object[]
}[]

/**
 * The figures of several processes as one: each as its kind is added up. A process that does not answer is there with
 * what it told last. Of one that has ended the counters stay, so that no sum ever goes back; what it held goes with it.
 */
export const createSums = () => {
  const told = new Map<number, Figures>()
  let ended: Figures = []
  /** A worker's last message may arrive after its exit. */
  const exited = new Set<number>()

  return {
    told: (process: number, figures: Figures): void => {
      if (!exited.has(process)) told.set(process, figures)
    },
    ended: (process: number): void => {
      exited.add(process)
      const figures = told.get(process)
      if (figures === undefined) return
      told.delete(process)
      const counters = figures.filter(({ type }) => type !== 'gauge')
      ended = summed([ended, counters]).getMetricsAsArray() as unknown as Figures
    },
    /** In the text format of Prometheus. */
    text: (): Promise<string> => summed([...told.values(), ended]).metrics(),
  }
}

const summed = (all: readonly Figures[]) => AggregatorRegistry.aggregate(all as unknown as object[])
