import { createWebhookEndpoint } from '../../core/webhooks/create-webhook-endpoint.ts'
import { deleteWebhookEndpoint } from '../../core/webhooks/delete-webhook-endpoint.ts'
import { getWebhookEndpoint } from '../../core/webhooks/get-webhook-endpoint.ts'
import { listWebhookEndpoints } from '../../core/webhooks/list-webhook-endpoints.ts'
import { rotateWebhookSecret } from '../../core/webhooks/rotate-webhook-secret.ts'
import { testWebhookEndpoint } from '../../core/webhooks/test-webhook-endpoint.ts'
import { updateWebhookEndpoint } from '../../core/webhooks/update-webhook-endpoint.ts'
import { idempotent } from '../../shapes/input.ts'
import {
  CreatedWebhookEndpoint,
  NewWebhookEndpoint,
  SecretRotation,
  WebhookEndpoint,
  WebhookEndpointChanges,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
  WebhookTest,
  WebhookTrial,
} from '../../shapes/webhook.ts'
import * as example from './examples.ts'
import { get, patch, post, remove } from './operation.ts'

export const webhookOperations = {
  /** Creates a webhook endpoint, and returns its secret for the only time. */
  createWebhookEndpoint: post(
    '/v0/webhook_endpoints',
    {
      summary: 'Create a webhook endpoint',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: createWebhookEndpoint,
      body: NewWebhookEndpoint,
      takes: idempotent,
      answer: CreatedWebhookEndpoint,
      status: 201,
      problems: ['limit_reached'],
    },
    {
      description:
        'Events are delivered to its URL from now on, as described under **Webhooks**. Only this answer and that of a rotation show the secret; the values of `headers` are never shown. With `sources` or `logTypes`, `prospect_log.created` is delivered only for such activities; other types of events are not affected. With a `body`, the receiver gets the JSON that its own API expects, filled in when it is sent; one that would be larger than 256 KiB is not sent, and its delivery fails. Put tokens into `headers`: `body` is shown again. A tenant has at most 20 endpoints. A retry under the same idempotency key returns the endpoint as it is now, without its secret: rotate it if the first answer was lost.',
      done: 'The endpoint, with its secret.',
      requests: {
        some: {
          summary: 'For one type, with a note',
          value: { url: example.HOOKS, types: ['prospect_log.created'], description: 'The CRM' },
        },
        filtered: {
          summary: 'For activities from one source, with a header',
          value: {
            url: example.HOOKS,
            types: ['prospect_log.created'],
            sources: ['crm'],
            headers: { authorization: 'Bearer 4711' },
          },
        },
        filled: {
          summary: 'With a body and a method that the receiver expects',
          value: {
            url: example.HOOKS,
            types: ['prospect_log.created'],
            headers: { authorization: 'Bearer 4711' },
            method: 'PUT',
            body: {
              email: '{{/data/prospect/email}}',
              name: '{{/data/prospect/name?}}',
              note: '{{/data/type}} from {{/data/source}}',
            },
          },
        },
        all: { summary: 'For events of all types', value: { url: example.HOOKS } },
      },
      answers: { created: { summary: 'Created', value: { ...example.endpoint, secret: example.SECRET } } },
      fault: {
        detail:
          'must have a public address, unless WEBHOOKS_ALLOWED_HOSTS or WEBHOOKS_ALLOWED_NETWORKS allows it',
        pointer: '/url',
      },
      limitReached: 'A tenant has at most 20 webhook endpoints.',
      firstCreated: { webhookEndpointId: example.endpoint.webhookEndpointId },
    },
  ),
  /** Lists all webhook endpoints of a tenant, oldest first. */
  listWebhookEndpoints: get(
    '/v0/webhook_endpoints',
    {
      summary: 'List the webhook endpoints, oldest first',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: listWebhookEndpoints,
      answer: WebhookEndpointList,
    },
    {
      description: 'Returns all webhook endpoints of the tenant, at most 20.',
      done: 'The endpoints.',
      answers: { one: { summary: 'The only endpoint', value: { items: [example.endpoint] } } },
    },
  ),
  /** Reads a webhook endpoint, without its secret. */
  getWebhookEndpoint: get(
    '/v0/webhook_endpoints/{webhook_endpoint_id}',
    {
      summary: 'Read a webhook endpoint',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: getWebhookEndpoint,
      answer: WebhookEndpoint,
    },
    {
      description: 'Returns a webhook endpoint, without its secret.',
      done: 'The endpoint.',
      answers: { enabled: { summary: 'An enabled endpoint', value: example.endpoint } },
    },
  ),
  /** Changes the given fields; `status` disables it, or enables it again. */
  updateWebhookEndpoint: patch(
    '/v0/webhook_endpoints/{webhook_endpoint_id}',
    {
      summary: 'Change, disable or enable a webhook endpoint',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: updateWebhookEndpoint,
      body: WebhookEndpointChanges,
      answer: WebhookEndpoint,
    },
    {
      description:
        'Replaces the given fields, `headers` as a whole; the others keep their values. The status `enabled`, or another URL, method or body, clears its failures and ends its pause. Pending deliveries are sent with the new body. While it is disabled, nothing is delivered, and pending deliveries fail: replay them once the endpoint is enabled again.',
      done: 'The endpoint as it is now.',
      requests: {
        described: { summary: 'Another note', value: { description: 'The new CRM' } },
        moved: { summary: 'Another URL', value: { url: `${example.HOOKS}/v2` } },
        enabled: { summary: 'Enable it again', value: { status: 'enabled' } },
      },
      answers: {
        moved: {
          summary: 'With another URL',
          value: { ...example.endpoint, url: `${example.HOOKS}/v2`, updatedAt: example.PUBLISHED_AT },
        },
      },
      fault: { detail: 'must be an https: URL', pointer: '/url' },
    },
  ),
  /** Deletes a webhook endpoint with its deliveries. */
  deleteWebhookEndpoint: remove(
    '/v0/webhook_endpoints/{webhook_endpoint_id}',
    {
      summary: 'Delete a webhook endpoint',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: deleteWebhookEndpoint,
    },
    {
      description: 'Deletes a webhook endpoint with its deliveries. A request in flight is not canceled.',
      done: 'The endpoint is deleted.',
    },
  ),
  /** Returns a new secret, for the only time. The old one signs too for `overlapHours`. */
  rotateWebhookSecret: post(
    '/v0/webhook_endpoints/{webhook_endpoint_id}/rotate_secret',
    {
      summary: 'Replace the secret of a webhook endpoint',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: rotateWebhookSecret,
      body: SecretRotation,
      answer: WebhookEndpointWithSecret,
      bodyOptional: true,
    },
    {
      description:
        'Gives the endpoint a new secret. For `overlapHours` each webhook is also signed with the old secret, so receivers can change to the new one at any time. If the answer is lost, rotate again: up to three old secrets sign until the overlap is over.',
      done: 'The endpoint, with its new secret.',
      requests: {
        day: { summary: 'The old secret signs for a day; the same as no body', value: { overlapHours: 24 } },
        now: { summary: 'An old secret is compromised', value: { overlapHours: 0 } },
      },
      answers: {
        rotated: {
          summary: 'Rotated',
          value: { ...example.endpoint, updatedAt: example.PUBLISHED_AT, secret: example.SECRET },
        },
      },
      fault: { detail: 'must be at most 168', pointer: '/overlapHours' },
    },
  ),
  /** Sends a webhook to an endpoint now, an event or one to try it, and returns the result with what was sent. */
  testWebhookEndpoint: post(
    '/v0/webhook_endpoints/{webhook_endpoint_id}/test',
    {
      summary: 'Send a webhook to an endpoint now',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events', 'prospects', 'prospectLogs'],
      useCase: testWebhookEndpoint,
      body: WebhookTrial,
      answer: WebhookTest,
      problems: ['event_not_found', 'prospect_log_not_found'],
      bodyOptional: true,
    },
    {
      description:
        'Sends an event, or the activity `prospectLogId`, or without either an event of the type `webhook_endpoint.test`, filled in and signed like every other, and returns what happened and what was sent, after 15 seconds at most. An event has its own `webhook-id`: a receiver that skips what it has seen skips it. It works for disabled endpoints too. It is not repeated, and no delivery is kept.',
      done: 'The result of the attempt.',
      requests: {
        event: { summary: 'An event that happened', value: { eventId: example.EVENT_ID } },
        activity: { summary: 'An activity that was logged', value: { prospectLogId: example.LOG_ID } },
        none: { summary: 'An event to try it; the same as no body', value: {} },
      },
      answers: {
        delivered: {
          summary: 'Delivered',
          value: {
            delivered: true,
            statusCode: 204,
            durationMs: 62,
            error: null,
            answer: '',
            method: 'POST',
            body: { text: 'ada@example.com sent form_submitted' },
          },
        },
        refused: {
          summary: 'Answered with an error',
          value: {
            delivered: false,
            statusCode: 401,
            durationMs: 48,
            error: 'The receiver answered 401.',
            answer: '{"message":"Unknown token"}',
            method: 'POST',
            body: { text: ' sent ' },
          },
        },
      },
      fault: { detail: 'must be event_ followed by 26 characters a-z or 0-9', pointer: '/eventId' },
    },
  ),
}
