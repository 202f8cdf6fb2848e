import { utcOf } from '../../shapes/time.ts'

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/
/** From this number on it is milliseconds, then microseconds, then nanoseconds: as seconds, it would be the year 5138. */
const SECONDS_END = 1e11

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** Such as `Fri, 20 Nov 2026 10:00:00 +0100 (CET)`, as mail and HTTP write times. */
const RFC_2822 =
  /^(?:[a-z]{3},\s*)?(\d{1,2})\s+([a-z]{3})\s+(\d{4})\s+(\d\d:\d\d(?::\d\d)?)\s*([+-]\d{4}|GMT|UTC?|Z)(?:\s*\([^()]*\))?$/i
/** ISO 8601 without separators, such as `20261120T100000Z`. */
const ISO_BASIC = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(?:(\d\d)([.,]\d+)?)?(Z|[+-]\d\d(?::?\d\d)?)$/i
/** `2026/11/20 10:00:00+00:00`. */
const WITH_SLASHES = /^(\d{4})\/(\d\d)\/(\d\d)(?=[T ])/
/** The zone and calendar after an offset: `[Europe/Berlin]`. */
const IN_BRACKETS = /(?:\[[^[\]]{1,64}\])+$/

/** A time as a vendor writes it, in milliseconds since 1970; NaN if it is not a time, or 0. */
export const vendorTimeMs = (text: string): number => {
  if (NUMBER.test(text)) return msOf(Number(text))
  return Date.parse(utcOf(text) ?? utcOf(extended(text.trim())) ?? '')
}

const msOf = (amount: number): number => {
  if (amount === 0) return Number.NaN
  if (amount < SECONDS_END) return amount * 1_000
  if (amount < SECONDS_END * 1e3) return amount
  return Math.floor(amount / (amount < SECONDS_END * 1e6 ? 1e3 : 1e6))
}

/** A time in one of these notations as RFC 3339, as far as it is one. */
const extended = (text: string): string => {
  const [, day = '', month = '', year, time, zone = ''] = RFC_2822.exec(text) ?? []
  const monthNumber = MONTHS.indexOf(month.toLowerCase()) + 1
  if (year !== undefined)
    return `${year}-${String(monthNumber).padStart(2, '0')}-${day.padStart(2, '0')}T${time}${/^U/i.test(zone) ? 'Z' : zone}`
  return text
    .replace(IN_BRACKETS, '')
    .replace(
      ISO_BASIC,
      (_, y, m, d, hour, minute, second = '00', part = '', offset = '') =>
        `${y}-${m}-${d}T${hour}:${minute}:${second}${part}${offset}`,
    )
    .replace(WITH_SLASHES, '$1-$2-$3')
}
