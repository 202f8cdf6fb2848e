import { utcOf } from '../../shapes/time.ts'

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/
/** A greater number is in milliseconds. */
const SECONDS_MAX = 1e11

/** A time as a vendor writes it, in milliseconds since 1970; NaN if it is not a time. */
export const vendorTimeMs = (text: string): number => {
  if (!NUMBER.test(text)) return Date.parse(utcOf(text) ?? '')
  const amount = Number(text)
  return amount < SECONDS_MAX ? amount * 1_000 : amount
}
