import { writeJson } from '../../json/write-json.ts'
import type {
  DeliveryQuery,
  Replay,
  ReplayResult,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryWithAttempts,
  WebhookTest,
} from '../../shapes/webhook.ts'
import { equalShares } from '../engine/equal-shares.ts'
import { refuse } from '../engine/failures.ts'
import { idsSince } from '../engine/id-times.ts'
import { manyOf } from '../engine/in-order.ts'
import { shareLoop } from '../engine/share-loop.ts'
import { ROWS_SCANNED_MAX, slicesOf } from '../engine/slices.ts'
import { isoTime } from '../engine/times.ts'
import { untilRecorded } from '../engine/until-recorded.ts'
import { type eventData, webhookBodyOf } from '../events/event-data.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointWant, ShownDelivery, StoredEndpoint } from '../ports/webhooks.ts'
import { UNSIGNED } from './webhook-attempts.ts'
import { existingEndpoint, type WebhookTools } from './webhook-endpoints.ts'
import { openedOf } from './webhook-headers.ts'

/** Events that one write replays. */
const REPLAYED_AT_ONCE = 100
/** Slow requests in flight: of one tenant, and of all, in equal shares. */
const LONG_MAX = 4
const ALL_LONG_MAX = 32

type DeliveryWant = EndpointWant & { readonly eventId: string }
type Deps = Needs<'webhooks'>
type ReadDeps = Needs<'webhooks' | 'events'> & { readonly dataOf: ReturnType<typeof eventData> }
type TestDeps = Deps & { readonly webhooks: Pick<WebhookTools, 'secrets' | 'send'> }

/**
 * Lists the deliveries of endpoints, newest event first, many lists at once.
 * Refuses, per list: `webhook_endpoint_not_found`, `invalid_cursor`.
 */
export const listDeliveries = ({ store }: Pick<Deps, 'store'>) =>
  slicesOf({
    nameOf: ({ webhookEndpointId, status }: DeliveryQuery & EndpointWant) =>
      `deliveries/${webhookEndpointId}?${status ?? ''}`,
    find: manyOf(async ({ tenantId, webhookEndpointId, status = null, limit, beforeId }) => {
      await existingEndpoint(store, { tenantId, webhookEndpointId })
      return store.webhooks.deliveries({ tenantId, webhookEndpointId, status, limit, beforeId })
    }),
    positionOf: ({ eventId }) => eventId,
    itemOf: deliveryOf,
  })

/** Reads a delivery with its last attempts and its body. Refuses `webhook_endpoint_not_found`, `delivery_not_found`. */
export const getDelivery =
  ({ store, dataOf }: Pick<ReadDeps, 'store' | 'dataOf'>) =>
  async ({ eventId, ...endpoint }: DeliveryWant): Promise<WebhookDeliveryWithAttempts> => {
    const { tenantId, webhookEndpointId } = await existingEndpoint(store, endpoint)
    const upToIt = { tenantId, webhookEndpointId, status: null, beforeId: `${eventId}~`, limit: 1 }
    const [found] = (await store.webhooks.deliveries(upToIt)).rows
    const event = found?.eventId === eventId ? await store.events.find({ tenantId, eventId }) : null
    if (!found || !event) return noDelivery()
    const lastAttempts: WebhookAttempt[] = JSON.parse(found.lastAttempts)
    const body = { rawJson: webhookBodyOf(event, await dataOf(event)) }
    return { ...deliveryOf(found), lastAttempts: lastAttempts.reverse(), body }
  }
const noDelivery = () => refuse('delivery_not_found', 'The endpoint has no delivery of this event.')

/** Makes a delivery pending again. Refuses `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `delivery_not_found`. */
export const retryDelivery =
  ({ store, clock }: Deps) =>
  async ({ eventId, ...endpoint }: DeliveryWant): Promise<WebhookDelivery> => {
    const { tenantId, webhookEndpointId, status } = await existingEndpoint(store, endpoint)
    if (status !== 'enabled') refuseDisabled()
    const want = { tenantId, webhookEndpointId, eventId, now: isoTime(clock()) }
    const retried = await store.webhooks.retry(want)
    return deliveryOf(retried ?? noDelivery())
  }

/**
 * Delivers the events since a time or after an event again, as many as one request may read, or fewer if another tenant
 * needs its slot.
 * Refuses `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `invalid_request`: neither or both, and
 * `rate_limited` while too many replays of the tenant, or of all tenants, are in flight.
 */
export const replayDeliveries = ({ store, clock }: Deps) => {
  const limited = limitLong('replays')
  return async ({ since, cursor, onlyUndelivered, ...endpoint }: EndpointWant & Replay) => {
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
      const found = await untilRecorded(() => store.webhooks.replay(some))
      const deliveries = made + found.made
      if (found.lastEventId === null || left <= REPLAYED_AT_ONCE || lost.aborted)
        return { deliveries, nextCursor: found.lastEventId }
      return replay(lost, deliveries, found.lastEventId, left - REPLAYED_AT_ONCE)
    }
    return limited(tenantId, replay)
  }
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
 * Sends a webhook to an endpoint as the sender would, and returns the result. No event and no delivery are stored.
 * Refuses `webhook_endpoint_not_found`, and `rate_limited` while too many tests of the tenant, or of all tenants, are in flight.
 */
export const testWebhookEndpoint = ({ store, clock, newId, webhooks }: TestDeps) => {
  const limited = limitLong('tests')
  const send = async (endpoint: StoredEndpoint, lost: AbortSignal): Promise<WebhookTest> => {
    const { webhookEndpointId, url } = endpoint
    const now = clock()
    const event = { type: 'webhook_endpoint.test', timestamp: isoTime(now), data: { webhookEndpointId } }
    const opened = openedOf(endpoint, now, webhooks.secrets.open)
    if (opened === null) return { delivered: false, statusCode: null, durationMs: 0, error: UNSIGNED }
    const webhook = { url, ...opened, eventId: newId('event'), body: writeJson(event), hops: 1 }
    const { status, error, ms } = await webhooks.send(webhook, lost, false)
    if (lost.aborted && error !== null) tooMany('tests')
    return { delivered: error === null, statusCode: status, durationMs: ms, error }
  }
  return async (want: EndpointWant): Promise<WebhookTest> => {
    const endpoint = await existingEndpoint(store, want)
    return limited(endpoint.tenantId, (lost) => send(endpoint, lost))
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
