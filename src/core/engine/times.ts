import type { Timestamp } from '../ports/world.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** The day of a time in UTC, as the number of days since 1970. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)

export const isoTime = (ms: number): Timestamp => new Date(ms).toISOString()

/** Now, or just after the last change: the time of its last change shows whether a row is unchanged. */
export const laterThan = (last: Timestamp, now: Timestamp): Timestamp =>
  last < now ? now : isoTime(Date.parse(last) + 1)
