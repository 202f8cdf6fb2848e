/** What a read that may wait is given besides its query. */
export type Waiting = {
  /** How long it may wait, in seconds. */
  readonly wait: number
  /** Ends the wait early. */
  readonly signal?: AbortSignal | undefined
  readonly withoutSlot?: WithoutSlot
}

/** Waits without the caller's slot in the admission, and takes one again if something is new. */
export type WithoutSlot = <Found extends { readonly isNew: boolean }>(
  waitForNew: () => Promise<Found>,
) => Promise<Found>

/** Outside HTTP there is no slot to leave. */
export const inPlace: WithoutSlot = (waitForNew) => waitForNew()
