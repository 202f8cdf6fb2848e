import { randomFillSync } from 'node:crypto'
import { monotonicFactory } from 'ulid'
import type { NewId } from '../core/ports/world.ts'

/** Ids that sort by age even within a millisecond, and when the clock is set back. */
export const createNewId = (): NewId => {
  const ulid = monotonicFactory(randomFractions())
  return (prefix) => `${prefix}_${ulid().toLowerCase()}`
}

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
