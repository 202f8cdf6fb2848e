import { randomFillSync } from 'node:crypto'
import { decodeTime, monotonicFactory } from 'ulid'
import type { NewId } from '../core/ports/world.ts'

/** Ids that sort by age even within a millisecond, and when the clock is set back. */
export const createNewId = (): NewId => {
  const fractions = randomFractions()
  const ulid = monotonicFactory(fractions)
  return (prefix, after) => {
    const isAhead = after !== undefined && timeOf(after) >= Date.now()
    // That of a clock that is ahead must not become the time of all other ids.
    const next = isAhead ? monotonicFactory(fractions)(timeOf(after) + 1) : ulid()
    return `${prefix}_${next.toLowerCase()}`
  }
}

const timeOf = (id: string): number => decodeTime(id.slice(-26).toUpperCase())

/** Random numbers from 0 to less than 1. The system is asked for many bytes at once; each call has its price. */
const randomFractions = (): (() => number) => {
  const bytes = new Uint8Array(4_096)
  let used = bytes.length
  return () => {
    if (used === bytes.length) {
      randomFillSync(bytes)
      used = 0
    }
    return (bytes[used++] as number) / 256
  }
}
