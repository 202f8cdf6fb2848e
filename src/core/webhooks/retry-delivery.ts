import type { WebhookDelivery } from '../../shapes/webhook-delivery.ts'
import type { Result } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import { type DeliveryKey, deliveryNotFound } from './get-delivery.ts'
import { existingEndpoint, requireEnabled } from './get-webhook-endpoint.ts'
import { deliveryOf } from './list-deliveries.ts'

/** Makes a delivery pending again. Refuses `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `delivery_not_found`. */
export const retryDelivery =
  ({ store, clock }: Pick<Needs<'webhooks'>, 'store' | 'clock'>) =>
  async ({ eventId, ...key }: DeliveryKey): Promise<Result<WebhookDelivery>> => {
    const endpoint = await existingEndpoint(store, key)
    requireEnabled(endpoint)
    const { tenantId, webhookEndpointId } = endpoint
    const retried = await store.webhooks.retry({
      tenantId,
      webhookEndpointId,
      eventId,
      now: isoTime(clock()),
    })
    return { value: deliveryOf(retried ?? deliveryNotFound()) }
  }
