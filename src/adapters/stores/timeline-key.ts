import { isoTime } from '../../core/engine/times.ts'
import type { NewLog } from '../../core/ports/activities.ts'

const STEP_MS = 4_000
const STEPS = 2 ** 30
const PROSPECTS = 2 ** 23

/**
 * What the index of timelines holds: 23 bits of a hash of the prospect, then 30 bits of when it happened, in steps of
 * 4 seconds from 1970 to 2106. Rows between two keys are checked, and those of one step sorted, when they are read. At
 * 64 callers an index on the ids and the time costs 19 % of the activities per second on PostgreSQL and 40 % on SQLite,
 * this one 13 % and 25 %; at one caller none costs anything that can be measured.
 */
export const timelineKey = (prospectId: string, occurredAt: string): number => {
  const step = Math.floor(Date.parse(occurredAt) / STEP_MS)
  return (hashOf(prospectId) % PROSPECTS) * STEPS + Math.min(Math.max(step, 0), STEPS - 1)
}

/** When the step of a key begins. */
export const timeOfKey = (key: number): string => isoTime((key % STEPS) * STEP_MS)
/** The first and the last key of a prospect. Others may have the same keys. */
export const timelineOf = (prospectId: string): readonly [number, number] => {
  const first = timelineKey(prospectId, '1970-01-01T00:00:00.000Z')
  return [first, first + STEPS - 1]
}

/** FNV-1a, 32 bits. Stored in every key: it must never change. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

export const logRow = (log: NewLog) => ({ ...log, timelineKey: timelineKey(log.prospectId, log.occurredAt) })
