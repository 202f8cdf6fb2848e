import { writeJson } from '../../json/write-json.ts'
import type { Event, EventQuery, EventSlice } from '../../shapes/event.ts'
import { atOnce } from '../engine/each-in-turn.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { afterCursor, cursorAt, invalidCursor, ROWS_SCANNED_MAX, SLICE_BYTES_MAX } from '../engine/slices.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import { dataOfMany, type EventData } from './event-data.ts'

/** Which slice of the feed of a tenant to read. */
export type EventListing = Omit<EventQuery, 'wait'> & { readonly tenantId: string }
export type EventRead = { readonly tenantId: string; readonly eventId: string }
type Deps = Pick<Needs<'events'>, 'store' | 'shareLoop'> & { readonly dataOf: EventData }

/** Rows that are read at a time if there is a filter. */
const ROWS_AT_ONCE = 1_000
/** Events whose data is read at a time: the resources behind it may be as large as a request body. */
const DATA_AT_ONCE = 20
const FEED = 'events'
const POSITION = /^(0|[1-9]\d{0,14})$/
/** The cursor after the event with this number, and that number. */
export const cursorOf = (position: number): string => cursorAt(FEED, String(position))
export const positionOf = (cursor: string): number => Number(afterCursor(cursor, FEED, POSITION))

/**
 * Reads the feed: numbered events, oldest first, after the last number that the reader has seen, which is its cursor.
 * There are no gaps: the event after that has the next number, or it is no longer kept. Without a cursor, the feed
 * begins after the last expired event.
 * Refuses `invalid_cursor`, `cursor_expired`.
 */
export const listEvents =
  ({ store, dataOf, shareLoop = atOnce }: Deps) =>
  async ({ tenantId, cursor, limit, types }: EventListing): Promise<Result<EventSlice>> => {
    const isLatest = cursor === 'latest'
    const seen = isLatest ? null : afterCursor(cursor, FEED, POSITION)
    let position = isLatest ? Number.MAX_SAFE_INTEGER : Number(seen)
    let last = position
    const matching: StoredEvent[] = []
    const rowsMax = types ? ROWS_AT_ONCE : limit
    for (let looked = 0; looked < ROWS_SCANNED_MAX && matching.length < limit; looked += rowsMax) {
      await shareLoop(tenantId)
      const found = await store.events.list({ tenantId, afterSequence: position, limit: rowsMax })
      last = found.last
      const next = found.rows[0]?.sequence ?? last + 1
      if (seen !== null && next !== position + 1) return next > position ? cursorExpired() : invalidCursor()
      if (found.rows.length === 0) position = last
      for (const event of found.rows) {
        // The oldest events expire in the order of their ids, which differs slightly from that of their numbers.
        const isGap = event.sequence !== position + 1
        if (matching.length === limit || (isGap && seen !== null)) break
        if (isGap) matching.length = 0
        position = event.sequence
        if (types?.includes(event.type) ?? true) matching.push(event)
      }
      if (!types || position >= last) break
    }
    const items = await thatFit(matching, dataOfMany(dataOf), () => shareLoop(tenantId))
    if (items.length < matching.length) position = items.at(-1)?.sequence ?? position
    return { value: { items, hasMore: position < last, nextCursor: cursorOf(position) } }
  }

/** Reads one event. Refuses `event_not_found`. */
export const getEvent =
  ({ store, dataOf }: Deps) =>
  async ({ tenantId, eventId }: EventRead): Promise<Result<Event>> => {
    const found = await store.events.find({ tenantId, eventId })
    return { value: await eventOf(dataOf)(found ?? refuse('event_not_found', 'Event not found.')) }
  }

/** The first events, as many as fit into one slice. */
const thatFit = async (
  events: readonly StoredEvent[],
  dataOf: Deps['dataOf'],
  shareLoop: () => Promise<void> | undefined,
): Promise<Event[]> => {
  const items: Event[] = []
  let bytes = 0
  while (items.length < events.length) {
    const some = events.slice(items.length, items.length + DATA_AT_ONCE)
    const read = await Promise.all(some.map(eventOf(dataOf)))
    await shareLoop()
    for (const item of read) {
      bytes += Buffer.byteLength(writeJson(item)) + 1
      if (bytes > SLICE_BYTES_MAX) return items
      items.push(item)
    }
  }
  return items
}

const cursorExpired = (): never =>
  refuse('cursor_expired', 'The events after this cursor are no longer kept.')

const eventOf =
  (dataOf: Deps['dataOf']) =>
  async (event: StoredEvent): Promise<Event> => ({
    eventId: event.eventId,
    sequence: event.sequence,
    type: event.type,
    createdAt: event.createdAt,
    ...(event.type !== 'prospect_log.created' && { apiKeyId: event.apiKeyId }),
    data: await dataOf(event),
  })
