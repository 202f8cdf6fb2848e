import { setImmediate } from 'node:timers/promises'
import type { NewEvent, StoredEvent } from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { times } from './concurrency.ts'
import { section } from './contract.ts'
import { DELETED, outboxOf } from './outbox.ts'
import { at, newId, scribbleOn, someEvent, someGroup } from './rows.ts'

const WRITERS = 6
const WRITES = 12

export const events = section('events', async ({ store }) => ({ ours: await outboxOf(store) }), {
  'a tenant uses events while one of its endpoints is enabled, as each write finds it': async ({ ours }) => {
    const { write, addEndpoint, changeEndpoint, read, tenantId } = ours
    const written = async () => (await write(someEvent(tenantId)))[0]?.eventId
    const ids: unknown[] = [await written()]
    const first = await addEndpoint()
    ids.push(await written())
    await changeEndpoint(first, { status: 'disabled' })
    ids.push(await written())
    const second = await addEndpoint({ status: 'disabled' })
    ids.push(await written())
    await changeEndpoint(first, { status: 'enabled' })
    ids.push(await written())
    await changeEndpoint(first, DELETED)
    ids.push(await written())
    await changeEndpoint(second, { status: 'enabled' })
    ids.push(await written())
    equal(await ours.number(), 3)
    same(
      (await read()).map(({ eventId }) => eventId),
      [ids[1], ids[4], ids[6]],
    )
  },

  'an event has a number and can be found only once it was numbered': async ({ ours, store }) => {
    await ours.addEndpoint()
    const { tenantId } = ours
    const ids = { pageGroupId: newId('pagegroup'), pageId: newId('page'), versionId: newId('pageversion') }
    const fields = {
      type: 'page_version.published',
      ids,
      apiKeyId: newId('apikey'),
      createdAt: at(7),
    } as const
    const [event] = await ours.write(someEvent(tenantId, structuredClone(fields)))
    const want = { tenantId, eventId: event?.eventId as string }
    equal(await store.events.find(want), null)
    same(await store.events.list({ tenantId, afterSequence: 0, limit: 9 }), { rows: [], last: 0 })
    equal(await ours.number(), 1)
    same(await store.events.find(want), { ...event, sequence: 1 })
    same(await store.events.list({ tenantId, afterSequence: 0, limit: 9 }), {
      rows: [{ ...event, sequence: 1 }],
      last: 1,
    })
    scribbleOn(event)
    scribbleOn(await ours.read())
    scribbleOn(await store.events.find(want))
    same(await store.events.find(want), { tenantId, eventId: want.eventId, ...fields, sequence: 1 })
  },

  'events are numbered in the order of their ids, as many at a time as wanted': async ({ ours, store }) => {
    await ours.addEndpoint()
    const all = times(5, () => someEvent(ours.tenantId))
    await ours.write(...all.toReversed())
    same([await ours.number(2), await ours.number(2), await ours.number(2)], [2, 2, 1])
    equal(await ours.number(2), 0)
    same(
      (await ours.read()).map(({ eventId, sequence }) => [eventId, sequence]),
      all.map(({ eventId }, i) => [eventId, i + 1]),
    )
    like(await ours.read(1, 2), [{ sequence: 2 }, { sequence: 3 }])
    same(await store.events.list({ tenantId: ours.tenantId, afterSequence: 5, limit: 2 }), {
      rows: [],
      last: 5,
    })
  },

  'tenants whose events wait are listed in the order of their ids, after one of them': async ({ store }) => {
    const outboxes = [await outboxOf(store), await outboxOf(store), await outboxOf(store)]
    for (const { addEndpoint, write, tenantId } of outboxes.toReversed()) {
      await addEndpoint()
      await write(someEvent(tenantId), someEvent(tenantId))
    }
    const ids = outboxes.map(({ tenantId }) => tenantId)
    same(await store.events.waiting('', 2), ids.slice(0, 2))
    same(await store.events.waiting(ids[1] as string, 2), ids.slice(2))
    for (const { number } of outboxes) await number(1)
    same(await store.events.waiting('', 9), ids)
    for (const { number } of outboxes) await number(1)
    same(await store.events.waiting('', 9), [])
  },

  'a reader of a number can read all before it, while many write and many give numbers': async (scene) => {
    const { ours, store, another, core } = scene
    const endpoint = await ours.addEndpoint()
    const { tenant, tenantId } = ours
    const stores = [store, await another(), await another()]
    const storeOf = (i: number) => stores[i % stores.length] as typeof store
    const written: string[] = []
    const total = (WRITERS * WRITES * 5) / 2
    const writer = async (i: number) => {
      const newEventId = core.createNewId()
      for (let n = 0; n < WRITES; n++) {
        const those = times(1 + ((n + i) % 4), () => someEvent(tenantId, { eventId: newEventId('event') }))
        await storeOf(i).pageGroups.add(someGroup(tenant), those)
        written.push(...those.map(({ eventId }) => eventId))
        await setImmediate()
      }
    }
    let isWritten = false
    let isNumbered = false
    let numbered = 0
    const numberer = async (i: number) => {
      for (let isLast = false; !isLast; await setImmediate()) {
        const isAll = isWritten
        const count = await storeOf(i).events.number({ tenantId, now: at(0), max: 7 })
        numbered += count
        isLast = isAll && count === 0
      }
    }
    const seen: StoredEvent[] = []
    const reader = async () => {
      for (let isLast = false; !isLast; await setImmediate()) {
        isLast = isNumbered
        const want = { tenantId, afterSequence: seen.length, limit: total }
        const { rows, last } = await storeOf(1).events.list(want)
        for (const event of rows) equal(event.sequence, seen.push(event))
        ok(last >= seen.length)
      }
    }
    const writing = Promise.all(times(WRITERS, writer)).finally(() => {
      isWritten = true
    })
    const numbering = Promise.all(times(3, numberer)).finally(() => {
      isNumbered = true
    })
    await Promise.all([writing, numbering, reader()])
    same(seen.map(({ eventId }) => eventId).sort(), written.sort())
    equal(numbered, total)
    same(
      await ours.deliveriesOf(endpoint),
      written.toReversed().map((eventId) => [eventId, 'pending']),
    )
  },

  'the oldest events and their deliveries are deleted, so many at a time': async ({ ours, store }) => {
    const theirs = await outboxOf(store)
    await theirs.addEndpoint()
    await theirs.addEvents(1)
    const endpoint = await ours.addEndpoint()
    await ours.changeEndpoint(await ours.addEndpoint(), { types: ['page.deleted'] })
    const { tenantId } = ours
    const [first] = await ours.addEvents(5)
    const waiting = someEvent(tenantId)
    const kept = await ours.addEvents(2)
    await ours.write(waiting)
    equal((await ours.read()).length, 7)
    const want = { tenantId, beforeEventId: kept[0] as string, max: 4 }
    equal(await store.events.expire({ ...want, beforeEventId: first as string }), false)
    equal(await store.events.expire(want), true)
    equal((await ours.read()).length, 3)
    equal((await ours.deliveriesOf(endpoint)).length, 3)
    while (await store.events.expire(want));
    like(await store.events.list({ tenantId, afterSequence: 0, limit: 9 }), { last: 7 })
    same(
      (await ours.read()).map(({ eventId }) => eventId),
      kept,
    )
    equal((await ours.deliveriesOf(endpoint)).length, 2)
    equal(await ours.number(), 1)
    like(await ours.read(7), [waiting])
    equal((await theirs.read()).length, 1)
  },

  'a reader is never led past an event that expired before those with lower numbers': async (scene) => {
    const { ours, store, core } = scene
    await ours.addEndpoint()
    const { tenantId } = ours
    const [late, first, last] = times(3, () => someEvent(tenantId)) as [NewEvent, NewEvent, NewEvent]
    for (const event of [first, late, last]) {
      await ours.write(event)
      await ours.number()
    }
    await store.events.expire({ tenantId, beforeEventId: first.eventId, max: 9 })
    const listEvents = core.listEvents({ store, dataOf: async () => ({}) })
    const seen: number[] = []
    let why: unknown
    for (let cursor = 'MTpldmVudHM6MA'; why === undefined; )
      try {
        const { value: slice } = await listEvents({ tenantId, cursor, limit: 9 })
        seen.push(...slice.items.map(({ sequence }) => sequence))
        if (!slice.hasMore) break
        cursor = slice.nextCursor
      } catch (error) {
        why = (error as { kind: unknown }).kind
      }
    if (why === undefined) same(seen, [1, 2, 3])
    else same([seen, why], [[1], 'cursor_expired'])
  },
})

export const everyEvent = section(
  'every event',
  async ({ store }) => ({ ours: await outboxOf(store) }),
  {
    'a tenant without an endpoint has events': async ({ ours }) => {
      const [eventId] = await ours.addEvents(1)
      like(await ours.read(), [{ eventId, sequence: 1 }])
      const endpoint = await ours.addEndpoint()
      await ours.addEvents(1)
      equal((await ours.deliveriesOf(endpoint)).length, 1)
    },
  },
  'openStoreOfEveryEvent',
)
