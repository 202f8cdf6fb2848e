import type { IdPrefix } from './ports/world.ts'

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

/** Less than every id that is made at this time or later, greater than those made before: ids begin with their time. */
export const firstIdAt = (prefix: IdPrefix, ms: number): string => {
  let time = ''
  for (let left = Math.max(0, Math.floor(ms)); time.length < 10; left = Math.floor(left / 32))
    time = DIGITS.charAt(left % 32) + time
  return `${prefix}_${time}${'0'.repeat(16)}`
}
