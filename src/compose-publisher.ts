import { createPublisher } from './adapters/publisher.ts'
import type { ClaimedVersion, Clock, Namer, Store } from './core/ports.ts'
import { publishVersions } from './core/publish-versions.ts'
import { onwardClock } from './core/times.ts'
import { LIST_LENGTH_MAX } from './use-cases.ts'

const REST_MS = 10
/** For a namer that minds its own limit to say so by itself. */
const NAMER_GRACE_MS = 1_000
/** A lease outlives the call to the namer by this. */
const LEASE_MARGIN_MS = 20_000

type Deps = {
  readonly store: Pick<Store, 'versions'>
  readonly clock: Clock
  readonly namer: Namer | null
  readonly namerMsMax: number
  readonly namerCallsMax: number
  readonly pollMs: number
  readonly onFailedAttempt: (version: ClaimedVersion, why: unknown) => void
  readonly onError: (error: unknown) => void
}

/** The background over a store: many versions at a time, and no more of them than calls to the namer where there is one. */
export const composePublisher = ({ namer, namerMsMax, namerCallsMax, pollMs, onError, ...deps }: Deps) =>
  createPublisher({
    publish: publishVersions({
      ...deps,
      waitClock: onwardClock(deps.clock, () => performance.now()),
      namer: namer && endingIn(namer, namerMsMax + NAMER_GRACE_MS),
      claimMax: namer ? namerCallsMax : LIST_LENGTH_MAX,
      leaseMs: namerMsMax + LEASE_MARGIN_MS,
    }),
    pollMs,
    restMs: REST_MS,
    onError,
  })

/** A namer that does not answer would keep everything else from being published. */
const endingIn =
  (namer: Namer, msMax: number): Namer =>
  async (context, stop, version) => {
    stop.throwIfAborted()
    const over = Promise.withResolvers<never>()
    const signal = new AbortController()
    const end = (why: unknown) => {
      over.reject(why)
      signal.abort(why)
    }
    const timer = setTimeout(() => end(new Error(`no name came within ${msMax} ms`)), msMax)
    const onStop = () => end(stop.reason)
    stop.addEventListener('abort', onStop)
    try {
      return await Promise.race([namer(context, signal.signal, version), over.promise])
    } finally {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
    }
  }
