import { COUNTS_MAX, type ProspectLogCounts } from '../../shapes/prospect-log-count.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import type { CountedBy, Day, DayCount, ProspectCounts } from '../ports/prospect-counts.ts'
import { CHARACTERS_MAX, refuseMany } from './refuse-many.ts'

type Items = ProspectLogCounts['items']
type Wanted = {
  readonly tenantId: string
  readonly of: CountedBy
  readonly by: 'hour' | 'day' | 'span'
  readonly since: Day
  readonly until: Day
}
/** Days that the store sums at a time. A day has at most some 30,000 rows, usually a few hundred. */
const DAYS_AT_ONCE = 8

/**
 * The pages or sources that activities of these days had, with their people: by day, or for the whole span. Those with the
 * most people come first. Refuses `invalid_request`: too many counts.
 */
export const prospectCountsOf = async (
  { tenantId, of, by, since, until }: Wanted,
  prospectCounts: Pick<ProspectCounts, 'list'>,
  yieldTurn: () => unknown,
): Promise<Items> => {
  const firstDay = by === 'span' ? since : null
  const found: DayCount[] = []
  for (let day = since; day < until; day += DAYS_AT_ONCE) {
    await yieldTurn()
    const days = { since: day, until: Math.min(day + DAYS_AT_ONCE, until) }
    found.push(...(await prospectCounts.list({ tenantId, kind: of, ...days, firstDay })))
  }
  const counts = by === 'span' ? summed(found, since) : found
  if (counts.length > COUNTS_MAX) refuseMany(`more than ${COUNTS_MAX} counts`)
  if (JSON.stringify(counts).length > CHARACTERS_MAX) refuseMany('more counts than fit into an answer')
  return counts.toSorted(byDayAndPeople).map(({ day, name, count, prospects, newProspects }) => ({
    at: isoTime(day * DAY_MS),
    ...(of === 'page' && { pageId: name || null }),
    source: of === 'source' && name !== '' ? name : null,
    type: null,
    count,
    prospects: name === '' ? null : prospects,
    newProspects,
  }))
}

/** The counts of all days by name, for the span that begins on this day. */
const summed = (counts: readonly DayCount[], since: Day): DayCount[] => {
  const sums = new Map<string, DayCount>()
  for (const { name, count, prospects, newProspects } of counts) {
    const sum = sums.get(name)
    sums.set(name, {
      day: since,
      name,
      count: count + (sum?.count ?? 0),
      prospects: prospects + (sum?.prospects ?? 0),
      newProspects: newProspects + (sum?.newProspects ?? 0),
    })
  }
  return [...sums.values()]
}

/** The rest, whose people are not known, comes last. */
const byDayAndPeople = (a: DayCount, b: DayCount): number =>
  a.day - b.day || b.prospects - a.prospects || b.count - a.count || (a.name < b.name ? -1 : 1)
