import { writeJson } from '../../json/write-json.ts'
import { Event, EventQuery, EventSlice } from '../../shapes/event.ts'
import * as shapes from '../../shapes/webhook.ts'
import { plainRoute, type Route } from './route.ts'

const ENDPOINTS = '/v0/webhook_endpoints'
const ENDPOINT = `${ENDPOINTS}/{webhook_endpoint_id}` as const
const DELIVERIES = `${ENDPOINT}/deliveries` as const

/** The feed, and where events are delivered. */
export const WEBHOOK_ROUTES: readonly Route[] = [
  plainRoute('GET', '/v0/events', 'listEvents', 'events:read', {
    summary: 'Read the feed of events, oldest first',
    query: EventQuery,
    answer: EventSlice,
    write: writeJson,
    problems: ['cursor_expired'],
  }),
  plainRoute('GET', '/v0/events/{event_id}', 'getEvent', 'events:read', {
    summary: 'Read an event',
    answer: Event,
    write: writeJson,
  }),
  plainRoute('POST', ENDPOINTS, 'createWebhookEndpoint', 'webhooks:write', {
    summary: 'Create a webhook endpoint',
    body: shapes.NewWebhookEndpoint,
    answer: shapes.WebhookEndpointWithSecret,
    status: 201,
    problems: ['limit_reached'],
  }),
  plainRoute('GET', ENDPOINTS, 'listWebhookEndpoints', 'webhooks:write', {
    summary: 'List the webhook endpoints, oldest first',
    answer: shapes.WebhookEndpointList,
  }),
  plainRoute('GET', ENDPOINT, 'getWebhookEndpoint', 'webhooks:write', {
    summary: 'Read a webhook endpoint',
    answer: shapes.WebhookEndpoint,
  }),
  plainRoute('PATCH', ENDPOINT, 'updateWebhookEndpoint', 'webhooks:write', {
    summary: 'Change, disable or enable a webhook endpoint',
    body: shapes.WebhookEndpointChanges,
    answer: shapes.WebhookEndpoint,
  }),
  plainRoute('DELETE', ENDPOINT, 'deleteWebhookEndpoint', 'webhooks:write', {
    summary: 'Delete a webhook endpoint',
  }),
  plainRoute('POST', `${ENDPOINT}/rotate_secret`, 'rotateWebhookSecret', 'webhooks:write', {
    summary: 'Replace the secret of a webhook endpoint',
    body: shapes.SecretRotation,
    bodyOptional: true,
    answer: shapes.WebhookEndpointWithSecret,
  }),
  plainRoute('POST', `${ENDPOINT}/test`, 'testWebhookEndpoint', 'webhooks:write', {
    summary: 'Send a webhook to an endpoint now',
    answer: shapes.WebhookTest,
  }),
  plainRoute('GET', DELIVERIES, 'listDeliveries', 'webhooks:write', {
    summary: 'List the deliveries of a webhook endpoint, newest event first',
    query: shapes.DeliveryQuery,
    answer: shapes.DeliverySlice,
  }),
  plainRoute('POST', `${DELIVERIES}/{event_id}/retry`, 'retryDelivery', 'webhooks:write', {
    summary: 'Deliver an event again',
    answer: shapes.WebhookDelivery,
    status: 202,
    problems: ['webhook_endpoint_disabled'],
  }),
  plainRoute('POST', `${ENDPOINT}/replay`, 'replayDeliveries', 'webhooks:write', {
    summary: 'Deliver the events since a time again',
    body: shapes.Replay,
    answer: shapes.ReplayResult,
    status: 202,
    problems: ['webhook_endpoint_disabled'],
  }),
]
