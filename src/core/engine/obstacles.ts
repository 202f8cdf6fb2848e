import { DomainFailure, type Obstacle } from './failures.ts'

/** An error of an operator's command. */
export const obstructed = (obstacle: Obstacle, message: string) =>
  Object.assign(new Error(message), { obstacle })

/** The obstacle behind an error, if there is one. */
export const obstacleOf = (error: unknown): Obstacle | undefined =>
  error instanceof DomainFailure
    ? error.internal.obstacle
    : (error as { readonly obstacle?: Obstacle } | null)?.obstacle

/** The reason why a database takes no writes: one word, because anyone can read it at `/readyz`. */
export type NoWrites = 'standby' | 'read_only' | 'no_standby' | 'disk_full' | 'no_privilege' | 'row_security'

export const takesNoWrites = (reason: NoWrites, cause?: unknown): DomainFailure => {
  const detail = `The database takes no writes: ${reason}.`
  return new DomainFailure('unavailable', detail, { retryAfterS: 5 }, { obstacle: 'takes_no_writes', cause })
}

/** Like `ready`, but accepts a database that takes no writes. */
export const readyToRead = (store: { ready: () => Promise<void> }): Promise<void> =>
  store.ready().catch((error) => {
    if (obstacleOf(error) !== 'takes_no_writes') throw error
  })
