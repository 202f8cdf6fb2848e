import { createPublisher } from '../adapters/publisher.ts'
import { readConfig } from '../config/config.ts'
import type { Store } from '../core/ports/store.ts'
import type { ClaimedVersion, Namer } from '../core/ports/versions.ts'
import type { Clock } from '../core/ports/world.ts'
import { publishVersions } from '../core/publish-versions.ts'
import { LIST_LENGTH_MAX } from './use-cases.ts'

/** Without a namer; calls to a namer are rest enough. */
const REST_MS = 10
/** For a namer with a time limit of its own to report it first. */
const NAMER_GRACE_MS = 1_000
/** A lease outlives the call to the namer by this. */
const LEASE_MARGIN_MS = 20_000

/** What a publisher needs. What is left out is as the service has it by default. */
export type PublisherOptions = {
  readonly store: Pick<Store, 'versions'>
  readonly clock?: Clock | undefined
  /** Names pages, as the one of `prospect-pages/naming` does; without it pages keep their built-in names. */
  readonly namer?: Namer | null | undefined
  /** Time limit of one call to the namer. After it, and a margin, another publisher may claim the version. */
  readonly namerMsMax?: number | undefined
  /** Calls to the namer at a time. */
  readonly namerCallsMax?: number | undefined
  /** How often it looks for versions, besides when it is woken. */
  readonly pollMs?: number | undefined
  /** Gets each failed call to the namer; the version is tried again. */
  readonly onFailedAttempt?: ((version: ClaimedVersion, why: unknown) => void) | undefined
  /** Gets every other error, mostly of the database; publishing goes on. By default it is printed to stderr. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A publisher over a store: many versions at a time, but no more than calls to the namer if there is one. */
export const composePublisher = ({ store, ...options }: PublisherOptions) => {
  const defaults = readConfig({})
  const {
    clock = Date.now,
    namer = null,
    namerMsMax = defaults.namerMsMax,
    namerCallsMax = defaults.namerCallsMax,
    pollMs = defaults.publisherPollMs,
    onFailedAttempt = () => {},
    onError = console.error,
  } = options
  return createPublisher({
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
