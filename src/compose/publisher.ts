import { setTimeout as pause } from 'node:timers/promises'
import { type Background, type WorkHooks, workInBackground } from '../adapters/background-work.ts'
import { createNewId } from '../adapters/ids.ts'
import type { Job } from '../adapters/job-runner.ts'
import { shareLoop } from '../adapters/loop-share.ts'
import type { QueueWatch } from '../adapters/queue-watch.ts'
import { checkOptions } from '../config/check-options.ts'
import { DEFAULTS } from '../config/config.ts'
import { namePatiently } from '../core/pages/name-patiently.ts'
import { publishVersions } from '../core/pages/publish-versions.ts'
import { runSchedules } from '../core/pages/run-schedules.ts'
import { unpublishDeleted } from '../core/pages/unpublish-deleted.ts'
import { asWhole, type SmallStore } from '../core/ports/store.ts'
import type { Namer, OnFailedAttempt } from '../core/ports/versions.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { notePublisher } from '../service/unattended.ts'

/** Pause between two steps without a namer; the calls to a namer are pause enough. */
const REST_MS = 10
/** Pause between two reads of the schedules, because every new version causes one, though few have a schedule. */
const SCHEDULES_REST_MS = 30
/** Versions that a publisher without a namer publishes at a time. */
const LIST_LENGTH_MAX = 200
/** A lease outlives the patience with the namer by this. */
const LEASE_MARGIN_MS = 20_000

/** The options of a publisher. Omitted settings have the defaults of the service. */
export type PublisherOptions = WorkHooks & {
  readonly store: Pick<
    SmallStore,
    'pages' | 'versions' | 'schedules' | 'deletions' | 'moments' | 'watch' | 'handOver'
  >
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** Names pages, like that of `prospect-pages/naming`; without one, pages keep their built-in names. */
  readonly namer?: Namer | null | undefined
  /** How long naming may delay a version, retries included; then it keeps its built-in name. */
  readonly namerPatienceMs?: number | undefined
  /** Calls to the namer at a time. */
  readonly namerCallsMax?: number | undefined
  /** How often it polls for versions and schedules that no signal announced. */
  readonly pollMs?: number | undefined
  /** Called for each failed call to the namer, instead of `onError`. */
  readonly onFailedAttempt?: OnFailedAttempt | undefined
}

/**
 * A publisher over a store: many versions at a time; with a namer, no more than `namerCallsMax`. It also publishes and
 * unpublishes on schedule, and unpublishes the pages of deleted groups. Several publishers, in one process or in many,
 * share the work.
 */
export const createPublisher = (options: PublisherOptions, queues?: QueueWatch): Background => {
  const publisher = workInBackground(checkOptions('createPublisher', options), publisherJobs(options), queues)
  const start = () => {
    notePublisher()
    publisher.start()
  }
  return { ...publisher, start }
}

export const publisherJobs = (options: PublisherOptions): readonly Job[] => {
  const { clock = Date.now, newId = createNewId() } = options
  const store = asWhole(options.store)
  const {
    namer = null,
    namerCallsMax = DEFAULTS.namerCallsMax,
    namerPatienceMs: patienceMs = DEFAULTS.namerPatienceMs,
    pollMs = DEFAULTS.publisherPollMs,
    onFailedAttempt = () => {},
  } = options
  const sleep = (ms: number, stop: AbortSignal) => pause(ms, undefined, { signal: stop }).catch(() => {})
  const aheadMs = 2 * pollMs
  const leaseMs = (namer ? patienceMs : 0) + LEASE_MARGIN_MS
  const handOver = namer ? undefined : store.handOver
  const createStep = () =>
    publishVersions({
      store,
      clock,
      newId,
      namer: namer && namePatiently({ namer, patienceMs, sleep, onFailedAttempt }),
      claimMax: namer ? namerCallsMax : LIST_LENGTH_MAX,
      leaseMs,
      handOver,
    })
  return [
    {
      queue: 'versions',
      signal: 'versions',
      pollMs,
      restMs: namer ? 0 : REST_MS,
      createStep,
      registerWake: handOver && ((wake) => handOver.register(wake, leaseMs)),
    },
    {
      needs: ['schedules'],
      queue: 'schedules',
      signal: 'versions',
      pollMs,
      restMs: SCHEDULES_REST_MS,
      createStep: (onError) => runSchedules({ store, clock, newId, shareLoop, sleep, aheadMs, onError }),
    },
    {
      needs: ['deletions', 'moments'],
      queue: 'deletions',
      signal: 'deletions',
      pollMs,
      restMs: REST_MS,
      createStep: (onError) => unpublishDeleted({ store, clock, newId, shareLoop, onError }),
    },
  ]
}
