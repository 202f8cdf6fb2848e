import { writeJson } from '../json/write-json.ts'
import type { DeliveryQuery, Replay, ReplayResult, WebhookDelivery, WebhookTest } from '../shapes/webhook.ts'
import { refuse } from './failures.ts'
import { asOutcome } from './outcome.ts'
import type { Needs } from './ports/store.ts'
import type { EndpointWant, ShownDelivery } from './ports/webhooks.ts'
import { secretsOf } from './send-webhooks.ts'
import { ROWS_LOOKED_AT_MAX, slicesOf } from './slices.ts'
import { idsSince, isoTime, timeOfId } from './times.ts'
import { existingEndpoint, type WebhookTools } from './webhook-endpoints.ts'

/** Tests of one tenant in flight: each may take as long as its receiver does. */
const TESTS_MAX = 4

type Deps = Needs<'webhooks'>
type TestDeps = Deps & { readonly webhooks: Pick<WebhookTools, 'secrets' | 'send'> }

/**
 * Lists the deliveries of endpoints, newest event first, many lists at once.
 * Refuses, per list: `webhook_endpoint_not_found`, `invalid_cursor`.
 */
export const listDeliveries = ({ store }: Pick<Deps, 'store'>) =>
  slicesOf({
    nameOf: ({ webhookEndpointId, status }: DeliveryQuery & EndpointWant) =>
      `deliveries/${webhookEndpointId}?${status ?? ''}`,
    find: (wants) =>
      Promise.all(
        wants.map(({ tenantId, webhookEndpointId, status = null, limit, beforeId }) =>
          existingEndpoint(store, { tenantId, webhookEndpointId }).then(
            () => store.webhooks.deliveries({ tenantId, webhookEndpointId, status, limit, beforeId }),
            asOutcome,
          ),
        ),
      ),
    positionOf: ({ eventId }) => eventId,
    itemOf: deliveryOf,
  })

/** Makes a delivery pending again. Refuses `webhook_endpoint_not_found`, `delivery_not_found`. */
export const retryDelivery =
  ({ store, clock }: Deps) =>
  async ({ eventId, ...endpoint }: EndpointWant & { readonly eventId: string }): Promise<WebhookDelivery> => {
    const { tenantId, webhookEndpointId } = await existingEndpoint(store, endpoint)
    const want = { tenantId, webhookEndpointId, eventId, now: isoTime(clock()) }
    const retried = await store.webhooks.retry(want)
    return deliveryOf(retried ?? refuse('delivery_not_found', 'The endpoint has no delivery of this event.'))
  }

/**
 * Delivers the events since a time again, as many as one request may look at.
 * Refuses `webhook_endpoint_not_found`.
 */
export const replayDeliveries =
  ({ store, clock }: Deps) =>
  async ({ since, onlyUndelivered, ...endpoint }: EndpointWant & Replay): Promise<ReplayResult> => {
    const { tenantId, webhookEndpointId } = await existingEndpoint(store, endpoint)
    const { made, lastEventId } = await store.webhooks.replay({
      tenantId,
      webhookEndpointId,
      afterEventId: idsSince('event', since),
      delivered: !onlyUndelivered,
      now: isoTime(clock()),
      max: ROWS_LOOKED_AT_MAX,
    })
    return { deliveries: made, nextSince: lastEventId && timeOfId(lastEventId) }
  }

/**
 * Sends an endpoint a webhook as the sender would, and answers what came of it. It is no event: nothing is kept.
 * Refuses `webhook_endpoint_not_found`, and `rate_limited` while as many tests of the tenant are in flight as may be.
 */
export const testWebhookEndpoint = ({ store, clock, newId, webhooks }: TestDeps) => {
  const inFlight: string[] = []
  return async (want: EndpointWant): Promise<WebhookTest> => {
    const endpoint = await existingEndpoint(store, want)
    const { tenantId, webhookEndpointId, url } = endpoint
    if (inFlight.filter((other) => other === tenantId).length >= TESTS_MAX)
      refuse('rate_limited', `This tenant has ${TESTS_MAX} tests in flight.`, { retryAfterS: 5 })
    inFlight.push(tenantId)
    const now = clock()
    const event = { type: 'webhook_endpoint.test', timestamp: isoTime(now), data: { webhookEndpointId } }
    const began = performance.now()
    try {
      const secrets = secretsOf(endpoint, now).map(webhooks.secrets.open)
      const webhook = { url, secrets, eventId: newId('event'), body: writeJson(event) }
      const { status, error } = await webhooks.send(webhook, AbortSignal.any([]))
      const durationMs = Math.round(performance.now() - began)
      return { delivered: error === null, statusCode: status, durationMs, error }
    } finally {
      inFlight.splice(inFlight.indexOf(tenantId), 1)
    }
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
