import type { IdPrefix, Timestamp } from '../ports/world.ts'

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'

/** The beginning of ids made at a moment: all later ids are greater. */
export const idsSince = (prefix: IdPrefix, time: Timestamp): string => {
  let text = ''
  let ms = Date.parse(time)
  while (text.length < 10) {
    text = CROCKFORD[ms % 32] + text
    ms = Math.floor(ms / 32)
  }
  return `${prefix}_${text}`
}

/** The time in milliseconds at which an id was made. */
export const timeOfId = (id: string): number => {
  const time = id.slice(id.indexOf('_') + 1).slice(0, 10)
  return [...time].reduce((ms, digit) => ms * 32 + CROCKFORD.indexOf(digit), 0)
}
