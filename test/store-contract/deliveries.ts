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
import { delivered, NO_FAILURES, retried } from './webhooks.ts'

const settingOf = async ({ store }: { readonly store: Store }) => {
  const ours = await outboxOf(store)
  const endpoint = await ours.addEndpoint()
  /** Claims the endpoint under a lease that has already ended, so that the next step can claim it again. */
  const claimBriefly = async (): Promise<ClaimedEndpoint> => {
    const [claimed] = await ours.claim(0, { until: at(0) })
    return claimed as ClaimedEndpoint
  }
  return {
    ours,
    endpoint,
    settle: async (...results: DeliveryResult[]) =>
      equal(await store.webhooks.settle(await claimBriefly(), results, NO_FAILURES), true),
    sweep: async (max: number, isLast = true) =>
      store.webhooks.sweep(await claimBriefly(), 'disabled', max, isLast),
    list: async (query: { status?: StoredDelivery['status']; beforeId?: string; limit?: number } = {}) => {
      const { rows } = await store.webhooks.deliveries({
        ...namesOf(endpoint),
        status: query.status ?? null,
        beforeId: query.beforeId ?? null,
        limit: query.limit ?? 100,
      })
      return rows
    },
    replay: (delivered = false) =>
      store.webhooks.replay({ ...namesOf(endpoint), afterEventId: '', delivered, now: at(70), max: 100 }),
    retry: (eventId: string) => store.webhooks.retry({ ...namesOf(endpoint), eventId, now: at(50) }),
    dueAt: (ms: number) => ours.dueAt(endpoint, ms),
  }
}

const failed = (eventId: string): DeliveryResult => ({
  eventId,
  status: 'failed',
  attempts: 10,
  nextAttemptAt: null,
  lastStatus: 500,
  lastError: 'why',
  deliveredAt: null,
  attempt: null,
})

export const deliveries = section('deliveries', settingOf, {
  'the list returns the newest event first, with every field and the type of the event': async (setting) => {
    const { ours, endpoint, settle, list } = setting
    const [deliveredId = '', pendingId = ''] = await ours.addEvents(2, { type: 'page.deleted' })
    await settle(delivered(deliveredId))
    scribbleOn(await list())
    const common = { ...namesOf(endpoint), type: 'page.deleted', createdAt: at(0), lastAttempts: '[]' }
    same(await list(), [
      {
        ...common,
        eventId: pendingId,
        status: 'pending',
        attempts: 0,
        nextAttemptAt: at(0),
        lastStatus: null,
        lastError: null,
        deliveredAt: null,
      },
      {
        ...common,
        eventId: deliveredId,
        status: 'delivered',
        attempts: 1,
        nextAttemptAt: null,
        lastStatus: 204,
        lastError: null,
        deliveredAt: at(9),
      },
    ])
  },

  'the list returns deliveries of one status in slices': async ({ ours, settle, list }) => {
    const ids = await ours.addEvents(9)
    await settle(...ids.filter((_, i) => i % 2 === 0).map(delivered))
    // The third row shows that there are more.
    const slice = await list({ status: 'delivered', limit: 2 })
    same(eventIdsOf(slice), [ids[8], ids[6], ids[4]])
    const nextSlice = await list({ status: 'delivered', limit: 9, beforeId: String(ids[6]) })
    same(eventIdsOf(nextSlice), [ids[4], ids[2], ids[0]])
    equal((await list({ status: 'pending' })).length, 4)
    same(await list({ status: 'failed' }), [])
  },

  'a disabled endpoint fails its pending deliveries in batches': async (setting) => {
    const { ours, endpoint, settle, sweep, list } = setting
    const [first = ''] = await ours.addEvents(6)
    await settle(delivered(first))
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    equal(await sweep(4), true)
    equal((await list({ status: 'failed' })).length, 4)
    equal(await sweep(4), false)
    equal((await list({ status: 'failed' })).length, 5)
    like((await list())[0], { status: 'failed', nextAttemptAt: null, lastError: 'disabled' })
    like(await list({ status: 'delivered' }), [{ eventId: first }])
    same(await ours.claim(1e6), [])
  },

  'a delivery that failed with its endpoint becomes delivered if its attempt succeeds': async (setting) => {
    const { ours, endpoint, store, list } = setting
    const [deliveredId = '', refusedId = ''] = await ours.addEvents(2)
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    const [claimed] = await ours.claim(0)
    await store.webhooks.sweep(claimed as ClaimedEndpoint, 'disabled', 4, true)
    const results = [delivered(deliveredId), failed(refusedId)]
    equal(await store.webhooks.settle(claimed as ClaimedEndpoint, results, NO_FAILURES), true)
    like(await list(), [
      { eventId: refusedId, status: 'failed', lastError: 'disabled' },
      { eventId: deliveredId, status: 'delivered' },
    ])
  },

  'a deleted endpoint loses its deliveries in batches, then the endpoint is deleted': async (setting) => {
    const { ours, endpoint, settle, sweep, list } = setting
    const [first = ''] = await ours.addEvents(6)
    await settle(delivered(first))
    await ours.changeEndpoint(endpoint, DELETED)
    equal(await sweep(4), true)
    equal((await list()).length, 2)
    await untilSwept(() => sweep(4, false))
    same(await list(), [])
    like(await ours.claim(0, { until: at(0) }), [{ status: 'deleted' }])
    equal(await sweep(4), false)
    same(await ours.claim(1e6), [])
    equal((await ours.read()).length, 6)
  },

  'an endpoint that is enabled again before it is swept keeps its pending deliveries': async ({
    ours,
    endpoint,
    store,
    list,
  }) => {
    await ours.addEvents(2)
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    const [claimed] = await ours.claim(0)
    await ours.changeEndpoint(endpoint, { status: 'enabled' })
    equal(await store.webhooks.sweep(claimed as ClaimedEndpoint, 'disabled', 9, true), false)
    equal((await list({ status: 'pending' })).length, 2)
  },

  'a retried delivery is due at once, with zero attempts': async ({ ours, settle, retry, dueAt }) => {
    const [failedId = '', deliveredId = ''] = await ours.addEvents(2)
    await settle(failed(failedId), delivered(deliveredId))
    same(await dueAt(1e6), [])
    const retried = {
      status: 'pending',
      attempts: 0,
      nextAttemptAt: at(50),
      deliveredAt: null,
      type: 'page_group.created',
    }
    like(await retry(failedId), { eventId: failedId, ...retried })
    like(await retry(deliveredId), { eventId: deliveredId, ...retried })
    equal(await retry(newId('event')), null)
    same(await dueAt(49), [])
    same((await dueAt(50)).sort(), [failedId, deliveredId])
  },

  'the last ten attempts are kept, oldest first, whatever their answers, even after a retry and a replay':
    async ({ ours, settle, list, replay, retry }) => {
      const [triedId = '', untriedId = ''] = await ours.addEvents(2)
      const attemptsOf = async (eventId: string) => {
        const delivery = (await list()).find((listed) => listed.eventId === eventId)
        return JSON.parse(String(delivery?.lastAttempts))
      }
      const attempts = AWKWARD_TEXTS.map((answer, ms) => ({
        at: at(ms),
        ms,
        status: 500,
        error: 'why',
        answer,
      }))
      for (const [i, attempt] of attempts.entries()) {
        const tried = { ...retried(triedId, 0), attempt: JSON.stringify(attempt) }
        await settle(tried, retried(untriedId, 0))
        if (i === 8) same(await attemptsOf(triedId), attempts.slice(0, 9))
      }
      same(await attemptsOf(triedId), attempts.slice(-10))
      same(await attemptsOf(untriedId), [])
      await retry(triedId)
      await replay(true)
      same(await attemptsOf(triedId), attempts.slice(-10))
    },

  'a replay makes the undelivered deliveries due, or all of them': async (setting) => {
    const { ours, settle, replay, dueAt } = setting
    const [pendingId = '', failedId = '', deliveredId = ''] = await ours.addEvents(3)
    await settle(failed(failedId), delivered(deliveredId))
    same(await replay(), { made: 2, lastEventId: null })
    same(await dueAt(69), [])
    same(await dueAt(70), [pendingId, failedId])
    same(await replay(true), { made: 3, lastEventId: null })
    same((await dueAt(70)).sort(), [pendingId, failedId, deliveredId])
  },

  'a replay delivers earlier events of the types of an endpoint in batches': async ({ ours, store }) => {
    const updatedIds = await ours.addEvents(5, { type: 'page.updated' })
    const [deletedId] = await ours.addEvents(1, { type: 'page.deleted' })
    const endpoint: StoredEndpoint = await ours.addEndpoint({ types: ['page.updated'] })
    const replayAfter = (afterEventId: string) =>
      store.webhooks.replay({ ...namesOf(endpoint), afterEventId, delivered: false, now: at(0), max: 3 })
    same(await replayAfter(updatedIds[0] as string), { made: 3, lastEventId: updatedIds[3] })
    like(await replayAfter(updatedIds[3] as string), { made: 1 })
    same(await replayAfter(String(deletedId)), { made: 0, lastEventId: null })
    same((await ours.dueAt(endpoint, 0)).sort(), updatedIds.slice(1))
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    same(await replayAfter(''), { made: 0, lastEventId: updatedIds[2] })
  },

  'the backlog counts pending deliveries up to a bound and shows the oldest': async ({
    ours,
    store,
    settle,
  }) => {
    same(await store.webhooks.backlog(9), { count: 0, oldest: null })
    const [first = ''] = await ours.addEvents(4)
    await settle(delivered(first))
    same(await store.webhooks.backlog(9), { count: 3, oldest: at(0) })
    equal((await store.webhooks.backlog(2)).count, 2)
  },

  'every change that makes deliveries due emits a signal, and so does an event without a number': async (
    setting,
  ) => {
    const { ours, endpoint, store, replay } = setting
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
    await emitting(() => replay(true))
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    await emitting(() => ours.changeEndpoint(endpoint, { status: 'enabled' }))
    await emitting(() => ours.changeEndpoint(endpoint, { types: ['page.deleted'] }))
    const before = count('deliveries')
    await ours.addEvents(1, { type: 'page.created' })
    await setImmediate()
    equal(count('deliveries'), before, 'an event that no endpoint takes makes nothing due')
  },
})

const eventIdsOf = (deliveries: readonly StoredDelivery[]) => deliveries.map(({ eventId }) => eventId)

/** Sweeps until no delivery remains. */
const untilSwept = async (sweep: () => Promise<boolean>): Promise<void> => {
  while (await sweep()) {
    // The next sweep handles the next batch.
  }
}
