/** The publisher for programs that bring their own server: claims waiting versions, names and publishes them. */
import { composePublisher } from '../compose/publisher.ts'
import { readConfig } from '../config/config.ts'
import type { Store } from '../core/ports/store.ts'
import type { Namer, OnFailedAttempt } from '../core/ports/versions.ts'
import type { Clock } from '../core/ports/world.ts'

/** What a publisher needs. Omitted settings have the defaults of the service. */
export type PublisherOptions = {
  readonly store: Pick<Store, 'versions' | 'watch'>
  readonly clock?: Clock | undefined
  /** Names pages, like that of `prospect-pages/naming`; without one, pages keep their built-in names. */
  readonly namer?: Namer | null | undefined
  /** How long naming may delay a version, retries included; then it keeps its built-in name. */
  readonly namerPatienceMs?: number | undefined
  /** Calls to the namer at a time. */
  readonly namerCallsMax?: number | undefined
  /** How often it polls for versions that no signal announced. */
  readonly pollMs?: number | undefined
  /** Called for each failed call to the namer. */
  readonly onFailedAttempt?: OnFailedAttempt | undefined
  /** Called for every other error, mostly of the database; publishing goes on. By default prints it to stderr. */
  readonly onError?: ((error: unknown) => void) | undefined
}
/** `start` publishes from now on; `wake` looks for versions at once; call `stop` before the store is closed. */
export type Publisher = ReturnType<typeof composePublisher>

/** A publisher over a store. Several of them, in one process or in many, share the work. */
export const createPublisher = ({ store, ...options }: PublisherOptions): Publisher => {
  const defaults = readConfig({})
  return composePublisher({
    store,
    clock: options.clock ?? Date.now,
    namer: options.namer ?? null,
    settings: {
      namerPatienceMs: options.namerPatienceMs ?? defaults.namerPatienceMs,
      namerCallsMax: options.namerCallsMax ?? defaults.namerCallsMax,
      publisherPollMs: options.pollMs ?? defaults.publisherPollMs,
    },
    onFailedAttempt: options.onFailedAttempt ?? (() => {}),
    onError: options.onError ?? console.error,
  })
}
