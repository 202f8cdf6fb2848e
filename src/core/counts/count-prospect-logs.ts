import { idsSince, timeOfId } from '../engine/id-times.ts'
import { tenantByTenant } from '../engine/tenant-by-tenant.ts'
import { DAY_MS, dayOf, HOUR_MS, isoTime } from '../engine/times.ts'
import type { CountedTenant, Counts, CountUnit, LogCount } from '../ports/counts.ts'
import type { Day } from '../ports/prospect-counts.ts'
import type { Needs } from '../ports/store.ts'
import type { Moment, Timestamp } from '../ports/world.ts'
import { decideCounts, PAIRS_MAX } from './decide-counts.ts'
import { decideProspectCounts } from './decide-prospect-counts.ts'

/** A tenant whose counts were not read for this long is not counted. */
const READ_DAYS_MAX = 31
/** How far the clocks of processes on one database may differ. */
const CLOCKS_APART_MS = 30_000
/** Logs of a tenant counted at a time. */
const LOGS_MAX = 1_000
export const UNIT_MS: Readonly<Record<CountUnit, number>> = { hour: HOUR_MS, day: DAY_MS }

type Deps = Omit<Needs<'counts' | 'prospectCounts' | 'moments'>, 'newId'> &
  Pick<Parameters<typeof tenantByTenant>[0], 'onError'>
/** The id up to which this process closed a tenant, and when it did. */
type Closing = { readonly to: string; readonly moment: Moment }
type Tally = Awaited<ReturnType<Counts['tally']>>

/**
 * Counts logs in the order of their ids, once each. A tenant is first closed up to an id of half a minute ago: a log with
 * an earlier one is recorded under a new id. Once the writes that began before have ended, the logs up to there are
 * counted. Several processes share the work: of two that count the same logs, one is overtaken.
 *
 * A clock that was set back makes ids that come before the counted ones: everything from the beginning of that day is
 * counted again.
 */
export const countProspectLogs = ({ store, clock, onError, shareLoop }: Deps) => {
  const { counts, prospectCounts, moments } = store
  const closings = new Map<string, Closing>()
  /** Logs that arrived before this time can be counted: no process makes an id for that time any more. */
  const settledUntilMs = () => clock() - CLOCKS_APART_MS

  /** Performs the next step of a tenant, and returns whether another one may follow. */
  const countTenant = async (tenantId: string): Promise<boolean> => {
    const settledMs = settledUntilMs()
    const tenant = await counts.find(tenantId)
    if (tenant === null) return false
    const recountFrom = countedAgainFrom(tenant.closedTo, settledMs)
    if (recountFrom !== null) return recount(tenantId, tenant, recountFrom)

    const closing = closings.get(tenantId)
    if (closing === undefined || !isCountable(closing, tenant)) {
      closings.delete(tenantId)
      return closeIfWaiting(tenantId, tenant, settledMs)
    }
    const [writesHaveEnded] = await moments.arePast([closing.moment])
    if (!writesHaveEnded || tenant.nextId === null) return false
    return countHour(tenantId, tenant.position, tenant.nextId, closing)
  }

  /** Removes the counts from a time on, and moves the position back to it. */
  const recount = async (
    tenantId: string,
    { position }: CountedTenant,
    from: Timestamp,
  ): Promise<boolean> => {
    const to = idsSince('prospectlog', from)
    return (await counts.record({ tenantId, from: position, to, removeFrom: from })) === 'recorded'
  }

  /** Closes the tenant if it has logs that can be counted after that. */
  const closeIfWaiting = async (
    tenantId: string,
    { nextId }: CountedTenant,
    settledMs: number,
  ): Promise<boolean> => {
    const to = firstLogIdAt(settledMs)
    const isWaiting = nextId !== null && nextId < to
    if (!isWaiting) return false
    const isClosed = await counts.close(tenantId, to, isoTime(settledMs))
    if (isClosed) closings.set(tenantId, { to, moment: await moments.now(tenantId) })
    return isClosed
  }

  /** Counts the next logs of the hour in which the next one arrived, as far as the tenant is closed. */
  const countHour = async (
    tenantId: string,
    position: string,
    nextId: string,
    closing: Closing,
  ): Promise<boolean> => {
    const hourMs = startOf('hour', timeOfId(nextId))
    const hourEnd = firstLogIdAt(hourMs + HOUR_MS)
    const beforeId = hourEnd < closing.to ? hourEnd : closing.to
    const tally = await counts.tally({ tenantId, afterId: position, beforeId, max: LOGS_MAX })
    const ofHour = await additionsFor('hour', tenantId, hourMs, tally)
    const ofDay = await additionsFor('day', tenantId, hourMs, tally)
    const logsCount = tally.reduce((sum, { count }) => sum + count, 0)
    const to = logsCount < LOGS_MAX ? beforeId : lastIdIn(tally, position)
    const ofProspects = await prospectAdditions(tenantId, position, to, dayOf(hourMs))
    const add = [...ofHour, ...ofDay]
    const change = { tenantId, from: position, to, removeFrom: null, add, ...ofProspects }
    return (await counts.record(change)) === 'recorded'
  }

  /** What a tally adds to the counts of the hour or day that contains a time. */
  const additionsFor = async (
    unit: CountUnit,
    tenantId: string,
    ms: number,
    tally: Tally,
  ): Promise<LogCount[]> => {
    const startMs = startOf(unit, ms)
    const since = isoTime(startMs)
    const until = isoTime(startMs + UNIT_MS[unit])
    const known = await counts.list({
      tenantId,
      unit,
      since,
      until,
      source: null,
      type: null,
      after: null,
      limit: PAIRS_MAX + 1,
    })
    return decideCounts(unit, since, known.rows, tally)
  }

  /** What the logs after one id and up to another add to the counts of their day by prospects. */
  const prospectAdditions = async (tenantId: string, afterId: string, toId: string, day: Day) => {
    const [tally, names] = await Promise.all([
      prospectCounts.tally({ tenantId, afterId, toId, day }),
      prospectCounts.namesOn(tenantId, day),
    ])
    return decideProspectCounts(day, names, tally)
  }

  return tenantByTenant({
    waiting: (afterTenantId, max) => {
      const settledMs = settledUntilMs()
      const beforeId = firstLogIdAt(settledMs)
      const beyondId = firstLogIdAt(settledMs + CLOCKS_APART_MS)
      const readSince = isoTime(clock() - READ_DAYS_MAX * DAY_MS)
      return counts.waiting({ afterTenantId, readSince, beforeId, beyondId, max })
    },
    work: countTenant,
    onError,
    shareLoop,
  })
}

/**
 * Whether a closing still has logs to count. It has none if the position has reached it, and it no longer holds if another
 * process has moved the tenant back, because a clock was set back.
 */
const isCountable = ({ to }: Closing, { position, closedTo }: CountedTenant): boolean =>
  position < to && to <= closedTo

/** The last id of a tally, or this one if the tally is empty. */
const lastIdIn = (tally: Tally, otherwise: string): string =>
  tally.reduce((latest, { lastId }) => (lastId > latest ? lastId : latest), otherwise)

/** The beginning of the ids of logs that arrive from a time on. */
const firstLogIdAt = (ms: number): string => idsSince('prospectlog', isoTime(ms))

/** The beginning of the day from which logs are counted again, if the clock was set back; else null. */
export const countedAgainFrom = (closedTo: string, settledMs: number): string | null =>
  closedTo > firstLogIdAt(settledMs + CLOCKS_APART_MS) ? isoTime(startOf('day', settledMs)) : null

export const startOf = (unit: CountUnit, ms: number): number => ms - (ms % UNIT_MS[unit])
