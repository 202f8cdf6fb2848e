import { setImmediate } from 'node:timers/promises'
import type {
  ClaimedEndpoint,
  DeliveryResult,
  Store,
  StoredDelivery,
  StoredEndpoint,
} from 'prospect-pages/store'
import { equal, like, same } from './assertions.ts'
import { section } from './contract.ts'
import { DELETED, namesOf, outboxOf } from './outbox.ts'
import { AWKWARD_TEXTS, at, newId, scribbleOn, someEvent } from './rows.ts'
import { watching } from './signals.ts'
import { delivered } from './webhooks.ts'

const settingOf = async ({ store }: { readonly store: Store }) => {
  const ours = await outboxOf(store)
  const endpoint = await ours.addEndpoint()
  const settle = async (...results: Partial<DeliveryResult>[]) => {
    const [claimed] = await ours.claim(0, { until: at(0) })
    const all = results.map((result) => ({ ...delivered(''), ...result }))
    const state = { failures: 0, failingSince: null, lastError: null, claimableAt: null, readAt: at(1e9) }
    equal(await store.webhooks.settle(claimed as ClaimedEndpoint, all, state), true)
  }
  const sweep = async (max: number, isLast = true) => {
    const [claimed] = await ours.claim(0, { until: at(0) })
    return store.webhooks.sweep(claimed as ClaimedEndpoint, 'disabled', max, isLast)
  }
  const list = async (
    fields: { status?: StoredDelivery['status']; beforeId?: string; limit?: number } = {},
  ) => {
    const all = { ...namesOf(endpoint), status: null, beforeId: null, limit: 100, ...fields }
    return (await store.webhooks.deliveries(all)).rows
  }
  const replay = (fields: { afterEventId?: string; delivered?: boolean; max?: number } = {}) => {
    const all = { afterEventId: '', delivered: false, now: at(70), max: 100, ...fields }
    return store.webhooks.replay({ ...namesOf(endpoint), ...all })
  }
  const dueAt = (ms: number) => ours.dueAt(endpoint, ms)
  return { ours, endpoint, settle, sweep, list, replay, dueAt }
}
const FAILED = {
  status: 'failed',
  attempts: 10,
  lastStatus: 500,
  lastError: 'why',
  deliveredAt: null,
} as const

export const deliveries = section('deliveries', settingOf, {
  'they are listed newest event first, with every field and the type of their event': async (given) => {
    const { ours, endpoint, settle, list } = given
    const [one = '', two = ''] = await ours.addEvents(2, { type: 'page.deleted' })
    await settle({ eventId: one })
    const rest = { ...namesOf(endpoint), createdAt: at(0), type: 'page.deleted', lastAttempts: '[]' }
    const pending = { status: 'pending', attempts: 0, nextAttemptAt: at(0), lastStatus: null }
    const { attempt, ...done } = delivered(one)
    scribbleOn(await list())
    same(await list(), [
      { ...rest, ...pending, eventId: two, lastError: null, deliveredAt: null },
      { ...rest, ...done },
    ])
  },

  'those of one status are listed, slice by slice': async ({ ours, settle, list }) => {
    const ids = await ours.addEvents(9)
    await settle(...ids.filter((_, i) => i % 2 === 0).map((eventId) => ({ eventId })))
    const [one, two, ...more] = await list({ status: 'delivered', limit: 2 })
    // One more shows that they go on.
    same([one?.eventId, two?.eventId, more.length], [ids[8], ids[6], 1])
    const rest = await list({ status: 'delivered', limit: 9, beforeId: String(two?.eventId) })
    same(
      rest.map(({ eventId }) => eventId),
      [ids[4], ids[2], ids[0]],
    )
    equal((await list({ status: 'pending' })).length, 4)
    same(await list({ status: 'failed' }), [])
  },

  'what is pending for a disabled endpoint fails, so many at a time': async ({
    ours,
    endpoint,
    settle,
    sweep,
    list,
  }) => {
    const [first = ''] = await ours.addEvents(6)
    await settle({ eventId: first })
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    equal(await sweep(4), true)
    equal((await list({ status: 'failed' })).length, 4)
    equal(await sweep(4), false)
    equal((await list({ status: 'failed' })).length, 5)
    like((await list())[0], { status: 'failed', nextAttemptAt: null, lastError: 'disabled' })
    like(await list({ status: 'delivered' }), [{ eventId: first }])
    same(await ours.claim(1e6), [])
  },

  'a delivery that failed with its endpoint and was answered after all is delivered': async (given) => {
    const { ours, endpoint, store, list } = given
    const [one = '', two = ''] = await ours.addEvents(2)
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    const [claimed] = await ours.claim(0)
    await store.webhooks.sweep(claimed as ClaimedEndpoint, 'disabled', 4, true)
    const refused = { ...delivered(two), ...FAILED, lastStatus: 503, nextAttemptAt: null }
    const state = { failures: 0, failingSince: null, lastError: null, claimableAt: null, readAt: at(1e9) }
    equal(await store.webhooks.settle(claimed as ClaimedEndpoint, [delivered(one), refused], state), true)
    like(await list(), [
      { status: 'failed', lastError: 'disabled' },
      { eventId: one, status: 'delivered' },
    ])
  },

  'what a deleted endpoint was to get is deleted, so many at a time, and then the endpoint': async (
    given,
  ) => {
    const { ours, endpoint, settle, sweep, list } = given
    const [first = ''] = await ours.addEvents(6)
    await settle({ eventId: first })
    await ours.changeEndpoint(endpoint, DELETED)
    equal(await sweep(4), true)
    equal((await list()).length, 2)
    while (await sweep(4, false));
    same(await list(), [])
    like(await ours.claim(0, { until: at(0) }), [{ status: 'deleted' }])
    equal(await sweep(4), false)
    same(await ours.claim(1e6), [])
    equal((await ours.read()).length, 6)
  },

  'an endpoint that was enabled again meanwhile loses nothing': async ({ ours, endpoint, store, list }) => {
    await ours.addEvents(2)
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    const [claimed] = await ours.claim(0)
    await ours.changeEndpoint(endpoint, { status: 'enabled' })
    equal(await store.webhooks.sweep(claimed as ClaimedEndpoint, 'disabled', 9, true), false)
    equal((await list({ status: 'pending' })).length, 2)
  },

  'one that is retried is due now, with no attempts': async ({ ours, endpoint, store, settle, dueAt }) => {
    const [one = '', two = ''] = await ours.addEvents(2)
    await settle({ eventId: one, ...FAILED }, { eventId: two })
    same(await dueAt(1e6), [])
    const again = {
      status: 'pending',
      attempts: 0,
      nextAttemptAt: at(50),
      deliveredAt: null,
      type: 'page_group.created',
    }
    const names = namesOf(endpoint)
    like(await store.webhooks.retry({ ...names, eventId: one, now: at(50) }), { eventId: one, ...again })
    like(await store.webhooks.retry({ ...names, eventId: two, now: at(50) }), { eventId: two, ...again })
    equal(await store.webhooks.retry({ ...names, eventId: newId('event'), now: at(50) }), null)
    same(await dueAt(49), [])
    same((await dueAt(50)).sort(), [one, two])
  },

  'the last ten attempts are kept, oldest first, whatever their answers, even after a retry and a replay':
    async (given) => {
      const { ours, endpoint, store, settle, list, replay } = given
      const [eventId = '', other = ''] = await ours.addEvents(2)
      const lastOf = async (i: number) => JSON.parse(String((await list())[i]?.lastAttempts))
      const tried = AWKWARD_TEXTS.map((answer, ms) => ({ at: at(ms), ms, status: 500, error: 'why', answer }))
      const again = { status: 'pending', nextAttemptAt: at(0), lastStatus: 500, deliveredAt: null } as const
      for (const [i, attempt] of tried.entries()) {
        await settle({ ...again, eventId, attempt: JSON.stringify(attempt) }, { ...again, eventId: other })
        if (i === 8) same(await lastOf(1), tried.slice(0, 9))
      }
      same(await lastOf(1), tried.slice(-10))
      same(await lastOf(0), [])
      await store.webhooks.retry({ ...namesOf(endpoint), eventId, now: at(50) })
      await replay({ delivered: true })
      same(await lastOf(1), tried.slice(-10))
    },

  'a replay makes those due that were not delivered, or all': async ({ ours, settle, replay, dueAt }) => {
    const [pending = '', failed = '', done = ''] = await ours.addEvents(3)
    await settle({ eventId: failed, ...FAILED }, { eventId: done })
    same(await replay(), { made: 2, lastEventId: null })
    same([await dueAt(69), await dueAt(70)], [[], [pending, failed]])
    same(await replay({ delivered: true }), { made: 3, lastEventId: null })
    same((await dueAt(70)).sort(), [pending, failed, done])
  },

  'a replay delivers events from before the endpoint, of its types, so many at a time': async (given) => {
    const { ours, store } = given
    const old = await ours.addEvents(5, { type: 'page.updated' })
    const [other] = await ours.addEvents(1, { type: 'page.deleted' })
    const late: StoredEndpoint = await ours.addEndpoint({ types: ['page.updated'] })
    const from = (afterEventId: string) =>
      store.webhooks.replay({ ...namesOf(late), afterEventId, delivered: false, now: at(0), max: 3 })
    same(await from(old[0] as string), { made: 3, lastEventId: old[3] })
    like(await from(old[3] as string), { made: 1 })
    same(await from(String(other)), { made: 0, lastEventId: null })
    same((await ours.dueAt(late, 0)).sort(), old.slice(1))
    await ours.changeEndpoint(late, { status: 'disabled' })
    same(await from(''), { made: 0, lastEventId: old[2] })
  },

  'how many are pending is counted up to a bound, and since when': async ({ ours, store, settle }) => {
    same(await store.webhooks.backlog(9), { count: 0, oldest: null })
    const [first = ''] = await ours.addEvents(4)
    await settle({ eventId: first })
    same(await store.webhooks.backlog(9), { count: 3, oldest: at(0) })
    equal((await store.webhooks.backlog(2)).count, 2)
  },

  'whatever makes deliveries due emits a signal, and so do events that wait for numbers': async (given) => {
    const { ours, endpoint, store, replay } = given
    const { next, count } = watching(store)
    const emitting = async (act: () => Promise<unknown>, signal: 'events' | 'deliveries' = 'deliveries') => {
      const emitted = next(signal)
      await act()
      await emitted
    }
    const event = someEvent(ours.tenantId)
    await emitting(() => ours.write(event), 'events')
    equal(count('deliveries'), 0, 'nothing is due before it has a number')
    await emitting(() => ours.number())
    const { eventId } = event
    await emitting(() => store.webhooks.retry({ ...namesOf(endpoint), eventId, now: at(0) }))
    await emitting(() => replay({ delivered: true }))
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    await emitting(() => ours.changeEndpoint(endpoint, { status: 'enabled' }))
    await emitting(() => ours.changeEndpoint(endpoint, { types: ['page.deleted'] }))
    const before = count('deliveries')
    await ours.addEvents(1, { type: 'page.created' })
    await setImmediate()
    equal(count('deliveries'), before, 'an event that no endpoint takes makes nothing due')
  },
})
