import type { DeliveryQuery, WebhookDelivery } from '../../shapes/webhook-delivery.ts'
import { sliceOf } from '../engine/slices.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointKey, ShownDelivery } from '../ports/webhooks.ts'
import { existingEndpoint } from './get-webhook-endpoint.ts'

/**
 * Lists the deliveries of an endpoint, newest event first.
 * Refuses `webhook_endpoint_not_found`, `invalid_cursor`.
 */
export const listDeliveries = ({ store }: Pick<Needs<'webhooks'>, 'store'>) =>
  sliceOf({
    nameOf: ({ webhookEndpointId, status }: DeliveryQuery & EndpointKey) =>
      `deliveries/${webhookEndpointId}?${status ?? ''}`,
    find: async ({ tenantId, webhookEndpointId, status = null, limit, beforeId }) => {
      await existingEndpoint(store, { tenantId, webhookEndpointId })
      return store.webhooks.deliveries({ tenantId, webhookEndpointId, status, limit, beforeId })
    },
    positionOf: ({ eventId }) => eventId,
    itemOf: deliveryOf,
  })

export const deliveryOf = (delivery: ShownDelivery): WebhookDelivery => ({
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
