import { setTimeout } from 'node:timers/promises'
import { equal } from './assertions.ts'
import type { stoppedClock } from './setting.ts'

/** A worker rests less than this between two steps; a minute is soon over. */
const REST_MS = 20_000
const ROUNDS_MAX = 1_000
const PAUSE_MS_MAX = 20

type Queue = { readonly backlog: (countMax: number) => Promise<{ readonly count: number }> }

/**
 * Works until nothing is pending. A database that others write to waits until their earlier writes have ended, which
 * takes some milliseconds, so this looks again and moves the clock.
 */
export const untilCompleted = async (
  { backlog }: Queue,
  clock: ReturnType<typeof stoppedClock>,
  work: () => Promise<unknown>,
): Promise<void> => {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await work()
    if ((await backlog(1)).count === 0) return
    clock.advance(REST_MS)
    await setTimeout(Math.min(round, PAUSE_MS_MAX))
  }
  equal((await backlog(1)).count, 0, 'nothing is pending')
}
