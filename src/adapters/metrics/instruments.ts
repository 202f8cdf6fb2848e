import { Counter, Gauge, type GaugeConfiguration, type Metric, type Registry } from 'prom-client'
import { countsOf } from './observations.ts'

export type Instruments = ReturnType<typeof createInstruments>

/** Adds metrics to a registry. Their names are given without the prefix. */
export const createInstruments = (register: Registry) => {
  const described = (name: string, help: string) => ({ name: `prospect_pages_${name}`, help })
  const registers = [register]
  return {
    counter: (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ ...described(name, help), labelNames, registers }),
    /** A gauge that `collect` sets at each scrape. */
    gauge: (
      name: string,
      help: string,
      collect: (gauge: Gauge) => void | Promise<void>,
      more: Partial<GaugeConfiguration<string>> = {},
    ): void => {
      const gauge: Gauge = new Gauge({
        ...described(name, help),
        ...more,
        registers,
        collect: () => collect(gauge),
      })
    },
    /**
     * Makes functions that observe values, one for each set of labels. The histogram of prom-client assembles the
     * labels again for each value, which takes ten times as long; prom-client prints and aggregates these like any
     * histogram.
     */
    histogram: (name: string, help: string, buckets: readonly number[]) => {
      const children: (() => object[])[] = []
      const metric = { ...described(name, help), type: 'histogram', aggregator: 'sum' }
      const get = async () => ({ ...metric, values: children.flatMap((samples) => samples()) })
      // The registry needs only these members; its type requires more.
      register.registerMetric({ ...metric, get } as unknown as Metric)
      return (labels: Readonly<Record<string, string>> = {}) => {
        const { observe, samples } = countsOf(metric.name, labels, buckets)
        children.push(samples)
        return observe
      }
    },
  }
}
