/** The background of an embedded service: takes waiting versions on, names and publishes them. */

import { composePublisher } from './compose-publisher.ts'
import type { ClaimedVersion, Clock, Namer, Store } from './core/ports.ts'

export type PublisherOptions = {
  readonly store: Pick<Store, 'versions' | 'watch'>
  /** Thinks of names, as the one of `prospect-pages/naming` does; without it pages keep their built-in names. */
  readonly namer?: Namer | null | undefined
  /** More than one call to the namer takes: after it, and a margin, another publisher takes the version on. */
  readonly namerMsMax?: number | undefined
  /** Calls to the namer at a time. */
  readonly namerCallsMax?: number | undefined
  /** How often it looks by itself, besides when the store tells it of new versions. */
  readonly pollMs?: number | undefined
  readonly clock?: Clock | undefined
  /** Told of each call to the namer that failed; the version is tried again. */
  readonly onFailedAttempt?: ((version: ClaimedVersion, why: unknown) => void) | undefined
  /** Told of what else failed, the database above all; publishing goes on. By default it is printed to stderr. */
  readonly onError?: ((error: unknown) => void) | undefined
}
export type Publisher = {
  /** Publishes from now on: when the store has something new, and every `pollMs`. */
  readonly start: () => void
  /** Looks at once. */
  readonly wake: () => void
  /** Ends calls to the namer, saves what was decided, and takes on nothing more. Stop it before its store is closed. */
  readonly stop: () => Promise<void>
}

/** A publisher over a store. Several of them, in one process or in many, share the work. */
export const createPublisher = ({
  store,
  namer = null,
  namerMsMax = 10_000,
  namerCallsMax = 4,
  pollMs = 1_000,
  clock = Date.now,
  onFailedAttempt = () => {},
  onError = console.error,
}: PublisherOptions): Publisher => {
  const { start, wake, stop } = composePublisher({
    store,
    clock,
    namer,
    namerMsMax,
    namerCallsMax,
    pollMs,
    onFailedAttempt,
    onError,
  })
  return {
    start: () => {
      store.watch((signal) => {
        if (signal === 'versions') wake()
      })
      start()
    },
    wake,
    stop,
  }
}
