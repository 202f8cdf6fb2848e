import type { Clock, Timestamp } from './ports.ts'

export const isoTime = (ms: number): Timestamp => new Date(ms).toISOString()

/** A clock that is never set back: where the given one is, it goes on by the stopwatch from where it was. */
export const onwardClock = (clock: Clock, stopwatch: () => number): Clock => {
  let aheadMs = Number.NEGATIVE_INFINITY
  return () => {
    const nowMs = clock()
    const elapsedMs = stopwatch()
    aheadMs = Math.max(aheadMs, nowMs - elapsedMs)
    // Never less than the clock by a rounding: what was made in this very millisecond is not to wait for the next.
    return Math.max(nowMs, Math.floor(aheadMs + elapsedMs))
  }
}
