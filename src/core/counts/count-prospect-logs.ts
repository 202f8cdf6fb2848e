import { idsSince, timeOfId } from '../engine/id-times.ts'
import { tenantsInTurn } from '../engine/tenants-in-turn.ts'
import { DAY_MS, HOUR_MS, isoTime } from '../engine/times.ts'
import type { CountUnit, LogCount } from '../ports/counts.ts'
import type { Needs } from '../ports/store.ts'
import type { Moment } from '../ports/world.ts'
import { decideCounts, PAIRS_MAX } from './decide-counts.ts'

/** A tenant whose counts were not read for this long is not counted. */
const READ_DAYS_MAX = 31
/** How far the clocks of processes on one database may differ. */
const CLOCKS_APART_MS = 30_000
/** Logs of a tenant counted at a time. */
const LOGS_MAX = 5_000
export const UNIT_MS: Readonly<Record<CountUnit, number>> = { hour: HOUR_MS, day: DAY_MS }

type Deps = Omit<Needs<'counts' | 'moments'>, 'newId'> & Pick<Parameters<typeof tenantsInTurn>[0], 'onError'>
/** The id up to which this process closed a tenant, and when it did. */
type Closing = { readonly to: string; readonly moment: Moment }

/**
 * Counts logs in the order of their ids, once each. A tenant is first closed up to an id of half a minute ago: a log with
 * an earlier one is recorded under a new id. Once the writes that began before have ended, the logs up to there are
 * counted. Several processes share the work: of two that count the same logs, one is overtaken.
 *
 * A clock that was set back makes ids that come before the counted ones: everything from the beginning of that day is
 * counted again.
 */
export const countProspectLogs = ({ store: { counts, moments }, clock, onError, shareLoop }: Deps) => {
  const closings = new Map<string, Closing>()
  const horizonMs = () => clock() - CLOCKS_APART_MS

  const close = async (tenantId: string, settledMs: number): Promise<boolean> => {
    const to = idsSince('prospectlog', isoTime(settledMs))
    const isClosed = await counts.close(tenantId, to, isoTime(settledMs))
    if (isClosed) closings.set(tenantId, { to, moment: await moments.now() })
    return isClosed
  }

  const count = async (tenantId: string): Promise<boolean> => {
    const settledMs = horizonMs()
    const found = await counts.find(tenantId)
    if (found === null) return false
    const { position: from, closedTo, nextId } = found
    const recountFrom = countedAgainFrom(closedTo, settledMs)
    if (recountFrom !== null) {
      const change = {
        tenantId,
        from,
        to: idsSince('prospectlog', recountFrom),
        removeFrom: recountFrom,
        add: [],
      }
      return (await counts.record(change)) === 'recorded'
    }
    const closing = closings.get(tenantId)
    if (closing === undefined || closing.to <= from || closing.to > closedTo) {
      closings.delete(tenantId)
      const isWaiting = nextId !== null && nextId < idsSince('prospectlog', isoTime(settledMs))
      return isWaiting && close(tenantId, settledMs)
    }
    const [isClosed] = await moments.arePast([closing.moment])
    if (!isClosed || nextId === null) return false
    const hourMs = startOf('hour', timeOfId(nextId))
    const hourEnd = idsSince('prospectlog', isoTime(hourMs + HOUR_MS))
    const beforeId = hourEnd < closing.to ? hourEnd : closing.to
    const tallied = await counts.tally({ tenantId, afterId: from, beforeId, max: LOGS_MAX })
    const knownIn = async (unit: CountUnit): Promise<LogCount[]> => {
      const ms = startOf(unit, hourMs)
      const at = isoTime(ms)
      const until = isoTime(ms + UNIT_MS[unit])
      const all = { source: null, type: null, after: null, limit: PAIRS_MAX + 1 }
      const known = await counts.list({ tenantId, unit, since: at, until, ...all })
      return decideCounts(unit, at, known.rows, tallied)
    }
    const add = [...(await knownIn('hour')), ...(await knownIn('day'))]
    const isAll = tallied.reduce((sum, { count }) => sum + count, 0) < LOGS_MAX
    const lastId = tallied.reduce((last, { lastId }) => (lastId > last ? lastId : last), from)
    const change = { tenantId, from, to: isAll ? beforeId : lastId, removeFrom: null, add }
    return (await counts.record(change)) === 'recorded'
  }

  return tenantsInTurn({
    waiting: (afterTenantId, max) => {
      const settledMs = horizonMs()
      const beforeId = idsSince('prospectlog', isoTime(settledMs))
      const beyondId = idsSince('prospectlog', isoTime(settledMs + CLOCKS_APART_MS))
      const readSince = isoTime(clock() - READ_DAYS_MAX * DAY_MS)
      return counts.waiting({ afterTenantId, readSince, beforeId, beyondId, max })
    },
    work: count,
    onError,
    shareLoop,
  })
}

/** The beginning of the day from which logs are counted again, if the clock was set back; else null. */
export const countedAgainFrom = (closedTo: string, settledMs: number): string | null =>
  closedTo > idsSince('prospectlog', isoTime(settledMs + CLOCKS_APART_MS))
    ? isoTime(startOf('day', settledMs))
    : null

export const startOf = (unit: CountUnit, ms: number): number => ms - (ms % UNIT_MS[unit])
