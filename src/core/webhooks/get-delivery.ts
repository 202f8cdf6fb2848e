import type { WebhookAttempt, WebhookDeliveryWithAttempts } from '../../shapes/webhook-delivery.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { atOnce } from '../engine/share-loop.ts'
import type { EventData } from '../events/event-data.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointKey, ShownDelivery } from '../ports/webhooks.ts'
import { existingEndpoint } from './get-webhook-endpoint.ts'
import { deliveryOf } from './list-deliveries.ts'
import { bodyWriter } from './webhook-body.ts'

/** Identifies a delivery: one event for one endpoint. */
export type DeliveryKey = EndpointKey & { readonly eventId: string }
type Deps = Pick<Needs<'webhooks' | 'events'>, 'store' | 'shareLoop'> & { readonly webhookDataOf: EventData }

/** Reads a delivery with its last attempts and its body. Refuses `webhook_endpoint_not_found`, `delivery_not_found`. */
export const getDelivery =
  ({ store, webhookDataOf, shareLoop = atOnce }: Deps) =>
  async ({ eventId, ...endpoint }: DeliveryKey): Promise<Result<WebhookDeliveryWithAttempts>> => {
    const found = await existingEndpoint(store, endpoint)
    const delivery = (await findDelivery(store, { ...endpoint, eventId })) ?? deliveryNotFound()
    const event = (await store.events.find({ tenantId: found.tenantId, eventId })) ?? deliveryNotFound()
    const lastAttempts: WebhookAttempt[] = JSON.parse(delivery.lastAttempts)
    const data = await webhookDataOf(event)
    // Parsing a template and filling it in is a piece of work.
    await shareLoop(event.tenantId, true)
    const rawJson = bodyWriter(found)(event, data)
    return {
      value: {
        ...deliveryOf(delivery),
        lastAttempts: lastAttempts.reverse(),
        body: rawJson === null ? null : { rawJson },
      },
    }
  }

/** The first delivery of a list that begins with this event. */
const findDelivery = async (
  { webhooks }: Deps['store'],
  { tenantId, webhookEndpointId, eventId }: DeliveryKey,
): Promise<ShownDelivery | null> => {
  const beforeId = `${eventId}~`
  const { rows } = await webhooks.deliveries({
    tenantId,
    webhookEndpointId,
    status: null,
    beforeId,
    limit: 1,
  })
  return rows.find((delivery) => delivery.eventId === eventId) ?? null
}

export const deliveryNotFound = (): never =>
  refuse('delivery_not_found', 'The endpoint has no delivery of this event.')
