import { createPublisher } from '../adapters/publisher.ts'
import type { Config } from '../config/config.ts'
import type { Store } from '../core/ports/store.ts'
import type { ClaimedVersion, Namer } from '../core/ports/versions.ts'
import type { Clock } from '../core/ports/world.ts'
import { publishVersions } from '../core/publish-versions.ts'
import { LIST_LENGTH_MAX } from './use-cases.ts'

/** Pause between two steps without a namer; the calls to a namer are pause enough. */
const REST_MS = 10
/** Lets a namer that has a time limit report it first. */
const NAMER_GRACE_MS = 1_000
/** A lease outlives the call to the namer by this. */
const LEASE_MARGIN_MS = 20_000

type Deps = {
  readonly store: Pick<Store, 'versions' | 'watch'>
  readonly clock: Clock
  /** Without one, pages keep their built-in names. */
  readonly namer: Namer | null
  readonly settings: Pick<Config, 'namerMsMax' | 'namerCallsMax' | 'publisherPollMs'>
  readonly onFailedAttempt: (version: ClaimedVersion, why: unknown) => void
  readonly onError: (error: unknown) => void
}

/** A publisher over a store: many versions at a time, but no more than calls to the namer if there is one. */
export const composePublisher = ({ store, clock, namer, settings, onFailedAttempt, onError }: Deps) => {
  const { namerMsMax, namerCallsMax, publisherPollMs: pollMs } = settings
  const publisher = createPublisher({
    publish: publishVersions({
      store,
      clock,
      namer: namer && withTimeLimit(namer, namerMsMax + NAMER_GRACE_MS),
      claimMax: namer ? namerCallsMax : LIST_LENGTH_MAX,
      leaseMs: namerMsMax + LEASE_MARGIN_MS,
      onFailedAttempt,
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

/** A namer that ends in time and on `stop`: one that never answers would block the publisher. */
const withTimeLimit =
  (namer: Namer, msMax: number): Namer =>
  async (context, stop) => {
    stop.throwIfAborted()
    const ending = new AbortController()
    const ended = new Promise<never>((_, reject) => {
      ending.signal.addEventListener('abort', () => reject(ending.signal.reason))
    })
    const onStop = () => ending.abort(stop.reason)
    const timer = setTimeout(() => ending.abort(new Error(`no name came within ${msMax} ms`)), msMax)
    stop.addEventListener('abort', onStop)
    try {
      return await Promise.race([namer(context, ending.signal), ended])
    } finally {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
    }
  }
