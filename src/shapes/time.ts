import * as v from 'valibot'
import { described, documented, inForm, whole } from './text.ts'

/** UTC, ISO 8601, milliseconds, suffix Z. */
export const timestamp = () => documented(v.string(), { type: 'string', format: 'date-time' })

/** RFC 3339, and forms that are as unambiguous: a blank for the `T`, a comma, no seconds, an offset without colon or minutes. */
const DATE_TIME =
  /^(\d{4}-\d\d-(\d\d))[T ](?!24)(\d\d:\d\d)(:\d\d)?(?:[.,](\d+))? ?(?:Z|UTC|GMT|([+-]\d\d):?(\d\d)?)$/i

/** A time as UTC with milliseconds. Null unless it is in one of these forms, and from 1970 to 9999. */
export const utcOf = (text: string): string | null => {
  const [, date, day, time, seconds = ':00', part = '0', hours = '+00', minutes = '00'] =
    DATE_TIME.exec(text) ?? []
  const at = new Date(`${date}T${time}${seconds}.${part}${hours}:${minutes}`)
  // `Date` takes 30 February for 2 March, and hour 24 for the next day. An offset can lead out of the years of four digits.
  const isDay = new Date(`${date}T12:00Z`).getUTCDate() === Number(day)
  return isDay && at.getTime() >= 0 && at.getTime() < Date.UTC(10_000) ? at.toISOString() : null
}

const WHEN = 'must be an RFC 3339 date-time with an offset, from 1970 to 9999'
/** Programs may pass a `Date`, which the library writes as text before the check. */
const textOrDate = v.string() as v.GenericSchema<string | Date, string>
export const dateTime = (description: string) =>
  inForm(
    'time',
    v.pipe(
      textOrDate,
      documented(
        v.check((text: string) => utcOf(text) !== null, WHEN),
        { format: 'date-time' },
      ),
      v.description(description),
      v.transform((text) => utcOf(text) ?? text),
    ),
  )

const OVERLAP_HOURS_MAX = 168
/** The hours for which a replaced secret stays valid. */
export const overlapHours = (description: string) =>
  v.optional(
    described(
      v.pipe(whole(0), v.maxValue(OVERLAP_HOURS_MAX, `must be at most ${OVERLAP_HOURS_MAX}`)),
      description,
    ),
    24,
  )
