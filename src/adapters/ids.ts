import { randomFillSync } from 'node:crypto'
import { monotonicFactory } from 'ulid'
import { timeOfId } from '../core/engine/id-times.ts'
import { DAY_MS } from '../core/engine/times.ts'
import type { Clock, NewId } from '../core/ports/world.ts'

/** Ids that sort by age even within a millisecond, and after the clock is set back by up to a day. */
export const createNewId = (clock: Clock = Date.now): NewId => {
  const fractions = randomFractions()
  let ulid = monotonicFactory(fractions)
  let lastMs = 0
  return (prefix, after) => {
    const nowMs = clock()
    if (nowMs < lastMs - DAY_MS) {
      ulid = monotonicFactory(fractions)
      lastMs = 0
    }
    lastMs = Math.max(lastMs, nowMs)
    const isAhead = after !== undefined && timeOfId(after) >= nowMs
    // The time of an id from a clock that is ahead must not become the time of all other ids.
    const next = isAhead ? monotonicFactory(fractions)(timeOfId(after) + 1) : ulid(nowMs)
    return `${prefix}_${next.toLowerCase()}`
  }
}

/** Random numbers from 0 to less than 1. Many bytes are requested at once, because each call to the system costs time. */
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
