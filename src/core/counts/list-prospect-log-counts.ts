import {
  COUNTS_MAX,
  type ProspectLogCountQuery,
  type ProspectLogCounts,
} from '../../shapes/prospect-log-count.ts'
import { refuse } from '../engine/failures.ts'
import { DAY_MS, HOUR_MS, isoTime, timeOfId } from '../engine/times.ts'
import type { CountedTenant, Counts } from '../ports/counts.ts'
import type { Needs } from '../ports/store.ts'
import { countedAgainFrom, settleMsOf, startOf, UNIT_MS } from './count-prospect-logs.ts'

/** How many activities arrived, and when. */
export type ProspectLogCounting = ProspectLogCountQuery & { readonly tenantId: string }
type Deps = Omit<Needs<'counts'>, 'newId'> & { readonly counts: boolean; readonly statementMsMax: number }
/** With a filter more are read than returned, but not without end. */
const FILTERED_MAX = 50_000
/** The day after it begins with a year of five digits, which no store compares with those of four. */
const LAST_DAY_MS = Date.UTC(9999, 11, 31)
const DEFAULT_MS = { hour: 48 * HOUR_MS, day: 30 * DAY_MS }

/**
 * Lists how many activities of a tenant arrived in each hour or day, by source and type. Counting for a tenant begins when
 * its counts are first read. Refuses `invalid_request`: too many counts; `not_found`: activities are not counted.
 */
export const listProspectLogCounts =
  ({ store: { counts }, clock, counts: isCounted, statementMsMax }: Deps) =>
  async ({ tenantId, by, source, type, ...given }: ProspectLogCounting): Promise<ProspectLogCounts> => {
    if (!isCounted) refuse('not_found', 'Activities are not counted here: COUNTS is off.')
    const now = clock()
    const endMs = given.until === undefined ? now : Math.min(Date.parse(given.until), LAST_DAY_MS)
    const untilMs = startOf(by, endMs + UNIT_MS[by] - 1)
    const sinceMs =
      given.since === undefined ? untilMs - DEFAULT_MS[by] : startOf(by, Date.parse(given.since))
    const counted = await countedTenant(counts, tenantId, now)
    const isFiltered = source !== undefined || type !== undefined
    const limit = (isFiltered ? FILTERED_MAX : COUNTS_MAX) + 1
    const span = { since: isoTime(Math.max(sinceMs, 0)), until: isoTime(untilMs) }
    const read = await counts.list({ tenantId, unit: by, ...span, limit })
    const items = read.filter(
      (count) => count.source === (source ?? count.source) && count.type === (type ?? count.type),
    )
    if (read.length === limit || items.length > COUNTS_MAX)
      refuse(
        'invalid_request',
        `There are more than ${read.length === limit ? limit - 1 : COUNTS_MAX} counts in this time. Ask for a shorter one, or by day.`,
        {
          errors: [
            { detail: `must be later: at most ${COUNTS_MAX} counts are returned`, parameter: 'since' },
          ],
        },
      )
    return {
      items: items.map(({ at, source, type, count }) => ({
        at,
        source: source || null,
        type: type || null,
        count,
      })),
      countedUntil: countedUntil(counted, now - settleMsOf(statementMsMax)),
    }
  }

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

/** Up to the next log that is to be counted, or as far as anything is. */
const countedUntil = (counted: CountedTenant | null, settledMs: number): string => {
  const again = countedAgainFrom(counted?.position ?? '', settledMs)
  const nextMs = counted?.nextId ? timeOfId(counted.nextId) : settledMs
  return again ?? isoTime(Math.min(nextMs, settledMs))
}
