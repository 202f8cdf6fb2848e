import type { Job } from '../adapters/job-runner.ts'
import { shareLoop } from '../adapters/loop-share.ts'
import { asWhole, type Store } from '../core/ports/store.ts'
import type { Clock } from '../core/ports/world.ts'
import { indexProspects } from '../core/prospects/index-prospects.ts'

/** The longest time until the search finds a new person. */
const POLL_MS = 1_000
/** Pause between two steps, in which requests get the database. */
const REST_MS = 20

/** The options of indexing people. */
export type IndexerOptions = {
  readonly store: Partial<Pick<Store, 'searchIndex'>>
  readonly clock?: Clock | undefined
}

/** Indexes people for the search, in tenants that are searched. Several processes share the work. */
export const indexerJobs = (options: IndexerOptions): readonly Job[] => {
  const { clock = Date.now } = options
  const store = asWhole(options.store)
  const createStep: Job['createStep'] = (onError) => indexProspects({ store, clock, onError, shareLoop })
  return [{ needs: ['searchIndex'], queue: 'search', pollMs: POLL_MS, restMs: REST_MS, createStep }]
}
