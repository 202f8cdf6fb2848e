import { setTimeout as pause } from 'node:timers/promises'
import { createPublisher } from '../adapters/publisher.ts'
import type { Config } from '../config/config.ts'
import { namePatiently } from '../core/name-patiently.ts'
import type { Store } from '../core/ports/store.ts'
import type { Namer, OnFailedAttempt } from '../core/ports/versions.ts'
import type { Clock } from '../core/ports/world.ts'
import { publishVersions } from '../core/publish-versions.ts'
import { LIST_LENGTH_MAX } from './use-cases.ts'

/** Pause between two steps without a namer; the calls to a namer are pause enough. */
const REST_MS = 10
/** A lease outlives the patience with the namer by this. */
const LEASE_MARGIN_MS = 20_000

type Deps = {
  readonly store: Pick<Store, 'versions' | 'watch'>
  readonly clock: Clock
  /** Without one, pages keep their built-in names. */
  readonly namer: Namer | null
  readonly settings: Pick<Config, 'namerPatienceMs' | 'namerCallsMax' | 'publisherPollMs'>
  readonly onFailedAttempt: OnFailedAttempt
  readonly onError: (error: unknown) => void
}

/** A publisher over a store: many versions at a time, but no more than calls to the namer if there is one. */
export const composePublisher = ({ store, clock, namer, settings, onFailedAttempt, onError }: Deps) => {
  const { namerPatienceMs: patienceMs, namerCallsMax, publisherPollMs: pollMs } = settings
  const sleep = (ms: number, stop: AbortSignal) => pause(ms, undefined, { signal: stop }).catch(() => {})
  const publisher = createPublisher({
    publish: publishVersions({
      store,
      clock,
      namer: namer && namePatiently({ namer, patienceMs, sleep, onFailedAttempt }),
      claimMax: namer ? namerCallsMax : LIST_LENGTH_MAX,
      leaseMs: (namer ? patienceMs : 0) + LEASE_MARGIN_MS,
    }),
    pollMs,
    restMs: namer ? 0 : REST_MS,
    onError,
  })
  return {
    ...publisher,
    start: () => {
      store.watch((signal) => {
        // After the callers who created the versions have their answers.
        if (signal === 'versions') setImmediate(publisher.wake)
      })
      publisher.start()
    },
  }
}
