import type { Job } from '../adapters/job-runner.ts'
import { countProspectLogs } from '../core/counts/count-prospect-logs.ts'
import { asWhole, type Store } from '../core/ports/store.ts'
import type { Clock } from '../core/ports/world.ts'

const POLL_MS = 10_000
/** Pause between two steps, in which requests get the database. */
const REST_MS = 20

/** The options of counting. Omitted settings have the defaults of the service. */
export type CounterOptions = {
  readonly store: Partial<Pick<Store, 'counts' | 'prospectCounts' | 'moments'>>
  readonly clock?: Clock | undefined
  /** False: activities are not counted. */
  readonly counts?: boolean | undefined
}

/** Counts activities, for tenants whose counts are read. Several processes share the work. */
export const counterJobs = (options: CounterOptions): readonly Job[] => {
  const { clock = Date.now, counts = true } = options
  const store = asWhole(options.store)
  const createStep: Job['createStep'] = (onError) => countProspectLogs({ store, clock, onError })
  const needs = ['counts', 'prospectCounts', 'moments'] as const
  return counts ? [{ needs, queue: 'counts', pollMs: POLL_MS, restMs: REST_MS, createStep }] : []
}
