import {
  COUNTS_MAX,
  type ProspectLogCountQuery,
  type ProspectLogCounts,
} from '../../shapes/prospect-log-count.ts'
import { refuse } from '../engine/failures.ts'
import { timeOfId } from '../engine/id-times.ts'
import type { Result } from '../engine/result.ts'
import { atOnce } from '../engine/share-loop.ts'
import { DAY_MS, dayOf, HOUR_MS, isoTime } from '../engine/times.ts'
import type { CountedTenant, Counts, LogCount, LogCounts } from '../ports/counts.ts'
import { DAYS_BACK } from '../ports/prospect-counts.ts'
import type { Needs } from '../ports/store.ts'
import { countedAgainFrom, startOf, UNIT_MS } from './count-prospect-logs.ts'
import { prospectCountsOf } from './prospect-counts-of.ts'
import { CHARACTERS_MAX, refuseMany } from './refuse-many.ts'

/** How many activities arrived, and when. */
export type ProspectLogCounting = ProspectLogCountQuery & { readonly tenantId: string }
type Deps = Omit<Needs<'counts' | 'prospectCounts'>, 'newId'> & { readonly counts: boolean }
/** A filtered list reads more counts than it returns, up to this limit. */
const ROWS_MAX = 50_000
/** Rows that are read at a time; other callers get a turn in between. */
const ROWS_AT_ONCE = 250
/** With a filter the store passes over most rows, which takes a fraction of the time. */
const FILTERED_ROWS_AT_ONCE = 1_000
/** The day after it begins with a five-digit year, which no store compares with four-digit years. */
const LAST_DAY_MS = Date.UTC(9999, 11, 31)
const DEFAULT_MS = { hour: 48 * HOUR_MS, day: 30 * DAY_MS, span: 30 * DAY_MS }

/**
 * Lists how many activities of a tenant arrived in each hour or day, by source and type; or, with `of`, by page or source and
 * from how many people, in each day or in the whole span. Counting for a tenant begins when its counts are first read.
 * Refuses `invalid_request`: too many counts, or a query that cannot be counted; `not_found`: activities are not counted.
 */
export const listProspectLogCounts =
  ({ store: { counts, prospectCounts }, clock, counts: isCounted, shareLoop = atOnce }: Deps) =>
  async (counting: ProspectLogCounting): Promise<Result<ProspectLogCounts>> => {
    const { tenantId, of, source = null, type = null, ...range } = counting
    const by = range.by ?? (of === undefined ? 'hour' : 'span')
    refuseUnfit(counting)
    if (!isCounted) refuse('not_found', 'Activities are not counted here: COUNTS is off.')
    const now = clock()
    const endMs = range.until === undefined ? now : Math.min(Date.parse(range.until), LAST_DAY_MS)
    const unit = by === 'hour' ? 'hour' : 'day'
    const untilMs = startOf(unit, endMs + UNIT_MS[unit] - 1)
    const requestedMs =
      range.since === undefined ? untilMs - DEFAULT_MS[by] : startOf(unit, Date.parse(range.since))
    const sinceMs = Math.max(requestedMs, 0)
    if (of !== undefined) refuseLongSpan(sinceMs, untilMs)
    const counted = await countedTenant(counts, tenantId, now)
    const answerWith = (items: ProspectLogCounts['items']) => ({
      value: { items, countedUntil: countedUntil(counted, now - SETTLED_MS) },
    })
    if (of !== undefined) {
      const days = { since: dayOf(sinceMs), until: dayOf(untilMs) }
      const yieldTurn = () => shareLoop(tenantId)
      return answerWith(await prospectCountsOf({ tenantId, of, by, ...days }, prospectCounts, yieldTurn))
    }
    const span = { since: isoTime(sinceMs), until: isoTime(untilMs) }
    const limit = source === null && type === null ? ROWS_AT_ONCE : FILTERED_ROWS_AT_ONCE
    const query = { tenantId, unit, ...span, source, type, limit } as const
    const items: LogCount[] = []
    let after: LogCount | null = null
    let rowsRead = 0
    let characters = 0
    do {
      await shareLoop(tenantId)
      const { rows, resume }: LogCounts = await counts.list({ ...query, after })
      items.push(...rows)
      after = resume
      rowsRead += limit
      characters += JSON.stringify(rows).length
      if (items.length > COUNTS_MAX) refuseMany(`more than ${COUNTS_MAX} counts`)
      if (rowsRead > ROWS_MAX) refuseMany(`more than ${ROWS_MAX} counts`)
      if (characters > CHARACTERS_MAX) refuseMany('more counts than fit into an answer')
    } while (after !== null)
    const shown = items.map(({ at, source, type, count, newProspects }) => ({
      at,
      source: source || null,
      type: type || null,
      count,
      newProspects,
    }))
    return answerWith(shown)
  }

/** Refuses members of a query that exclude each other. */
const refuseUnfit = ({ of, by, source, type }: ProspectLogCounting): void => {
  const refuseMember = (parameter: string, detail: string) =>
    refuse('invalid_request', 'The request is invalid. See `errors`.', { errors: [{ detail, parameter }] })
  if (of === undefined) {
    if (by === 'span') refuseMember('by', 'must be hour or day without `of`')
    return
  }
  if (by === 'hour') refuseMember('by', 'must be day or span with `of`')
  if (source !== undefined) refuseMember('source', 'cannot be combined with `of`')
  if (type !== undefined) refuseMember('type', 'cannot be combined with `of`')
}

const refuseLongSpan = (sinceMs: number, untilMs: number): void => {
  if (untilMs - sinceMs <= DAYS_BACK * DAY_MS) return
  refuse('invalid_request', `People are counted over at most ${DAYS_BACK} days.`, {
    errors: [
      { detail: `must be later: at most ${DAYS_BACK} days are counted with \`of\``, parameter: 'since' },
    ],
  })
}

/** If a tenant has no logs to count, everything older than this is counted: a write takes less time. */
const SETTLED_MS = 60_000

/** How far a tenant is counted. Notes once a day that its counts are read. */
const countedTenant = async (
  counts: Counts,
  tenantId: string,
  now: number,
): Promise<CountedTenant | null> => {
  const found = await counts.find(tenantId)
  if (found !== null && now - Date.parse(found.readAt) <= DAY_MS) return found
  await counts.markRead(tenantId, isoTime(now))
  return found ?? counts.find(tenantId)
}

/** The time up to which logs are counted: that of the next log to count, or else the latest that can be counted. */
const countedUntil = (counted: CountedTenant | null, settledMs: number): string => {
  const recountFrom = countedAgainFrom(counted?.closedTo ?? '', settledMs)
  const nextMs = counted?.nextId ? timeOfId(counted.nextId) : settledMs
  return recountFrom ?? isoTime(Math.min(nextMs, settledMs))
}
