import { idsSince, timeOfId } from '../engine/id-times.ts'
import { writtenMsOf } from '../engine/late-writes.ts'
import { tenantsInTurn } from '../engine/tenants-in-turn.ts'
import { DAY_MS, HOUR_MS, isoTime } from '../engine/times.ts'
import type { CountUnit, LogCount } from '../ports/counts.ts'
import type { Needs } from '../ports/store.ts'
import { decideCounts, PAIRS_MAX } from './decide-counts.ts'

/** A tenant whose counts were not read for this long is not counted. */
const READ_DAYS_MAX = 31
/** How far the clocks of processes on one database may differ. */
const CLOCKS_APART_MS = 30_000
/** Logs of a tenant counted at a time. */
const LOGS_MAX = 5_000
export const UNIT_MS: Readonly<Record<CountUnit, number>> = { hour: HOUR_MS, day: DAY_MS }

type Deps = Omit<Needs<'counts'>, 'newId'> &
  Pick<Parameters<typeof tenantsInTurn>[0], 'onError'> & {
    /** The time limit of one statement in every process on the database. */
    readonly statementMsMax: number
  }

/** After this time no earlier id can be committed. */
export const commitGraceMs = (statementMsMax: number): number => CLOCKS_APART_MS + writtenMsOf(statementMsMax)

/**
 * Counts logs in the order of their ids, once each: those old enough that no earlier id can still be committed. Several
 * processes share the work: of two that count the same logs, one is overtaken.
 *
 * A clock that was set back makes ids that come before the counted ones: everything from the beginning of that day is
 * counted again. After a clock was set forward, or a process was suspended, earlier writes may not be committed yet:
 * counting pauses that long.
 */
export const countProspectLogs = ({ store: { counts }, clock, statementMsMax, onError }: Deps) => {
  const settleMs = commitGraceMs(statementMsMax)
  let lookedAt = Number.POSITIVE_INFINITY
  let pausedUntil = 0

  const horizonMs = () => clock() - settleMs

  const count = async (tenantId: string): Promise<boolean> => {
    const settledMs = horizonMs()
    const found = await counts.find(tenantId)
    if (found === null) return false
    const { position: from, nextId } = found
    const again = countedAgainFrom(from, settledMs)
    if (again !== null) {
      const change = { tenantId, from, to: idsSince('prospectlog', again), removeFrom: again, add: [] }
      return (await counts.record(change)) === 'recorded'
    }
    const horizon = idsSince('prospectlog', isoTime(settledMs))
    if (nextId === null || nextId >= horizon) return false
    const hourMs = startOf('hour', timeOfId(nextId))
    const hourEnd = idsSince('prospectlog', isoTime(hourMs + HOUR_MS))
    const beforeId = hourEnd < horizon ? hourEnd : horizon
    const tallied = await counts.tally({ tenantId, afterId: from, beforeId, max: LOGS_MAX })
    const knownIn = async (unit: CountUnit): Promise<LogCount[]> => {
      const ms = startOf(unit, hourMs)
      const [at, until] = [isoTime(ms), isoTime(ms + UNIT_MS[unit])]
      const all = { source: null, type: null, after: null, limit: PAIRS_MAX + 1 }
      const known = await counts.list({ tenantId, unit, since: at, until, ...all })
      return decideCounts(unit, at, known.rows, tallied)
    }
    const add = [...(await knownIn('hour')), ...(await knownIn('day'))]
    const isAll = tallied.reduce((sum, { count }) => sum + count, 0) < LOGS_MAX
    const lastId = tallied.reduce((last, one) => (one.lastId > last ? one.lastId : last), from)
    const change = { tenantId, from, to: isAll ? beforeId : lastId, removeFrom: null, add }
    return (await counts.record(change)) === 'recorded'
  }

  const step = tenantsInTurn({
    waiting: (afterTenantId, max) => {
      const settledMs = horizonMs()
      const beforeId = idsSince('prospectlog', isoTime(settledMs))
      const beyondId = idsSince('prospectlog', isoTime(settledMs + CLOCKS_APART_MS))
      const readSince = isoTime(clock() - READ_DAYS_MAX * DAY_MS)
      return counts.waiting({ afterTenantId, readSince, beforeId, beyondId, max })
    },
    work: count,
    onError,
  })

  return async (stop: AbortSignal): Promise<boolean> => {
    const now = clock()
    if (now - lookedAt > CLOCKS_APART_MS || pausedUntil > now + settleMs) pausedUntil = now + settleMs
    lookedAt = now
    return now >= pausedUntil && step(stop)
  }
}

/** The beginning of the day from which logs are counted again, if the clock was set back; else null. */
export const countedAgainFrom = (position: string, settledMs: number): string | null =>
  position > idsSince('prospectlog', isoTime(settledMs + CLOCKS_APART_MS))
    ? isoTime(startOf('day', settledMs))
    : null

export const startOf = (unit: CountUnit, ms: number): number => ms - (ms % UNIT_MS[unit])
