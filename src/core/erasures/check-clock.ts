import { DAY_MS, isoTime } from '../engine/times.ts'
import type { Served } from '../ports/world.ts'

const AHEAD_MS_MAX = 7 * DAY_MS
const PAUSE_MS = DAY_MS

/**
 * The times a database remembers now. A clock far past the time at which it was last served is wrong, or the service
 * was off: nothing is deleted for a day, time enough to notice, and until then the last time is kept. A pause that
 * began after now, or too long before, was begun by yet another clock and begins again.
 */
export const checkClock = (last: Served | null, nowMs: number): Served => {
  const servedAt = isoTime(nowMs)
  if (last === null || nowMs - Date.parse(last.servedAt) <= AHEAD_MS_MAX) return { servedAt, pausedAt: null }
  const pausedMs = nowMs - Date.parse(last.pausedAt ?? servedAt)
  if (pausedMs < 0 || pausedMs > PAUSE_MS + AHEAD_MS_MAX) return { ...last, pausedAt: servedAt }
  return pausedMs < PAUSE_MS ? { ...last, pausedAt: last.pausedAt ?? servedAt } : { servedAt, pausedAt: null }
}
