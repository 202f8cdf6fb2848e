import { Counter, Gauge, type GaugeConfiguration, type Metric, type Registry } from 'prom-client'

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

const countsOf = (name: string, labels: object, buckets: readonly number[]) => {
  const counts = [...buckets, Number.POSITIVE_INFINITY].map(() => 0)
  let sum = 0
  return {
    observe: (value: number): void => {
      let bucket = 0
      while (value > (buckets[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
      counts[bucket] = (counts[bucket] ?? 0) + 1
      sum += value
    },
    samples: (): object[] => {
      let value = 0
      const cumulative = counts.map((count, i) => {
        value += count
        return { metricName: `${name}_bucket`, labels: { ...labels, le: buckets[i] ?? '+Inf' }, value }
      })
      return [
        ...cumulative,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value },
      ]
    },
  }
}

/** The same function, which observes how many seconds each call takes. */
export const timed =
  <Asked extends readonly unknown[], Answer>(
    call: (...asked: Asked) => Promise<Answer>,
    observe: (seconds: number) => void,
  ) =>
  async (...asked: Asked): Promise<Answer> => {
    const beganMs = performance.now()
    try {
      return await call(...asked)
    } finally {
      observe((performance.now() - beganMs) / 1_000)
    }
  }
