import type { IdPrefix, Timestamp } from '../ports/world.ts'

export const isoTime = (ms: number): Timestamp => new Date(ms).toISOString()

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'
/** What the ids of a moment begin with: all ids made from then on are greater. */
export const idsSince = (prefix: IdPrefix, time: Timestamp): string => {
  let text = ''
  for (let ms = Date.parse(time); text.length < 10; ms = Math.floor(ms / 32)) text = CROCKFORD[ms % 32] + text
  return `${prefix}_${text}`
}
export const DAY_MS = 86_400_000
