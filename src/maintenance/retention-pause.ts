import { isoTime } from '../core/engine/times.ts'
import { checkClock } from '../core/erasures/check-clock.ts'
import type { Served } from '../core/ports/world.ts'
import { type Check, failed, passed } from './check.ts'

/** Runs on either kind of database. */
export const SELECT_SERVED = 'select served_at as "servedAt", paused_at as "pausedAt" from served'
const REMEDY = 'check the clock; if the service was off that long, there is nothing to do'

/** Whether a server with this clock would delete expired data. */
export const retentionPause = (rows: readonly object[], nowMs: number): Check => {
  const [served] = rows as readonly Served[]
  if (served === undefined || checkClock(served, nowMs).pausedAt === null)
    return passed('retention', 'expired data is deleted')
  const now = isoTime(nowMs)
  const then = isoTime(Date.parse(served.servedAt))
  const detail = `deletion of expired data is paused for a day: the clock says ${now}, but the database was last served at ${then}`
  return failed('retention', detail, REMEDY)
}
