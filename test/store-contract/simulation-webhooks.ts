import type {
  ClaimedEndpoint,
  DeliveryResult,
  DueDelivery,
  EventType,
  StoredEndpoint,
} from 'prospect-pages/store'
import { findEndpoint } from './outbox.ts'
import { justAfter } from './people.ts'
import type { Random } from './random.ts'
import { AWKWARD_TEXTS, idAt, someEvent } from './rows.ts'
import { idOf } from './setting.ts'
import {
  callsInTurn,
  cursorFrom,
  type MakeStep,
  manyCalls,
  maybe,
  type Seen,
  seenOrUnknown,
} from './simulation-calls.ts'
import { LOG_TYPES, SOURCES } from './simulation-people.ts'
import type { World } from './simulation-world.ts'

const URLS = ['https://a.example', 'https://b.example']
const TYPES = ['prospect.created', 'prospect.erased', 'page.created', 'page_version.published'] as const
const filtersFrom = (chance: Random) => ({
  sources: maybe(chance, () => chance.many(2, () => chance.oneOf(SOURCES))) ?? null,
  logTypes: maybe(chance, () => [chance.oneOf(LOG_TYPES)]) ?? null,
})
const typesFrom = (chance: Random): EventType[] | null =>
  chance.onceIn(3) ? null : chance.many(2, () => chance.oneOf(TYPES))

/** Endpoints that stay enabled: the first of the first two tenants. */
const LASTING = 2
const unknownEndpoint = (chance: Random, { tenants }: Seen) => ({
  tenantId: chance.oneOf(tenants),
  webhookEndpointId: idOf('webhookendpoint', chance.below(10_000)),
})
const endpointFrom = (chance: Random, seen: Seen) =>
  seenOrUnknown(chance, seen, seen.endpoints, unknownEndpoint(chance, seen))
const changingFrom = (chance: Random, seen: Seen) =>
  seenOrUnknown(chance, seen, seen.endpoints.slice(LASTING), unknownEndpoint(chance, seen))

/** Adds one of the newest events of the same tenant, or one that was never seen. */
const withEvent = <Input extends { readonly tenantId: string }>(chance: Random, seen: Seen, input: Input) => {
  const events = seen.events.slice(-200).filter(({ tenantId }) => tenantId === input.tenantId)
  return { ...input, eventId: chance.oneOf([...events, someEvent(input.tenantId)]).eventId }
}

export const numberEvents: MakeStep = (chance) => {
  const max = chance.oneOf([1, 10, 200])
  return { name: 'number events', run: ({ number }) => number(max) }
}

export const readFeeds: MakeStep = (_chance, seen) => ({
  name: 'read feeds',
  run: ({ readFeeds }) => readFeeds(seen.tenants),
  learn: (events) => void seen.events.push(...(events as typeof seen.events)),
})

export const listEvents: MakeStep = (chance, seen) =>
  manyCalls('list events', chance, 'listEvents', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    types: chance.onceIn(3) ? [chance.oneOf(TYPES)] : undefined,
    ...cursorFrom(chance, seen, 'list events'),
    limit: 1 + chance.below(10),
  }))

export const readEvents: MakeStep = (chance, seen) =>
  manyCalls('read events', chance, 'getEvent', seen, () =>
    withEvent(chance, seen, { tenantId: chance.oneOf(seen.tenants) }),
  )

export const createEndpoints: MakeStep = (chance, seen) =>
  callsInTurn('create endpoints', chance, 'createWebhookEndpoint', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    url: chance.oneOf(URLS),
    types: typesFrom(chance),
    ...filtersFrom(chance),
    headers: maybe(chance, () => ({ 'x-key': 'secret' })) ?? null,
    method: chance.oneOf(['POST', 'PUT'] as const),
    body: chance.oneOf([null, { rawJson: '{ "text": "{{/data/source}}" }' }]),
    description: chance.oneOf([null, ...AWKWARD_TEXTS]),
  }))

export const changeEndpoints: MakeStep = (chance, seen) =>
  callsInTurn('change endpoints', chance, 'updateWebhookEndpoint', seen, () => ({
    ...changingFrom(chance, seen),
    status: chance.oneOf([undefined, 'enabled', 'disabled', 'disabled'] as const),
    url: maybe(chance, () => chance.oneOf(URLS)),
    types: maybe(chance, () => typesFrom(chance)),
    ...maybe(chance, () => filtersFrom(chance)),
    headers: maybe(chance, () => chance.oneOf([null, { a: 'b', c: 'd' }])),
    description: maybe(chance, () => chance.oneOf(AWKWARD_TEXTS)),
  }))

export const deleteEndpoints: MakeStep = (chance, seen) =>
  callsInTurn('delete endpoints', chance, 'deleteWebhookEndpoint', seen, () => changingFrom(chance, seen))

export const rotateSecrets: MakeStep = (chance, seen) =>
  callsInTurn('rotate secrets', chance, 'rotateWebhookSecret', seen, () => ({
    ...changingFrom(chance, seen),
    overlapHours: chance.below(3),
  }))

export const readEndpoints: MakeStep = (chance, seen) =>
  manyCalls('read endpoints', chance, 'getWebhookEndpoint', seen, () => endpointFrom(chance, seen))

export const listEndpoints: MakeStep = (chance, seen) =>
  manyCalls('list endpoints', chance, 'listWebhookEndpoints', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
  }))

export const listDeliveries: MakeStep = (chance, seen) =>
  manyCalls('list deliveries', chance, 'listDeliveries', seen, () => ({
    ...endpointFrom(chance, seen),
    status: chance.oneOf([undefined, 'pending', 'delivered', 'failed'] as const),
    ...cursorFrom(chance, seen, 'list deliveries'),
    limit: 1 + chance.below(10),
  }))

export const readDeliveries: MakeStep = (chance, seen) =>
  manyCalls('read deliveries', chance, 'getDelivery', seen, () =>
    withEvent(chance, seen, endpointFrom(chance, seen)),
  )

export const retryDeliveries: MakeStep = (chance, seen) =>
  callsInTurn('retry deliveries', chance, 'retryDelivery', seen, () =>
    withEvent(chance, seen, endpointFrom(chance, seen)),
  )

export const replayDeliveries: MakeStep = (chance, seen) =>
  callsInTurn('replay deliveries', chance, 'replayDeliveries', seen, () => {
    const { eventId, ...endpoint } = withEvent(chance, seen, endpointFrom(chance, seen))
    const start = chance.onceIn(4) ? { since: '2026-01-02T00:00:00.000Z' } : { cursor: eventId }
    return { ...endpoint, ...start, onlyUndelivered: chance.onceIn(2) }
  })

/** Claims the endpoints that have work, and does it as a sender would. */
export const deliver: MakeStep = (chance) => {
  const luck = chance.below(1e6)
  const isLast = chance.onceIn(2)
  return {
    name: 'deliver',
    run: async (world) => {
      const answers: unknown[] = []
      for (const endpoint of await world.claimEndpoints()) {
        const due = await world.store.webhooks.due({ ...endpoint, now: world.now(), max: 100_000 })
        // Deliveries due since the same time come in any order.
        const sorted = due.toSorted((a, b) => (a.event.eventId < b.event.eventId ? -1 : 1))
        answers.push(endpoint, sorted)
        if (endpoint.status === 'enabled') answers.push(await settle(world, endpoint, sorted, luck))
        else answers.push(...(await sweepAll(world, endpoint, isLast)))
      }
      return answers
    },
  }
}

/** Ends the deliveries of a disabled endpoint, some at a time. Returns what each call said. */
const sweepAll = async ({ store: { webhooks } }: World, endpoint: ClaimedEndpoint, isLast: boolean) => {
  const answers: boolean[] = []
  let hasMore = true
  while (hasMore) {
    hasMore = await webhooks.sweep(endpoint, 'swept', SWEEP_MAX, isLast)
    answers.push(hasMore)
  }
  return answers
}
const SWEEP_MAX = 20

/** Saves the results of a sender: whether the endpoint works, and when it can be claimed again. */
const settle = (
  { store: { webhooks }, now }: World,
  endpoint: ClaimedEndpoint,
  due: readonly DueDelivery[],
  luck: number,
): Promise<boolean> => {
  const results = due.map((delivery) => resultOf(delivery, luck, now))
  const isWorking = results.some(({ status }) => status === 'delivered')
  const failures = isWorking ? 0 : endpoint.failures + 1
  const failingSince = isWorking ? null : (endpoint.failingSince ?? now())
  const isIdle = luck % 3 === 0
  const restMs = luck % 2 === 0 ? 0 : 60_000
  return webhooks.settle(endpoint, results, {
    failures,
    failingSince,
    lastError: failingSince && '{}',
    claimableAt: isIdle ? null : now(restMs),
    readAt: now(),
  })
}

/** The result of an attempt: always the same for the same event and luck. */
const resultOf = (
  { event: { eventId }, attempts }: DueDelivery,
  luck: number,
  now: World['now'],
): DeliveryResult => {
  const lot = (Number.parseInt(eventId.slice(-4), 16) + luck) % 4
  const attempt = JSON.stringify({ at: now(), ms: lot, status: 500, error: null, answer: 'what' })
  const ended = { eventId, attempts: attempts + 1, nextAttemptAt: null, deliveredAt: null, attempt }
  if (lot === 0) return { ...ended, status: 'failed', lastStatus: 410, lastError: 'gone' }
  if (lot === 1)
    return {
      ...ended,
      status: 'pending',
      nextAttemptAt: now(60_000),
      lastStatus: null,
      lastError: 'timeout',
    }
  return { ...ended, status: 'delivered', deliveredAt: now(), lastStatus: 204, lastError: null }
}

/** A sender comes back late, when others may have claimed, changed or deleted its endpoint. */
export const settleLate: MakeStep = (chance, seen) => {
  const endpoint = seen.endpointsClaimed.at(-1 - chance.below(10))
  const events = new Set(chance.many(5, () => seen.events.at(-1 - chance.below(100))))
  const due = [...events].flatMap((event) => (event ? [{ event, attempts: chance.below(10) }] : []))
  const luck = chance.below(1e6)
  return {
    name: 'settle deliveries late',
    run: async (world) => (endpoint ? [await settle(world, endpoint, due, luck)] : []),
  }
}

export const claimEndpoints: MakeStep = (_chance, seen) => ({
  name: 'claim endpoints and die',
  run: ({ claimEndpoints }) => claimEndpoints(),
  learn: (claimed) => void seen.endpointsClaimed.push(...(claimed as ClaimedEndpoint[])),
})

/** Disables an endpoint that is gone, as the sender does: with an event, even if the tenant uses no events. */
export const disableEndpoint: MakeStep = (chance, seen) => {
  const key = changingFrom(chance, seen)
  const resetsFailures = chance.onceIn(4)
  return {
    name: 'disable endpoint',
    run: async ({ store: { webhooks }, clock, now }) => {
      const found = await findEndpoint({ webhooks }, key)
      if (found === null) return [null]
      // A change is later than the one before it.
      const after = justAfter(found.updatedAt)
      const disabled: StoredEndpoint = {
        ...found,
        status: 'disabled',
        disabledReason: 'gone',
        updatedAt: now() > after ? now() : after,
      }
      const event = someEvent(found.tenantId, {
        eventId: idAt('event', clock(), '0'.repeat(16)),
        type: 'webhook_endpoint.disabled',
        ids: { webhookEndpointId: found.webhookEndpointId },
        createdAt: now(),
      })
      // The second one is overtaken by the first.
      return [
        await webhooks.change(disabled, found.updatedAt, { resetsFailures, event }),
        await webhooks.change(disabled, found.updatedAt, { resetsFailures, event }),
      ]
    },
  }
}
