import type { ClaimedEndpoint, DeliveryResult, NewEvent, StoredEndpoint } from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { times } from './concurrency.ts'
import { section } from './contract.ts'
import { DELETED, findEndpoint, namesOf, outboxOf } from './outbox.ts'
import {
  AWKWARD_TEXTS,
  at,
  newId,
  recordAll,
  scribbleOn,
  someEndpoint,
  someEvent,
  someLog,
  someProspect,
} from './rows.ts'

const ERROR = JSON.stringify({ at: at(3), reason: 'It answered 503.', status: 503 })
/** The state of an endpoint whose attempts succeeded. It keeps its lease. */
export const NO_FAILURES = {
  failures: 0,
  failingSince: null,
  lastError: null,
  claimableAt: null,
  readAt: at(1e9),
}
const idsOf = (endpoints: readonly StoredEndpoint[]) =>
  endpoints.map(({ webhookEndpointId }) => webhookEndpointId)

export const delivered = (eventId: string): DeliveryResult => ({
  eventId,
  status: 'delivered',
  attempts: 1,
  nextAttemptAt: null,
  lastStatus: 204,
  lastError: null,
  deliveredAt: at(9),
  attempt: null,
})
export const retried = (eventId: string, ms: number): DeliveryResult => ({
  eventId,
  status: 'pending',
  attempts: 1,
  nextAttemptAt: at(ms),
  lastStatus: 500,
  lastError: 'why',
  deliveredAt: null,
  attempt: null,
})

export const webhooks = section('webhooks', async ({ store }) => ({ ours: await outboxOf(store) }), {
  'endpoints are listed oldest first and found, with every field': async ({ ours, store }) => {
    const plain = await ours.addEndpoint()
    const full = await ours.addEndpoint({
      types: ['page.created', 'prospect.erased'],
      description: '"Ada\'s", {NULL}',
      status: 'disabled',
      disabledReason: 'why',
      secret: 's',
      previousSecret: 'p',
      previousSecretUntil: at(9),
      failures: 3,
      failingSince: at(5),
      lastError: null,
      createdAt: at(1),
      updatedAt: at(2),
      sources: JSON.stringify(AWKWARD_TEXTS),
      logTypes: '["a b"]',
      headers: 'x-key v1:sealed',
      method: 'PUT',
      body: `{ "n": 1.50, "t": ${JSON.stringify(AWKWARD_TEXTS)} }`,
    })
    same(await store.webhooks.list(ours.tenantId), [plain, full])
    const copy = structuredClone(full)
    scribbleOn(full)
    scribbleOn(await findEndpoint(store, copy))
    scribbleOn(await store.webhooks.list(ours.tenantId))
    same(await findEndpoint(store, namesOf(copy)), copy)
  },

  'a deleted endpoint is neither listed nor found': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint()
    await ours.changeEndpoint(endpoint, DELETED)
    same(await store.webhooks.list(ours.tenantId), [])
    equal(await findEndpoint(store, endpoint), null)
  },

  'of endpoints added at once in one slot one is, and a deleted one frees its slot': async (scene) => {
    const { ours, store, another } = scene
    const stores = [store, await another()]
    const added = await Promise.all(
      times(6, (i) => stores[i % 2]?.webhooks.add(someEndpoint(ours.tenantId, { slot: 20 }))),
    )
    equal(added.filter((outcome) => outcome === 'recorded').length, 1)
    equal(added.filter((outcome) => outcome === 'overtaken').length, 5)
    const [endpoint, ...others] = await store.webhooks.list(ours.tenantId)
    same(others, [])
    await ours.changeEndpoint(endpoint as StoredEndpoint, DELETED)
    await ours.changeEndpoint(await ours.addEndpoint({ slot: 20 }), DELETED)
    await ours.addEndpoint({ slot: 20 })
  },

  'of endpoints added at once under one idempotency key one is, and a deleted one frees its key': async (
    scene,
  ) => {
    const { ours, store, another } = scene
    const stores = [store, await another()]
    const keyed = { idempotencyKey: 'one', requestHash: 'plain:hash' }
    const recorded = await Promise.all(
      times(6, (i) => stores[i % 2]?.webhooks.add(someEndpoint(ours.tenantId, { slot: 10 + i, ...keyed }))),
    )
    same(recorded.filter((result) => result === 'recorded').length, 1)
    const [first] = await store.webhooks.list(ours.tenantId)
    like(first, keyed)
    const changed = { idempotencyKey: 'two', requestHash: null, description: 'changed' }
    const after = await ours.changeEndpoint(first as StoredEndpoint, changed)
    like(await findEndpoint(store, after), { ...keyed, description: 'changed' })
    await ours.changeEndpoint(first as StoredEndpoint, DELETED)
    equal(await store.webhooks.add(someEndpoint(ours.tenantId, { slot: 7, ...keyed })), 'recorded')
  },

  'of changes of what was read at once one is saved, with every field': async ({ ours, store, another }) => {
    const before = await ours.addEndpoint({ types: ['page.created'] })
    const stores = [store, await another()]
    const changes = times(6, (i): StoredEndpoint => {
      const others = {
        sources: '["crm"]',
        logTypes: '["call"]',
        headers: 'x-key v1:sealed',
        method: 'PATCH',
        body: '"{{/data}}"',
      } as const
      const url = `https://example.com/${i}`
      return { ...before, ...others, url, types: null, secret: 'new', updatedAt: at(i + 1) }
    })
    const outcomes = await Promise.all(changes.map((to, i) => stores[i % 2]?.webhooks.change(to, at(0))))
    equal(outcomes.filter((outcome) => outcome === 'recorded').length, 1)
    same(await findEndpoint(store, before), changes[outcomes.indexOf('recorded')])
  },

  'a change keeps the failures counted meanwhile, unless it is to begin afresh': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint()
    await ours.addEvents(1)
    const [claimed] = await ours.claim(0)
    const counted = { failures: 7, failingSince: at(3), lastError: ERROR }
    await store.webhooks.settle(claimed as ClaimedEndpoint, [], { ...NO_FAILURES, ...counted })
    const change = { ...endpoint, status: 'disabled', updatedAt: at(1) } as const
    equal(await store.webhooks.change(change, at(0)), 'recorded')
    same(await findEndpoint(store, endpoint), { ...change, ...counted })
    const enabled = { ...endpoint, updatedAt: at(2) }
    equal(
      await store.webhooks.change({ ...enabled, ...counted }, at(1), { resetsFailures: true }),
      'recorded',
    )
    same(await findEndpoint(store, endpoint), enabled)
  },

  'another URL has no failures, and gets none of an attempt at the old one': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint({ failures: 7, failingSince: at(3), lastError: ERROR })
    await ours.addEvents(1)
    const [claimed] = await ours.claim(0)
    const moved = { ...endpoint, url: 'https://example.com/moved', updatedAt: at(1) }
    equal(await store.webhooks.change(moved, at(0), { resetsFailures: true }), 'recorded')
    const calm = { ...moved, failures: 0, failingSince: null, lastError: null }
    same(await findEndpoint(store, endpoint), calm)
    const counted = { failures: 8, failingSince: at(3), lastError: null, claimableAt: at(50) }
    equal(await store.webhooks.settle(claimed as ClaimedEndpoint, [], { ...NO_FAILURES, ...counted }), true)
    same(await findEndpoint(store, endpoint), calm)
    like(await ours.claim(50), [{ claims: 2 }])
  },

  'an event is delivered to the enabled endpoints that take its type': async ({ ours }) => {
    const all = await ours.addEndpoint()
    const some = await ours.addEndpoint({ types: ['page.created', 'page.updated'] })
    const disabled = await ours.addEndpoint({ status: 'disabled' })
    await ours.changeEndpoint(await ours.addEndpoint(), DELETED)
    const [other] = await ours.addEvents(1, { type: 'page.deleted' })
    const [taken] = await ours.addEvents(1, { type: 'page.updated' })
    same(await ours.deliveriesOf(all), [
      [taken, 'pending'],
      [other, 'pending'],
    ])
    same(await ours.deliveriesOf(some), [[taken, 'pending']])
    same(await ours.deliveriesOf(disabled), [])
  },

  'of logged activities those are delivered that are of its sources and of its types, also by a replay':
    async ({ ours, store }) => {
      const sources = await ours.addEndpoint({ sources: JSON.stringify(['crm', 'a "shop", {b}']) })
      const types = await ours.addEndpoint({ logTypes: '["call"]', types: ['prospect_log.created'] })
      const both = await ours.addEndpoint({ sources: '["crm"]', logTypes: '["call","mail"]' })
      const all = await ours.addEndpoint({})
      const prospect = someProspect(ours.tenantId)
      const logs = [
        someLog(prospect, { source: 'crm', type: 'call' }),
        someLog(prospect, { source: 'a "shop", {b}', type: 'call' }),
        someLog(prospect, { source: 'crm', type: 'visit' }),
        someLog(prospect, { source: 'shop', type: 'mail' }),
      ]
      const eventOf = (ids: NewEvent['ids']) =>
        someEvent(ours.tenantId, { type: 'prospect_log.created', ids })
      // The store adds the events of the logs.
      const events = logs.map(({ prospectLogId: id }) => ({ eventId: `event${id.slice(id.indexOf('_'))}` }))
      const erased = eventOf({ prospectLogId: newId('prospectlog') })
      const other = someEvent(ours.tenantId, { type: 'page.created' })
      same(await recordAll(store.activities, [prospect], logs, [erased, other]), 'recorded')
      equal(await ours.number(), 6)
      const expected = [
        [sources, [0, 1, 2], [other]],
        [types, [0, 1], []],
        [both, [0], [other]],
        [all, [0, 1, 2, 3], [erased, other]],
      ] as const
      const from = { afterEventId: '', delivered: true, now: at(0), max: 100 }
      for (const [endpoint, numbers, others] of expected) {
        const ids = [...numbers.map((i) => events[i]), ...others].map((event) => event?.eventId)
        same((await ours.deliveriesOf(endpoint)).map(([eventId]) => eventId).reverse(), ids)
        same(await store.webhooks.replay({ ...namesOf(endpoint), ...from }), {
          made: ids.length,
          lastEventId: null,
        })
      }
    },

  'an endpoint with a due delivery is claimed by one sender, until its lease ends': async (scene) => {
    const { ours, store, another } = scene
    const other = await another()
    const endpoint = await ours.addEndpoint()
    same(await ours.claim(0), [])
    await ours.addEvents(3)
    const claimed = await Promise.all(times(6, (i) => ours.claim(0, {}, i % 2 ? store : other)))
    same(claimed.flat(), [{ ...endpoint, claims: 1 }])
    same(await ours.claim(999, {}, other), [])
    like(await ours.claim(1_000, { until: at(1e9) }, other), [{ claims: 2 }])
    same(await ours.claim(2_000), [])
    // A sender whose clock is wrong has it.
    like(await ours.claim(2_000, { horizon: at(1e8) }), [{ claims: 3 }])
  },

  'several endpoints are claimed, as many as wanted, and no one twice': async ({ ours, store }) => {
    const theirs = await outboxOf(store)
    for (const { addEndpoint, addEvents } of [ours, theirs]) {
      for (let n = 0; n < 3; n++) await addEndpoint()
      await addEvents(2)
    }
    const claims = await Promise.all([ours.claim(0, { max: 4 }), ours.claim(0, { max: 4 })])
    ok(claims.every(({ length }) => length <= 4))
    const ids = [...claims, await ours.claim(0, { max: 4 })].flatMap(idsOf)
    const all = [
      ...(await store.webhooks.list(ours.tenantId)),
      ...(await store.webhooks.list(theirs.tenantId)),
    ]
    same(ids.sort(), idsOf(all).sort())
    const [first = '', last] = [ours.tenantId, theirs.tenantId].sort()
    const claimed = await ours.claim(1_000, { afterTenantId: first })
    same(new Set(claimed.map(({ tenantId }) => tenantId)), new Set([last]))
  },

  'an endpoint is claimed if it is enabled and a delivery is due, disabled and one is pending, or deleted':
    async ({ ours, store }) => {
      const enabled = await ours.addEndpoint()
      const disabled = await ours.addEndpoint()
      const deleted = await ours.addEndpoint()
      const [eventId = ''] = await ours.addEvents(1)
      await ours.changeEndpoint(await ours.addEndpoint(), { status: 'disabled' })
      const claimed = await ours.claim(0, { until: at(0) })
      equal(claimed.length, 3)
      for (const endpoint of claimed)
        await store.webhooks.settle(endpoint, [retried(eventId, 50)], NO_FAILURES)
      same(await ours.claim(49), [])
      await ours.changeEndpoint(disabled, { status: 'disabled' })
      await ours.changeEndpoint(deleted, DELETED)
      const empty = await ours.changeEndpoint(await ours.addEndpoint(), DELETED)
      const swept = await ours.claim(49, { until: at(50) })
      same(swept.map(({ status }) => status).sort(), ['deleted', 'deleted', 'disabled'])
      same(idsOf(await ours.claim(50)).sort(), idsOf([enabled, disabled, deleted, empty]))
    },

  'what is due is read in the order of its times, with its event and its attempts': async (scene) => {
    const { ours, store } = scene
    const endpoint = await ours.addEndpoint()
    const [one = '', two = '', three = ''] = await ours.addEvents(3, {
      createdAt: at(3),
      apiKeyId: newId('apikey'),
    })
    const [claimed] = await ours.claim(0)
    const results = [retried(one, 30), retried(two, 10), delivered(three)]
    equal(await store.webhooks.settle(claimed as ClaimedEndpoint, results, NO_FAILURES), true)
    same(await ours.dueAt(endpoint, 9), [])
    same(await ours.dueAt(endpoint, 10), [two])
    same(await ours.dueAt(endpoint, 30, 1), [two])
    same(await ours.dueAt(endpoint, 30), [two, one])
    const [due] = await store.webhooks.due({ ...namesOf(endpoint), now: at(10), max: 1 })
    same(due, { attempts: 1, event: (await ours.read())[1] })
  },

  'a delivery that a clock far ahead has planned is due at once, and settled': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint()
    const [late = '', wrong = ''] = await ours.addEvents(2)
    const dayMs = 86_400_000
    const [claimed] = await ours.claim(0)
    // The longest pause by intent is 24 hours, and a fifth more.
    const results = [retried(late, 1.2 * dayMs), retried(wrong, 30 * dayMs)]
    await store.webhooks.settle(claimed as ClaimedEndpoint, results, { ...NO_FAILURES, claimableAt: at(0) })
    same([await ours.dueAt(endpoint, 0), await ours.dueAt(endpoint, 1.2 * dayMs)], [[wrong], [late, wrong]])
    same(await ours.dueAt(endpoint, 1.2 * dayMs, 1), [late])
    const [again] = await ours.claim(0)
    await store.webhooks.settle(again as ClaimedEndpoint, [retried(wrong, 50)], {
      ...NO_FAILURES,
      readAt: at(0),
    })
    same([await ours.dueAt(endpoint, 49), await ours.dueAt(endpoint, 50)], [[], [wrong]])
  },

  'a sender that has lost its claim saves nothing': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint()
    const [eventId = ''] = await ours.addEvents(1)
    const [late] = await ours.claim(0)
    const [current] = await ours.claim(1_000)
    const state = { ...NO_FAILURES, failures: 4, failingSince: at(1), lastError: null }
    equal(await store.webhooks.settle(late as ClaimedEndpoint, [delivered(eventId)], state), false)
    same(await ours.deliveriesOf(endpoint), [[eventId, 'pending']])
    same(await findEndpoint(store, endpoint), endpoint)
    equal(await store.webhooks.settle(current as ClaimedEndpoint, [delivered(eventId)], NO_FAILURES), true)
    same(await ours.deliveriesOf(endpoint), [[eventId, 'delivered']])
  },

  'only a success ends a delivery that was asked for again meanwhile': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint()
    const [one = '', two = '', three = ''] = await ours.addEvents(3)
    const [claimed] = await ours.claim(0)
    const now = at(7)
    for (const eventId of [one, two]) await store.webhooks.retry({ ...namesOf(endpoint), eventId, now })
    const results = [retried(one, 30), delivered(two), retried(three, 30)]
    const state = { ...NO_FAILURES, readAt: at(6) }
    equal(await store.webhooks.settle(claimed as ClaimedEndpoint, results, state), true)
    same(await ours.dueAt(endpoint, 7), [one])
    same(await ours.deliveriesOf(endpoint), [
      [three, 'pending'],
      [two, 'delivered'],
      [one, 'pending'],
    ])
  },

  'an endpoint that fails counts it, rests, and is claimed again afterwards': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint()
    const [eventId = ''] = await ours.addEvents(1)
    const [claimed] = await ours.claim(0)
    const state = {
      ...NO_FAILURES,
      failures: 5,
      failingSince: at(2),
      lastError: ERROR,
      claimableAt: at(60_000),
    }
    equal(await store.webhooks.settle(claimed as ClaimedEndpoint, [retried(eventId, 20)], state), true)
    same(await findEndpoint(store, endpoint), {
      ...endpoint,
      failures: 5,
      failingSince: at(2),
      lastError: ERROR,
    })
    same(await ours.claim(59_999), [])
    like(await ours.claim(60_000), [{ failures: 5, claims: 2 }])
  },

  'a change is saved with its event, even of the last endpoint that is enabled': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint()
    const event = someEvent(ours.tenantId, { type: 'webhook_endpoint.disabled', createdAt: at(8) })
    const disabled = { ...endpoint, status: 'disabled', disabledReason: 'why', updatedAt: at(8) } as const
    equal(await store.webhooks.change(disabled, at(0), { event }), 'recorded')
    same(await findEndpoint(store, endpoint), disabled)
    equal(await ours.number(), 1)
    like(await ours.read(), [event])
    same(await ours.deliveriesOf(endpoint), [])
  },

  'of a change that is overtaken the event is not saved either': async ({ ours, store }) => {
    const endpoint = await ours.addEndpoint()
    const repaired = await ours.changeEndpoint(endpoint, { url: 'https://example.com/repaired' })
    const disabled = { ...endpoint, status: 'disabled', updatedAt: at(8) } as const
    equal(await store.webhooks.change(disabled, at(0), { event: someEvent(ours.tenantId) }), 'overtaken')
    same(await findEndpoint(store, endpoint), repaired)
    equal(await ours.number(), 0)
  },

  'an endpoint that begins afresh is claimable at once if it had failed or was disabled': async (scene) => {
    const { ours, store } = scene
    const endpoint = await ours.addEndpoint()
    await ours.addEvents(1)
    const until = at(60_000)
    const [claimed] = await ours.claim(0, { until })
    await ours.changeEndpoint(endpoint, { url: 'https://example.com/other' }, true)
    same(await ours.claim(10, { until }), [])
    await ours.changeEndpoint(endpoint, { status: 'disabled' })
    await ours.changeEndpoint(endpoint, { status: 'enabled' }, true)
    const [again] = await ours.claim(10, { until })
    like([claimed, again], [{ claims: 1 }, { status: 'enabled', claims: 2 }])
    const state = { ...NO_FAILURES, failures: 5, failingSince: at(2), lastError: ERROR, claimableAt: until }
    equal(await store.webhooks.settle(again as ClaimedEndpoint, [], state), true)
    same(await ours.claim(20), [])
    await ours.changeEndpoint(endpoint, { status: 'enabled' }, true)
    like(await ours.claim(20), [{ failures: 0, claims: 3 }])
  },
})
