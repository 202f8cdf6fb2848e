import type { IdPrefix, Timestamp } from '../ports/world.ts'

export const isoTime = (ms: number): Timestamp => new Date(ms).toISOString()
/** Now, or just after the last change: the time of its last change shows whether a row is unchanged. */
export const laterThan = (last: Timestamp, now: Timestamp): Timestamp =>
  last < now ? now : isoTime(Date.parse(last) + 1)

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'
/** The prefix of ids made at a moment: all later ids are greater. */
export const idsSince = (prefix: IdPrefix, time: Timestamp): string => {
  let text = ''
  for (let ms = Date.parse(time); text.length < 10; ms = Math.floor(ms / 32)) text = CROCKFORD[ms % 32] + text
  return `${prefix}_${text}`
}
/** The time in milliseconds at which an id was made. */
export const timeOfId = (id: string): number => {
  const time = id.slice(id.indexOf('_') + 1).slice(0, 10)
  return [...time].reduce((ms, digit) => ms * 32 + CROCKFORD.indexOf(digit), 0)
}
export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000
