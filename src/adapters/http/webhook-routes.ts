import { writeJson } from '../../json/write-json.ts'
import { Event, EventQuery, EventSlice } from '../../shapes/event.ts'
import * as shapes from '../../shapes/webhook.ts'
import { plainRoute, type Route } from './route.ts'

const ENDPOINTS = '/v0/webhook_endpoints'
const ENDPOINT = `${ENDPOINTS}/{webhook_endpoint_id}` as const
const DELIVERIES = `${ENDPOINT}/deliveries` as const
const WRITE = { scope: 'webhooks:write', problems: ['webhook_endpoint_not_found'] } as const

/** The feed, and where events are delivered. */
export const WEBHOOK_ROUTES: readonly Route[] = [
  plainRoute('GET', '/v0/events', 'listEvents', {
    summary: 'Read the feed of events, oldest first',
    scope: 'events:read',
    query: EventQuery,
    answer: EventSlice,
    write: writeJson,
    problems: ['invalid_cursor', 'cursor_expired'],
  }),
  plainRoute('GET', '/v0/events/{event_id}', 'getEvent', {
    summary: 'Read an event',
    scope: 'events:read',
    answer: Event,
    write: writeJson,
    problems: ['event_not_found'],
  }),
  plainRoute('POST', ENDPOINTS, 'createWebhookEndpoint', {
    summary: 'Create a webhook endpoint',
    ...WRITE,
    body: shapes.NewWebhookEndpoint,
    answer: shapes.WebhookEndpointWithSecret,
    status: 201,
    problems: ['limit_reached'],
  }),
  plainRoute('GET', ENDPOINTS, 'listWebhookEndpoints', {
    summary: 'List the webhook endpoints, oldest first',
    ...WRITE,
    answer: shapes.WebhookEndpointList,
    problems: [],
  }),
  plainRoute('GET', ENDPOINT, 'getWebhookEndpoint', {
    summary: 'Read a webhook endpoint',
    ...WRITE,
    answer: shapes.WebhookEndpoint,
  }),
  plainRoute('PATCH', ENDPOINT, 'updateWebhookEndpoint', {
    summary: 'Change, disable or enable a webhook endpoint',
    ...WRITE,
    body: shapes.WebhookEndpointChanges,
    answer: shapes.WebhookEndpoint,
  }),
  plainRoute('DELETE', ENDPOINT, 'deleteWebhookEndpoint', {
    summary: 'Delete a webhook endpoint',
    ...WRITE,
    status: 204,
  }),
  plainRoute('POST', `${ENDPOINT}/rotate_secret`, 'rotateWebhookSecret', {
    summary: 'Replace the secret of a webhook endpoint',
    ...WRITE,
    body: shapes.SecretRotation,
    bodyOptional: true,
    answer: shapes.WebhookEndpointWithSecret,
  }),
  plainRoute('POST', `${ENDPOINT}/test`, 'testWebhookEndpoint', {
    summary: 'Send a webhook to an endpoint now',
    ...WRITE,
    answer: shapes.WebhookTest,
  }),
  plainRoute('GET', DELIVERIES, 'listDeliveries', {
    summary: 'List the deliveries of a webhook endpoint, newest event first',
    ...WRITE,
    query: shapes.DeliveryQuery,
    answer: shapes.DeliverySlice,
    problems: ['invalid_cursor', 'webhook_endpoint_not_found'],
  }),
  plainRoute('POST', `${DELIVERIES}/{event_id}/retry`, 'retryDelivery', {
    summary: 'Deliver an event again',
    ...WRITE,
    answer: shapes.WebhookDelivery,
    status: 202,
    problems: ['webhook_endpoint_not_found', 'delivery_not_found'],
  }),
  plainRoute('POST', `${ENDPOINT}/replay`, 'replayDeliveries', {
    summary: 'Deliver the events since a time again',
    ...WRITE,
    body: shapes.Replay,
    answer: shapes.ReplayResult,
    status: 202,
  }),
]
