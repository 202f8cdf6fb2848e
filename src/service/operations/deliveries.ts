import {
  DeliveryQuery,
  DeliverySlice,
  Replay,
  ReplayResult,
  WebhookDelivery,
  WebhookDeliveryWithAttempts,
} from '../../shapes/webhook-delivery.ts'
import { get, post } from './operation.ts'

export const deliveryOperations = {
  /** Lists the deliveries of an endpoint, newest event first. */
  listDeliveries: get('/v0/webhook_endpoints/{webhook_endpoint_id}/deliveries', {
    summary: 'List the deliveries of a webhook endpoint, newest event first',
    scope: 'webhooks:write',
    query: DeliveryQuery,
    answer: DeliverySlice,
  }),
  /** Reads a delivery, with its last attempts and its body as of now. */
  getDelivery: get('/v0/webhook_endpoints/{webhook_endpoint_id}/deliveries/{event_id}', {
    summary: 'Read a delivery with its last attempts',
    scope: 'webhooks:write',
    answer: WebhookDeliveryWithAttempts,
  }),
  /** Makes a delivery pending again. */
  retryDelivery: post('/v0/webhook_endpoints/{webhook_endpoint_id}/deliveries/{event_id}/retry', {
    summary: 'Deliver an event again',
    scope: 'webhooks:write',
    answer: WebhookDelivery,
    status: 202,
    problems: ['webhook_endpoint_disabled'],
  }),
  /** Delivers the events since a time again. */
  replayDeliveries: post('/v0/webhook_endpoints/{webhook_endpoint_id}/replay', {
    summary: 'Deliver the events since a time again',
    scope: 'webhooks:write',
    body: Replay,
    answer: ReplayResult,
    status: 202,
    problems: ['webhook_endpoint_disabled'],
  }),
}
