import type { Metric } from 'prom-client'
import { memoized } from '../../core/engine/memoized.ts'
import { countsOf } from './observations.ts'

export type Instruments = ReturnType<typeof createInstruments>
export type Gauge = { readonly set: (value: number, labels?: Labels) => void }
type Labels = Readonly<Record<string, string | number>>

/**
 * Metrics with a prefix to their names. They count without prom-client, which is imported to print them:
 * it takes some megabytes, and assembles labels again for each value.
 */
export const createInstruments = () => {
  const metrics: Metric[] = []
  const add = (
    metric: {
      readonly name: string
      readonly help: string
      readonly type: string
    },
    values: () => Promise<readonly object[]>,
  ): string => {
    const named = { ...metric, name: `prospect_pages_${metric.name}` }
    // A registry needs only these members; its type requires more.
    metrics.push({ ...named, get: async () => ({ ...named, values: await values() }) } as unknown as Metric)
    return named.name
  }
  return {
    metrics: metrics as readonly Metric[],
    /** Without labels it starts at 0. */
    counter: (name: string, help: string, labelNames: readonly string[] = []) => {
      const children: { readonly labels: Labels; value: number }[] = []
      const childOf = memoized((key: string) => {
        const child = { labels: JSON.parse(key) as Labels, value: 0 }
        children.push(child)
        return child
      })
      if (labelNames.length === 0) childOf('{}')
      add({ name, help, type: 'counter' }, async () => children)
      return {
        inc: (labels: Labels = {}, more = 1): void => {
          childOf(JSON.stringify(labels)).value += more
        },
      }
    },
    /** A gauge that `collect` sets at each scrape; otherwise it is missing. */
    gauge: (name: string, help: string, collect: (gauge: Gauge) => void | Promise<void>): void => {
      const collected = async () => {
        const values: object[] = []
        await collect({
          set: (value, labels = {}) => {
            values.push({ labels, value })
          },
        })
        return values
      }
      add({ name, help, type: 'gauge' }, collected)
    },
    /** Makes functions that observe values, one for each set of labels. */
    histogram: (name: string, help: string, buckets: readonly number[]) => {
      const children: (() => object[])[] = []
      const fullName = add({ name, help, type: 'histogram' }, async () =>
        children.flatMap((samples) => samples()),
      )
      return (labels: Labels = {}) => {
        const { observe, samples } = countsOf(fullName, labels, buckets)
        children.push(samples)
        return observe
      }
    },
  }
}
