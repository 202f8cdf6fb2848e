import t from 'tap'
import { getEvent } from '../../../src/core/events/get-event.ts'
import { listEvents } from '../../../src/core/events/list-events.ts'
import type { Events, NewEvent, StoredEvent } from '../../../src/core/ports/events.ts'
import { writeJson } from '../../../src/json/write-json.ts'
import type { EventType } from '../../../src/shapes/event.ts'
import { refusalOf } from '../scene.ts'

const tenantId = 'tenant_1'
const event = (sequence: number, type: EventType = 'prospect.created'): StoredEvent => ({
  tenantId,
  eventId: `event_${sequence}`,
  sequence,
  type,
  ids: { prospectId: `prospect_${sequence}` },
  apiKeyId: null,
  createdAt: '2026-11-22T09:00:00.000Z',
})
const range = (first: number, last: number, typeOf: (n: number) => EventType = () => 'prospect.created') =>
  Array.from({ length: last - first + 1 }, (_, i) => event(first + i, typeOf(first + i)))

/** A feed of these events, and of numbers up to this one. */
const feedOf = (
  rows: readonly StoredEvent[],
  last = rows.at(-1)?.sequence ?? 0,
  dataOf = async ({ ids }: NewEvent): Promise<object> => ids,
) => {
  let eventsRead = 0
  const list: Events['list'] = async ({ afterSequence, limit }) => {
    const found = rows.filter(({ sequence }) => sequence > afterSequence).slice(0, limit)
    eventsRead += found.length
    return { rows: found, last }
  }
  const find: Events['find'] = async ({ eventId }) => rows.find((row) => row.eventId === eventId) ?? null
  const deps = { store: { events: { list, find } as Events }, dataOf }
  const slice = async (query: { cursor?: string; limit?: number; types?: EventType[] } = {}) => {
    const { items, ...rest } = (await listEvents(deps)({ tenantId, limit: 20, ...query })).value
    return { ...rest, sequences: items.map(({ sequence }) => sequence), items }
  }
  const read = async (eventId: string) => (await getEvent(deps)({ tenantId, eventId })).value
  return { slice, read, eventsRead: () => eventsRead }
}
const cursorAt = (sequence: number | string) => Buffer.from(`1:events:${sequence}`).toString('base64url')

t.test('a feed walked by its cursors shows each event once, oldest first', async (t) => {
  const { slice } = feedOf(range(1, 45))
  const first = await slice()
  t.strictSame(first.items[0], {
    eventId: 'event_1',
    sequence: 1,
    type: 'prospect.created',
    createdAt: '2026-11-22T09:00:00.000Z',
    apiKeyId: null,
    data: { prospectId: 'prospect_1' },
  })
  t.match(first, { hasMore: true, nextCursor: cursorAt(20) })
  const second = await slice({ cursor: first.nextCursor })
  const third = await slice({ cursor: second.nextCursor })
  t.strictSame(
    [...first.sequences, ...second.sequences, ...third.sequences],
    range(1, 45).map(({ sequence }) => sequence),
  )
  t.match(third, { hasMore: false, nextCursor: cursorAt(45) })
  t.match(await slice({ cursor: third.nextCursor }), { items: [], hasMore: false, nextCursor: cursorAt(45) })
})

t.test('a full last slice does not promise more', async (t) => {
  t.match(await feedOf(range(1, 20)).slice(), { hasMore: false, nextCursor: cursorAt(20) })
})

t.test('without a cursor the feed begins with the oldest event kept, with latest at its end', async (t) => {
  const { slice } = feedOf(range(31, 33))
  t.match(await slice(), { sequences: [31, 32, 33], nextCursor: cursorAt(33) })
  t.match(await slice({ cursor: 'latest' }), { sequences: [], hasMore: false, nextCursor: cursorAt(33) })
  t.match(await feedOf([]).slice({ cursor: 'latest' }), { sequences: [], nextCursor: cursorAt(0) })
  t.match(await feedOf([]).slice({ cursor: cursorAt(0) }), { sequences: [], nextCursor: cursorAt(0) })
  t.match(await feedOf([], 33).slice(), { sequences: [], hasMore: false, nextCursor: cursorAt(33) })
})

t.test('a cursor whose next event is gone has expired', async (t) => {
  const { slice } = feedOf(range(31, 33))
  t.match(await slice({ cursor: cursorAt(30) }), { sequences: [31, 32, 33] })
  for (const sequence of [0, 1, 29])
    t.match(await refusalOf(slice({ cursor: cursorAt(sequence) })), { kind: 'cursor_expired' })
  t.match(await refusalOf(feedOf([], 33).slice({ cursor: cursorAt(32) })), { kind: 'cursor_expired' })
  t.match(await feedOf([], 33).slice({ cursor: cursorAt(33) }), { sequences: [] })
})

t.test('a cursor that no feed issued is refused', async (t) => {
  const { slice } = feedOf(range(1, 3))
  const wrong = [
    cursorAt(4),
    cursorAt('01'),
    cursorAt(-1),
    cursorAt('9'.repeat(16)),
    cursorAt(''),
    'Latest',
    '',
  ]
  const other = Buffer.from('1:erasures:1').toString('base64url')
  for (const cursor of [...wrong, other])
    t.match(await refusalOf(slice({ cursor })), {
      kind: 'invalid_cursor',
      facts: { errors: [{ parameter: 'cursor' }] },
    })
})

t.test('a filter by types skips other events, and the cursor is where the search stopped', async (t) => {
  const typeOf = (n: number) => (n % 10 === 0 ? 'page.deleted' : 'prospect.updated')
  const { slice } = feedOf(range(1, 45, typeOf))
  const types: EventType[] = ['page.deleted', 'page.created']
  const first = await slice({ types, limit: 3 })
  t.match(first, { sequences: [10, 20, 30], hasMore: true, nextCursor: cursorAt(30) })
  const second = await slice({ types, limit: 3, cursor: first.nextCursor })
  t.match(second, { sequences: [40], hasMore: false, nextCursor: cursorAt(45) })
  t.match(await slice({ limit: 1, cursor: first.nextCursor }), { sequences: [31] }, 'with another filter')
})

t.test('a request reads at most 10,000 events', async (t) => {
  const typeOf = (n: number) => (n === 12_000 ? 'page.deleted' : 'prospect.updated')
  const { slice, eventsRead } = feedOf(range(1, 12_500, typeOf))
  const first = await slice({ types: ['page.deleted'] })
  t.match(first, { sequences: [], hasMore: true, nextCursor: cursorAt(10_000) })
  t.equal(eventsRead(), 10_000)
  const second = await slice({ types: ['page.deleted'], cursor: first.nextCursor })
  t.match(second, { sequences: [12_000], hasMore: false, nextCursor: cursorAt(12_500) })
})

t.test('events that expire while a filter passes over them are reported', async (t) => {
  const { slice } = feedOf([...range(1, 1_000), ...range(1_002, 1_010)])
  t.match(await refusalOf(slice({ types: ['page.deleted'], cursor: cursorAt(0) })), {
    kind: 'cursor_expired',
  })
  t.match(await slice({ types: ['page.deleted'] }), { hasMore: false, nextCursor: cursorAt(1_010) })
})

t.test('no slice passes over an event that is gone', async (t) => {
  const { slice } = feedOf([...range(1, 2), ...range(4, 6)])
  const first = await slice({ cursor: cursorAt(0) })
  t.match(first, { sequences: [1, 2], hasMore: true, nextCursor: cursorAt(2) })
  t.match(await refusalOf(slice({ cursor: cursorAt(2) })), { kind: 'cursor_expired' })
  t.match(await slice(), { sequences: [4, 5, 6], hasMore: false }, 'a new reader is not sent back again')
})

t.test('a slice has at most 1 MiB, and its data is read in portions', async (t) => {
  let reading = 0
  let most = 0
  const dataOf = async () => {
    most = Math.max(most, ++reading)
    await new Promise(setImmediate)
    reading--
    return { text: 'x'.repeat(20_000) }
  }
  const { slice } = feedOf(range(1, 100), 100, dataOf)
  const first = await slice({ limit: 100 })
  t.equal(most, 20)
  const bytes = writeJson(first.items).length
  t.ok(bytes <= 1_048_576 && bytes > 1_000_000, `${bytes}`)
  t.match(first, { hasMore: true, nextCursor: cursorAt(first.sequences.length) })
  const second = await slice({ limit: 100, cursor: first.nextCursor })
  t.equal(second.sequences[0], first.sequences.length + 1)
  t.match(second, { hasMore: false, nextCursor: cursorAt(100) })
})

t.test('one event is read by its id', async (t) => {
  const { read } = feedOf(range(1, 3))
  t.match(await read('event_2'), { eventId: 'event_2', sequence: 2, data: { prospectId: 'prospect_2' } })
  t.match(await refusalOf(read('event_4')), { kind: 'event_not_found' })
})
