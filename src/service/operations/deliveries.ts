import { getDelivery } from '../../core/webhooks/get-delivery.ts'
import { listDeliveries } from '../../core/webhooks/list-deliveries.ts'
import { replayDeliveries } from '../../core/webhooks/replay-deliveries.ts'
import { retryDelivery } from '../../core/webhooks/retry-delivery.ts'
import {
  DeliveryQuery,
  DeliverySlice,
  Replay,
  ReplayResult,
  WebhookDelivery,
  WebhookDeliveryWithAttempts,
} from '../../shapes/webhook-delivery.ts'
import * as example from './examples.ts'
import { get, ONE_BODY, post } from './operation.ts'

export const deliveryOperations = {
  /** Lists the deliveries of an endpoint, newest event first. */
  listDeliveries: get(
    '/v0/webhook_endpoints/{webhook_endpoint_id}/deliveries',
    {
      summary: 'List the deliveries of a webhook endpoint, newest event first',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: listDeliveries,
      query: DeliveryQuery,
      answer: DeliverySlice,
    },
    {
      description:
        'Returns the deliveries of an endpoint, one slice at a time. A slice looks at no more than 10,000 deliveries: with a rare `status` it may be short or empty while `hasMore` is true.',
      done: 'A slice of deliveries.',
      answers: { whole: { summary: 'The only slice', value: { items: [example.delivery], hasMore: false } } },
    },
  ),
  /** Reads a delivery, with its last attempts and its body as of now. */
  getDelivery: get(
    '/v0/webhook_endpoints/{webhook_endpoint_id}/deliveries/{event_id}',
    {
      summary: 'Read a delivery with its last attempts',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events', 'prospects', 'prospectLogs'],
      useCase: getDelivery,
      answer: WebhookDeliveryWithAttempts,
      answerBytesMax: ONE_BODY,
      isReadOneByOne: true,
      problems: ['delivery_not_found'],
    },
    {
      description:
        'Returns a delivery with its last ten attempts, newest first, even those before it was delivered again, and the body as it would be sent now, in the template of the endpoint if it has one. `answer` is null if there was none, if the address is not public or is allowed by a setting, and if the server keeps no answers (`WEBHOOK_ANSWERS=off`).',
      done: 'The delivery.',
      answers: {
        pending: {
          summary: 'Two attempts have failed',
          value: {
            ...example.delivery,
            lastAttempts: [
              { at: '2026-11-21T07:48:12.000Z', ms: 48, ...example.UNAVAILABLE },
              { at: '2026-11-21T07:47:52.000Z', ms: 15_000, ...example.TOO_LATE },
            ],
            body: { text: 'ada@example.com sent form_submitted' },
          },
        },
      },
    },
  ),
  /** Makes a delivery pending again. */
  retryDelivery: post(
    '/v0/webhook_endpoints/{webhook_endpoint_id}/deliveries/{event_id}/retry',
    {
      summary: 'Deliver an event again',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: retryDelivery,
      answer: WebhookDelivery,
      status: 202,
      problems: ['delivery_not_found', 'webhook_endpoint_disabled'],
    },
    {
      description:
        'Delivers an event again immediately, with the same `webhook-id` and a full set of attempts, whether it was delivered before or not. The endpoint must be enabled.',
      done: 'The delivery is pending.',
      answers: {
        pending: {
          summary: 'Pending',
          value: { ...example.delivery, attempts: 0, nextAttemptAt: '2026-11-21T08:00:00.000Z' },
        },
      },
    },
  ),
  /** Delivers the events since a time again. */
  replayDeliveries: post(
    '/v0/webhook_endpoints/{webhook_endpoint_id}/replay',
    {
      summary: 'Deliver the events since a time again',
      scope: 'webhooks:write',
      needs: ['webhooks', 'events'],
      useCase: replayDeliveries,
      body: Replay,
      answer: ReplayResult,
      status: 202,
      problems: ['webhook_endpoint_disabled'],
    },
    {
      description:
        'Delivers the events since a time again, with the same `webhook-id` each: those that were not delivered, even if they happened before the endpoint existed, or all. One request looks at no more than 10,000 events; if `nextCursor` is not null, continue from it. The endpoint must be enabled.',
      done: 'The deliveries are pending.',
      requests: {
        undelivered: { summary: 'Everything undelivered', value: { since: '2026-11-20T00:00:00Z' } },
        all: {
          summary: 'Everything',
          value: { since: '2026-11-20T00:00:00Z', onlyUndelivered: false },
        },
      },
      answers: {
        done: { summary: 'All of them', value: { deliveries: 17, nextCursor: null } },
        some: {
          summary: 'More than one request can take',
          value: { deliveries: 9_998, nextCursor: example.EVENT_ID },
        },
      },
      fault: {
        detail: 'send exactly one of `since` and `cursor`',
        pointer: '/since',
      },
    },
  ),
}
