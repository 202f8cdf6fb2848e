import { setTimeout } from 'node:timers/promises'
import { KNOWN_MS_MAX } from './decide-and-save.ts'
import { writeTooLate } from './failures.ts'
import { turnBeganMs } from './share-loop.ts'
import { stopwatch } from './times.ts'

const TURN_MS_MAX = 1_000
/** A write that begins later than this after its request stores nothing. `waitMsMax`: the longest wait for a lock or an answer. */
export const lateMsOf = (waitMsMax: number): number => waitMsMax + 10_000
/** Starts with the turn of the loop that requests a write. Returns a function that refuses it with `unavailable` once it is late. */
export const refuserOfLate = (waitMsMax: number) => {
  const lateAfterMs = turnBeganMs() + lateMsOf(waitMsMax)
  return (): void => {
    if (stopwatch() > lateAfterMs) throw writeTooLate()
  }
}
/** After this time since a change, no write takes effect that depends on older reads. */
export const writtenMsOf = (statementMsMax: number): number =>
  KNOWN_MS_MAX + lateMsOf(statementMsMax) + statementMsMax

/**
 * Call it after work that waits for no disk or network: a caller in a loop would never end its turn, and become late. Later
 * writes count from a new turn.
 */
export const endLongTurn = (): Promise<void> | undefined =>
  stopwatch() - turnBeganMs() > TURN_MS_MAX ? setTimeout(0) : undefined
