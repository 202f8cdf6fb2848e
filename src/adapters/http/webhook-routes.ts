import { writeJson } from '../../json/write-json.ts'
import type { Rows } from './route.ts'

const ENDPOINTS = '/v0/webhook_endpoints'
const ENDPOINT = `${ENDPOINTS}/{webhook_endpoint_id}` as const
const DELIVERIES = `${ENDPOINT}/deliveries` as const

/** Routes of the event feed and of webhook endpoints. */
export const WEBHOOK_ROWS = {
  listEvents: {
    method: 'GET',
    path: '/v0/events',
    summary: 'Read the feed of events, oldest first',
    problems: ['cursor_expired'],
    write: writeJson,
  },
  getEvent: { method: 'GET', path: '/v0/events/{event_id}', summary: 'Read an event', write: writeJson },
  createWebhookEndpoint: {
    method: 'POST',
    path: ENDPOINTS,
    summary: 'Create a webhook endpoint',
    status: 201,
    problems: ['limit_reached'],
  },
  listWebhookEndpoints: {
    method: 'GET',
    path: ENDPOINTS,
    summary: 'List the webhook endpoints, oldest first',
  },
  getWebhookEndpoint: { method: 'GET', path: ENDPOINT, summary: 'Read a webhook endpoint' },
  updateWebhookEndpoint: {
    method: 'PATCH',
    path: ENDPOINT,
    summary: 'Change, disable or enable a webhook endpoint',
  },
  deleteWebhookEndpoint: { method: 'DELETE', path: ENDPOINT, summary: 'Delete a webhook endpoint' },
  rotateWebhookSecret: {
    method: 'POST',
    path: `${ENDPOINT}/rotate_secret`,
    summary: 'Replace the secret of a webhook endpoint',
    bodyOptional: true,
  },
  testWebhookEndpoint: {
    method: 'POST',
    path: `${ENDPOINT}/test`,
    summary: 'Send a webhook to an endpoint now',
    bodyOptional: true,
    problems: ['event_not_found'],
  },
  listDeliveries: {
    method: 'GET',
    path: DELIVERIES,
    summary: 'List the deliveries of a webhook endpoint, newest event first',
  },
  getDelivery: {
    method: 'GET',
    path: `${DELIVERIES}/{event_id}`,
    summary: 'Read a delivery with its last attempts',
  },
  retryDelivery: {
    method: 'POST',
    path: `${DELIVERIES}/{event_id}/retry`,
    summary: 'Deliver an event again',
    status: 202,
    problems: ['webhook_endpoint_disabled'],
  },
  replayDeliveries: {
    method: 'POST',
    path: `${ENDPOINT}/replay`,
    summary: 'Deliver the events since a time again',
    status: 202,
    problems: ['webhook_endpoint_disabled'],
  },
} satisfies Partial<Rows>
