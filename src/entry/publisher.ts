/** The publisher for programs that bring their own server: claims waiting versions, names and publishes them. */

import { composePublisher, type PublisherOptions as Options } from '../compose/publisher.ts'
import type { Store } from '../core/ports/store.ts'

export type PublisherOptions = Options & { readonly store: Pick<Store, 'watch'> }
export type Publisher = {
  /** Publishes from now on: when the store has new versions, and every `pollMs`. */
  readonly start: () => void
  /** Looks at once. */
  readonly wake: () => void
  /** Ends calls to the namer, saves what was decided, and claims nothing more. Call it before the store is closed. */
  readonly stop: () => Promise<void>
}

/** A publisher over a store. Several of them, in one process or in many, share the work. */
export const createPublisher = (options: PublisherOptions): Publisher => {
  const publisher = composePublisher(options)
  return {
    ...publisher,
    start: () => {
      options.store.watch((signal) => {
        if (signal === 'versions') publisher.wake()
      })
      publisher.start()
    },
  }
}
