import { writeJson } from '../../json/write-json.ts'
import type { Event, EventQuery, EventSlice } from '../../shapes/event.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { atOnce } from '../engine/share-loop.ts'
import { afterCursor, cursorAt, invalidCursor, ROWS_SCANNED_MAX, SLICE_BYTES_MAX } from '../engine/slices.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import { dataOfMany, type EventData } from './event-data.ts'
import { eventOf } from './get-event.ts'

/** Which slice of the feed of a tenant to read. */
export type EventListing = Omit<EventQuery, 'wait'> & { readonly tenantId: string }
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
    const filter = { limit, types, isResumed: seen !== null }
    const rowsMax = types ? ROWS_AT_ONCE : limit
    let progress: Progress = { position: isLatest ? Number.MAX_SAFE_INTEGER : Number(seen), matching: [] }
    let lastSequence = progress.position
    let rowsLeft = ROWS_SCANNED_MAX
    while (rowsLeft > 0 && progress.matching.length < limit) {
      await shareLoop(tenantId)
      const found = await store.events.list({ tenantId, afterSequence: progress.position, limit: rowsMax })
      lastSequence = found.last
      if (filter.isResumed) requireNextNumber(found, progress.position)
      progress = readRows(found, progress, filter)
      rowsLeft -= rowsMax
      if (!types || progress.position >= lastSequence) break
    }
    const { matching } = progress
    const items = await firstThatFit(matching, dataOfMany(dataOf), () => shareLoop(tenantId))
    const lastShown = items.length < matching.length ? items.at(-1)?.sequence : undefined
    const position = lastShown ?? progress.position
    return { value: { items, hasMore: position < lastSequence, nextCursor: cursorOf(position) } }
  }

/** The number of the last event that was read, and the events to show. */
type Progress = { readonly position: number; readonly matching: readonly StoredEvent[] }
type Filter = Pick<EventListing, 'limit' | 'types'> & { readonly isResumed: boolean }
type Found = Awaited<ReturnType<Needs<'events'>['store']['events']['list']>>

/** Reads rows up to the limit, or up to a gap if the reader has seen the event before it. */
const readRows = (found: Found, before: Progress, { limit, types, isResumed }: Filter): Progress => {
  if (found.rows.length === 0) return { ...before, position: found.last }
  let position = before.position
  let matching = [...before.matching]
  for (const event of found.rows) {
    // The oldest events expire in the order of their ids, which differs slightly from that of their numbers.
    const isGap = event.sequence !== position + 1
    if (matching.length === limit || (isGap && isResumed)) break
    if (isGap) matching = []
    position = event.sequence
    if (types?.includes(event.type) ?? true) matching.push(event)
  }
  return { position, matching }
}

/** Refuses `cursor_expired` if the next event is no longer kept, and `invalid_cursor` if its number was never reached. */
const requireNextNumber = ({ rows, last }: Found, position: number): void => {
  const next = rows[0]?.sequence ?? last + 1
  if (next > position + 1) cursorExpired()
  if (next < position + 1) invalidCursor()
}

/** The first events that together fit into one slice. */
const firstThatFit = async (
  events: readonly StoredEvent[],
  dataOf: EventData,
  shareLoop: () => Promise<void> | undefined,
): Promise<Event[]> => {
  const items: Event[] = []
  let bytes = 0
  while (items.length < events.length) {
    const list = events.slice(items.length, items.length + DATA_AT_ONCE)
    const read = await Promise.all(list.map(eventOf(dataOf)))
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
