import type { Timestamp } from '../ports/world.ts'
import { isoTime } from './times.ts'

/**
 * A position in a list that is sorted by time, and by ids where times are equal, as its cursors contain it. The time is a
 * number of milliseconds, so that even a forged cursor contains a time.
 */
export const positionAt = (time: Timestamp, ...ids: readonly string[]): string =>
  [Date.parse(time), ...ids].join(' ')

/** The time and the ids of such a position. */
export const positionIn = (text: string): readonly [time: Timestamp, ...ids: string[]] => {
  const [ms, ...ids] = text.split(' ')
  return [isoTime(Number(ms)), ...ids]
}
