import { isoTime } from '../../core/engine/times.ts'
import type { NewLog } from '../../core/ports/activities.ts'

const STEP_MS = 4_000
const STEPS = 2 ** 30
const PROSPECTS = 2 ** 23

/**
 * The key of the index of timelines: 23 bits of a hash of the prospect, then 30 bits of the time of the activity, in
 * steps of 4 seconds from 1970 to 2106. Rows between two keys are checked, and rows of one step sorted, when they are
 * read. With 64 callers an index on the ids and the time costs 19 % of the activities per second on PostgreSQL and 40 %
 * on SQLite, this one 13 % and 25 %; with one caller neither has a measurable cost.
 */
export const timelineKey = (prospectId: string, occurredAt: string): number => {
  const step = Math.floor(Date.parse(occurredAt) / STEP_MS)
  return (hashOf(prospectId) % PROSPECTS) * STEPS + Math.min(Math.max(step, 0), STEPS - 1)
}

/** The time at which the step of a key begins. */
export const timeOfKey = (key: number): string => isoTime((key % STEPS) * STEP_MS)
/** The first and the last key of a prospect. Other prospects may have the same keys. */
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
