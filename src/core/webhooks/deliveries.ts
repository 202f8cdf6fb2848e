import type { WebhookTest, WebhookTrial } from '../../shapes/webhook.ts'
import type {
  DeliveryQuery,
  Replay,
  ReplayResult,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryWithAttempts,
} from '../../shapes/webhook-delivery.ts'
import { ATTEMPTS_MAX, gaveUp } from '../engine/decide-and-save.ts'
import { atOnce } from '../engine/each-in-turn.ts'
import { equalShares } from '../engine/equal-shares.ts'
import { refuse } from '../engine/failures.ts'
import { idsSince } from '../engine/id-times.ts'
import type { Result } from '../engine/result.ts'
import { ROWS_SCANNED_MAX, sliceOf } from '../engine/slices.ts'
import { isoTime } from '../engine/times.ts'
import type { EventData } from '../events/event-data.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointWant, ShownDelivery, StoredEndpoint } from '../ports/webhooks.ts'
import { TOO_LARGE, UNSIGNED } from './webhook-attempts.ts'
import { bodyWriter } from './webhook-body.ts'
import { existingEndpoint, type WebhookTools } from './webhook-endpoints.ts'
import { openedOf } from './webhook-headers.ts'

/** Events that one write replays. */
const REPLAYED_AT_ONCE = 100
/** Slow requests in flight: of one tenant, and of all, in equal shares. */
const LONG_MAX = 4
const ALL_LONG_MAX = 32

type DeliveryWant = EndpointWant & { readonly eventId: string }
type Deps = Needs<'webhooks'>
type ReadDeps = Needs<'webhooks' | 'events'> & { readonly webhookDataOf: EventData }
type TestDeps = Deps & ReadDeps & { readonly webhooks: Pick<WebhookTools, 'secrets' | 'send'> }

/**
 * Lists the deliveries of an endpoint, newest event first.
 * Refuses `webhook_endpoint_not_found`, `invalid_cursor`.
 */
export const listDeliveries = ({ store }: Pick<Deps, 'store'>) =>
  sliceOf({
    nameOf: ({ webhookEndpointId, status }: DeliveryQuery & EndpointWant) =>
      `deliveries/${webhookEndpointId}?${status ?? ''}`,
    find: async ({ tenantId, webhookEndpointId, status = null, limit, beforeId }) => {
      await existingEndpoint(store, { tenantId, webhookEndpointId })
      return store.webhooks.deliveries({ tenantId, webhookEndpointId, status, limit, beforeId })
    },
    positionOf: ({ eventId }) => eventId,
    itemOf: deliveryOf,
  })

/** Reads a delivery with its last attempts and its body. Refuses `webhook_endpoint_not_found`, `delivery_not_found`. */
export const getDelivery =
  ({ store, webhookDataOf }: Pick<ReadDeps, 'store' | 'webhookDataOf'>) =>
  async ({ eventId, ...endpoint }: DeliveryWant): Promise<Result<WebhookDeliveryWithAttempts>> => {
    const found = await existingEndpoint(store, endpoint)
    const { tenantId, webhookEndpointId } = found
    const upToIt = { tenantId, webhookEndpointId, status: null, beforeId: `${eventId}~`, limit: 1 }
    const [delivery] = (await store.webhooks.deliveries(upToIt)).rows
    const event = delivery?.eventId === eventId ? await store.events.find({ tenantId, eventId }) : null
    if (!delivery || !event) return noDelivery()
    const lastAttempts: WebhookAttempt[] = JSON.parse(delivery.lastAttempts)
    const body = rawOf(bodyWriter(found)(event, await webhookDataOf(event)))
    return { value: { ...deliveryOf(delivery), lastAttempts: lastAttempts.reverse(), body } }
  }
const rawOf = (rawJson: string | null) => (rawJson === null ? null : { rawJson })
const noDelivery = () => refuse('delivery_not_found', 'The endpoint has no delivery of this event.')

/** Makes a delivery pending again. Refuses `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `delivery_not_found`. */
export const retryDelivery =
  ({ store, clock }: Deps) =>
  async ({ eventId, ...endpoint }: DeliveryWant): Promise<Result<WebhookDelivery>> => {
    const { tenantId, webhookEndpointId, status } = await existingEndpoint(store, endpoint)
    if (status !== 'enabled') refuseDisabled()
    const want = { tenantId, webhookEndpointId, eventId, now: isoTime(clock()) }
    const retried = await store.webhooks.retry(want)
    return { value: deliveryOf(retried ?? noDelivery()) }
  }

/**
 * Delivers the events since a time or after an event again, as many as one request may read, or fewer if another tenant
 * needs its slot.
 * Refuses `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `invalid_request`: neither or both, and
 * `rate_limited` while too many replays of the tenant, or of all tenants, are in flight.
 */
export const replayDeliveries = ({ store, clock, shareLoop = atOnce }: Deps) => {
  const limited = limitLong('replays')
  return async ({
    since,
    cursor,
    onlyUndelivered,
    ...endpoint
  }: EndpointWant & Replay): Promise<Result<ReplayResult>> => {
    if ((since === undefined) === (cursor === undefined)) refuse('invalid_request', TWO_STARTS, START)
    const afterEventId = cursor ?? idsSince('event', since ?? '')
    const { tenantId, webhookEndpointId, status } = await existingEndpoint(store, endpoint)
    if (status !== 'enabled') refuseDisabled()
    const want = { tenantId, webhookEndpointId, delivered: !onlyUndelivered, now: isoTime(clock()) }
    const replay = async (
      lost: AbortSignal,
      made = 0,
      after = afterEventId,
      left = ROWS_SCANNED_MAX,
    ): Promise<ReplayResult> => {
      await shareLoop(tenantId)
      const some = { ...want, afterEventId: after, max: REPLAYED_AT_ONCE }
      const found = await replaySome(store, some)
      const deliveries = made + found.made
      if (found.lastEventId === null || left <= REPLAYED_AT_ONCE || lost.aborted)
        return { deliveries, nextCursor: found.lastEventId }
      return replay(lost, deliveries, found.lastEventId, left - REPLAYED_AT_ONCE)
    }
    return { value: await limited(tenantId, replay) }
  }
}

/** There is nothing to decide here: a replay that was overtaken is made again. */
const replaySome = async (
  { webhooks }: Deps['store'],
  some: Parameters<Deps['store']['webhooks']['replay']>[0],
) => {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const found = await webhooks.replay(some)
    if (found !== 'overtaken') return found
  }
  return gaveUp()
}

/** Runs slow calls, and refuses `rate_limited` while too many are in flight. `lost`: another tenant needs its slot. */
const limitLong = (what: 'replays' | 'tests') => {
  const share = equalShares(LONG_MAX, ALL_LONG_MAX)
  return async <Answer>(tenantId: string, work: (lost: AbortSignal) => Promise<Answer>): Promise<Answer> => {
    const lost = new AbortController()
    const leave = share(tenantId, () => lost.abort()) ?? tooMany(what)
    return work(lost.signal).finally(leave)
  }
}
const tooMany = (what: string) =>
  refuse('rate_limited', `Too many ${what} are in flight. Try again later.`, { retryAfterS: 5 })
const TWO_STARTS = 'A replay starts at a time or at a cursor.'
const START = {
  errors: [{ detail: 'send exactly one of `since` and `cursor`', pointer: '/since' }],
}
const refuseDisabled = () => refuse('webhook_endpoint_disabled', 'Enable the endpoint first.')

/**
 * Sends a webhook to an endpoint as the sender would, of an event or of one to try it, and returns the result with what was
 * sent. No event and no delivery are stored. Refuses `webhook_endpoint_not_found`, `event_not_found`, and `rate_limited` while too many tests of the tenant, or of all tenants, are in flight.
 */
export const testWebhookEndpoint = ({ store, clock, newId, webhookDataOf, webhooks }: TestDeps) => {
  const limited = limitLong('tests')
  const send = async (
    endpoint: StoredEndpoint,
    lost: AbortSignal,
    stored: StoredEvent | null,
  ): Promise<WebhookTest> => {
    const { tenantId, webhookEndpointId, url, method } = endpoint
    const now = clock()
    const test = { tenantId, eventId: newId('event'), type: 'webhook_endpoint.test', createdAt: isoTime(now) }
    const { eventId } = stored ?? test
    const opened = openedOf(endpoint, now, webhooks.secrets.open)
    const body = bodyWriter(endpoint)(
      stored ?? test,
      stored ? await webhookDataOf(stored) : { webhookEndpointId },
    )
    const unsent = { delivered: false, statusCode: null, durationMs: 0, answer: null, method, body: null }
    if (opened === null || body === null) return { ...unsent, error: opened ? TOO_LARGE : UNSIGNED }
    const webhook = { url, method, ...opened, eventId, body, hops: (stored?.ids.hops ?? 0) + 1 }
    const { status, error, ms, answer = null } = await webhooks.send(webhook, lost, false)
    if (lost.aborted && error !== null) tooMany('tests')
    const result = { delivered: error === null, statusCode: status, durationMs: ms, error }
    return { ...result, answer, method, body: rawOf(body) }
  }
  return async ({ eventId, ...want }: EndpointWant & WebhookTrial): Promise<Result<WebhookTest>> => {
    const endpoint = await existingEndpoint(store, want)
    const { tenantId } = endpoint
    const stored = eventId === undefined ? null : await store.events.find({ tenantId, eventId })
    if (eventId !== undefined && stored === null) refuse('event_not_found', 'Event not found.')
    return { value: await limited(tenantId, (lost) => send(endpoint, lost, stored)) }
  }
}

const deliveryOf = (delivery: ShownDelivery): WebhookDelivery => ({
  eventId: delivery.eventId,
  type: delivery.type,
  status: delivery.status,
  attempts: delivery.attempts,
  nextAttemptAt: delivery.nextAttemptAt,
  lastStatusCode: delivery.lastStatus,
  lastError: delivery.lastError,
  deliveredAt: delivery.deliveredAt,
  createdAt: delivery.createdAt,
})
