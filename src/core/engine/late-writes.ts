import { KNOWN_MS_MAX, writeDecidedMs } from './decide-and-save.ts'
import { writeTooLate } from './failures.ts'
import { stopwatch } from './times.ts'

/** A write that begins later than this after its request stores nothing. `waitMsMax`: the longest wait for a lock or an answer. */
export const lateMsOf = (waitMsMax: number): number => waitMsMax + 10_000
/** Starts when a write was decided. Returns a function that refuses it with `unavailable` once it is late. */
export const refuserOfLate = (waitMsMax: number) => {
  const lateAfterMs = writeDecidedMs() + lateMsOf(waitMsMax)
  return (): void => {
    if (stopwatch() > lateAfterMs) throw writeTooLate()
  }
}
/** After this time since a change, no write takes effect that depends on older reads. */
export const writtenMsOf = (statementMsMax: number): number =>
  KNOWN_MS_MAX + lateMsOf(statementMsMax) + statementMsMax
