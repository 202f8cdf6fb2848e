import { type Background, type WorkHooks, workInBackground } from '../adapters/background-work.ts'
import { createNewId } from '../adapters/ids.ts'
import type { Job } from '../adapters/job-runner.ts'
import type { QueueWatch } from '../adapters/queue-watch.ts'
import { checkOptions } from '../config/check-options.ts'
import { DEFAULTS } from '../config/config.ts'
import { deleteExpired } from '../core/erasures/delete-expired.ts'
import { eraseProspects } from '../core/erasures/erase-prospects.ts'
import { notingFailedPurges } from '../core/erasures/noting-failed-purges.ts'
import { sweepLateLogs } from '../core/erasures/sweep-late-logs.ts'
import { asWhole, type Store } from '../core/ports/store.ts'
import type { Clock, NewId, Served } from '../core/ports/world.ts'
import { moveMerged } from '../core/prospects/move-merged.ts'
import { removeTenants } from '../core/tenants/remove-tenants.ts'

/** Pause between two steps, in which requests get the database. */
const REST_MS = 10
/** Moving logs is not urgent: nine tenths of the time belong to requests. */
const MOVE_REST_MS = 100
/** Erasures in this process, or signalled by others, are noticed at once. */
const POLL_MS = 5_000
const EXPIRED_POLL_MS = 60 * 60_000

/** The options of an eraser. Omitted settings have the defaults of the service. */
export type EraserOptions = WorkHooks & {
  readonly store: Partial<
    Pick<
      Store,
      | 'erasures'
      | 'merges'
      | 'prospectConflicts'
      | 'prospectCounts'
      | 'events'
      | 'tenants'
      | 'moments'
      | 'watch'
    >
  >
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** How long activities are kept, unless their tenant overrides it; 0 or null: forever. */
  readonly retentionDays?: number | null | undefined
  /** How long events are kept. */
  readonly eventDaysKept?: number | undefined
  /**
   * Called when deletion of expired data pauses for a day, because the clock (`pausedAt`) is far past the time at which
   * the database was last served. By default prints it to stderr.
   */
  readonly onPause?: ((pause: Served) => void) | undefined
}

/** What an operator can do about such a pause. */
export const PAUSED =
  'Deletion of expired data is paused for 24 hours: the clock is more than seven days past the time at which the database was last served. Check the clock. If the service was off that long, there is nothing to do.'

/**
 * An eraser over a store: completes erasures and merges, even of later activities, removes deleted tenants, ends blocks
 * of emails, and deletes expired activities and events. Several erasers, in one process or in many, share the work.
 */
export const createEraser = (options: EraserOptions, queues?: QueueWatch): Background =>
  workInBackground(checkOptions('createEraser', options), eraserJobs(options), queues)

export const eraserJobs = (options: EraserOptions): readonly Job[] => {
  const { clock = Date.now, newId = createNewId(), retentionDays = null, onPause = warn } = options
  const store = asWhole(options.store)
  const { eventDaysKept = DEFAULTS.eventDaysKept } = options
  const { erasures, isFailing } = notingFailedPurges(store.erasures)
  const purging = { store: { ...store, erasures }, clock }
  return [
    {
      needs: ['erasures', 'moments'],
      queue: 'erasures',
      signal: 'prospects',
      pollMs: POLL_MS,
      restMs: REST_MS,
      isFailing,
      createStep: () => eraseProspects(purging),
    },
    {
      needs: ['merges', 'moments'],
      queue: 'merges',
      signal: 'prospects',
      pollMs: POLL_MS,
      restMs: MOVE_REST_MS,
      createStep: () => moveMerged({ store, clock, newId }),
    },
    {
      needs: ['tenants', 'erasures', 'moments'],
      queue: 'removals',
      pollMs: POLL_MS,
      restMs: REST_MS,
      isFailing,
      createStep: (onError) => removeTenants({ ...purging, onError }),
    },
    {
      needs: ['erasures', 'events', 'tenants'],
      pollMs: EXPIRED_POLL_MS,
      restMs: REST_MS,
      createStep: (onError) =>
        deleteExpired({ store, clock, retentionDays, eventDaysKept, onPause, onError }),
    },
    {
      needs: ['erasures', 'merges', 'tenants'],
      pollMs: EXPIRED_POLL_MS,
      restMs: REST_MS,
      createStep: (onError) => sweepLateLogs({ store, clock, onError }),
    },
  ]
}

const warn = (pause: Served): void => console.warn(PAUSED, pause)
