import type { ProspectLog, TimelineQuery } from '../../shapes/prospect-log.ts'
import { prospectErased, prospectNotFound } from '../engine/failures.ts'
import { cursorAt, sliceOf } from '../engine/slices.ts'
import { positionAt, positionIn } from '../engine/time-positions.ts'
import { isoTime } from '../engine/times.ts'
import type { FoundTimeline, TimelinePosition, TimelineRowsQuery } from '../ports/prospect-logs.ts'
import type { ProspectKey } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import type { RowsQuery } from '../ports/world.ts'
import { gatherTimeline } from './gather-timeline.ts'
import { filterOf } from './list-prospect-logs.ts'

/** Which slice of the activities of a prospect to list. */
export type TimelineListing = TimelineQuery & ProspectKey

/**
 * Lists a prospect's activities, newest first by when they happened.
 * Refuses `prospect_not_found`, `prospect_erased`, `invalid_cursor`.
 */
export const listTimeline = ({ store }: Pick<Needs<'prospectLogs'>, 'store'>) =>
  sliceOf({
    nameOf,
    find: async (listing) => {
      const query = queryOf(listing)
      return rowsOf(await gatherTimeline(store.prospectLogs.timeline, query))
    },
    position: /^\d{1,14} prospectlog_[a-z0-9]{26}$/,
    positionOf: ({ occurredAt, prospectLogId }) => positionAt(occurredAt, prospectLogId),
    itemOf: (log) => log,
  })

const nameOf = (listing: TimelineListing) => `prospects/${listing.prospectId}?${filterOf(listing)}`

/** The cursor after an activity within a slice. */
export const cursorAfter = (listing: TimelineListing, { occurredAt, prospectLogId }: ProspectLog): string =>
  cursorAt(nameOf(listing), positionAt(occurredAt, prospectLogId))

const queryOf = (listing: TimelineListing & RowsQuery): TimelineRowsQuery => {
  const { tenantId, prospectId, limit, source = null, type = null, since = null, until, beforeId } = listing
  const cursor = beforeId === null ? null : timelinePosition(beforeId)
  const untilComesFirst = until !== undefined && (cursor === null || until <= cursor.occurredAt)
  const before = untilComesFirst ? lastBefore(until) : cursor
  return { tenantId, prospectId, limit, source, type, since, before }
}

const timelinePosition = (text: string): TimelinePosition => {
  const [occurredAt, prospectLogId = ''] = positionIn(text)
  return { occurredAt, prospectLogId }
}

/** The last position before a time: a millisecond earlier, so that a store does not read the step that begins then. */
const lastBefore = (time: string): TimelinePosition => ({
  occurredAt: isoTime(Date.parse(time) - 1),
  prospectLogId: LAST_ID,
})
const LAST_ID = `prospectlog_${'z'.repeat(26)}`

const rowsOf = (found: FoundTimeline) => {
  if (found === 'prospect_not_found') return prospectNotFound()
  if (found === 'prospect_erased') return prospectErased()
  // Nothing happened before 1970.
  if (found.resume === null || Date.parse(found.resume) <= 0) return { ...found, resume: null }
  const { occurredAt, prospectLogId } = lastBefore(found.resume)
  return { ...found, resume: positionAt(occurredAt, prospectLogId) }
}
