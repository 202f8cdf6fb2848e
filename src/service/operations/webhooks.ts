import {
  NewWebhookEndpoint,
  SecretRotation,
  WebhookEndpoint,
  WebhookEndpointChanges,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
  WebhookTest,
  WebhookTrial,
} from '../../shapes/webhook.ts'
import { get, patch, post, remove } from './operation.ts'

export const webhookOperations = {
  /** Creates a webhook endpoint, and returns its secret for the only time. */
  createWebhookEndpoint: post('/v0/webhook_endpoints', {
    summary: 'Create a webhook endpoint',
    scope: 'webhooks:write',
    body: NewWebhookEndpoint,
    answer: WebhookEndpointWithSecret,
    status: 201,
    problems: ['limit_reached'],
  }),
  /** Lists all webhook endpoints of a tenant, oldest first. */
  listWebhookEndpoints: get('/v0/webhook_endpoints', {
    summary: 'List the webhook endpoints, oldest first',
    scope: 'webhooks:write',
    answer: WebhookEndpointList,
  }),
  /** Reads a webhook endpoint, without its secret. */
  getWebhookEndpoint: get('/v0/webhook_endpoints/{webhook_endpoint_id}', {
    summary: 'Read a webhook endpoint',
    scope: 'webhooks:write',
    answer: WebhookEndpoint,
  }),
  /** Changes the given fields; `status` disables it, or enables it again. */
  updateWebhookEndpoint: patch('/v0/webhook_endpoints/{webhook_endpoint_id}', {
    summary: 'Change, disable or enable a webhook endpoint',
    scope: 'webhooks:write',
    body: WebhookEndpointChanges,
    answer: WebhookEndpoint,
  }),
  /** Deletes a webhook endpoint with its deliveries. */
  deleteWebhookEndpoint: remove('/v0/webhook_endpoints/{webhook_endpoint_id}', {
    summary: 'Delete a webhook endpoint',
    scope: 'webhooks:write',
  }),
  /** Returns a new secret, for the only time. The old one signs too for `overlapHours`. */
  rotateWebhookSecret: post('/v0/webhook_endpoints/{webhook_endpoint_id}/rotate_secret', {
    summary: 'Replace the secret of a webhook endpoint',
    scope: 'webhooks:write',
    body: SecretRotation,
    answer: WebhookEndpointWithSecret,
    bodyOptional: true,
  }),
  /** Sends a webhook to an endpoint now, an event or one to try it, and returns the result with what was sent. */
  testWebhookEndpoint: post('/v0/webhook_endpoints/{webhook_endpoint_id}/test', {
    summary: 'Send a webhook to an endpoint now',
    scope: 'webhooks:write',
    body: WebhookTrial,
    answer: WebhookTest,
    problems: ['event_not_found'],
    bodyOptional: true,
  }),
}
