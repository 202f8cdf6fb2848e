import { Gauge, type Registry } from 'prom-client'
import type { GatherObserver } from '../../core/gather.ts'
import { createHistogram } from './histogram.ts'

const LENGTHS = [1, 2, 5, 10, 20, 50, 100, 200]

/** The lists that calls are gathered into: how long they are, and how many calls wait for one. */
export const listFigures = (register: Registry) => {
  const lengths = createHistogram(register, {
    name: 'prospect_pages_list_length',
    help: 'Calls of one operation that were done as one list.',
    buckets: LENGTHS,
  })
  const queued = new Map<string, number>()
  new Gauge({
    name: 'prospect_pages_list_queued_calls',
    help: 'Calls of one operation that wait for a list.',
    labelNames: ['operation'],
    registers: [register],
    collect() {
      for (const [operation, calls] of queued) this.set({ operation }, calls)
    },
  })

  return {
    /** What `gather` tells of one operation. */
    gathering: (operation: string): GatherObserver => {
      queued.set(operation, 0)
      return {
        list: lengths.child({ operation }),
        queued: (calls) => {
          queued.set(operation, calls)
        },
      }
    },
  }
}
