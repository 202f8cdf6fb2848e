import * as v from 'valibot'
import { bodyOf } from './body.ts'
import { EVENT_TYPES } from './event.ts'
import { SliceQuery, sliceOf } from './slice.ts'
import { rawJson } from './template.ts'
import { described, id, optional, whole } from './text.ts'
import { dateTime, timestamp } from './time.ts'

const STATUSES = ['pending', 'delivered', 'failed'] as const

/** One event for one endpoint. */
export const WebhookDelivery = v.object({
  eventId: described(id('event'), 'The event. It also names the delivery, within the endpoint.'),
  type: described(v.picklist(EVENT_TYPES), 'The type of the event.'),
  status: described(v.picklist(STATUSES), '`failed` once no attempt is left.'),
  attempts: described(whole(0), 'How many attempts were made.'),
  nextAttemptAt: described(v.nullable(timestamp()), 'When the next one is due, in UTC; null unless pending.'),
  lastStatusCode: described(v.nullable(whole(100)), 'The status of the last answer; null if there was none.'),
  lastError: described(v.nullable(v.string()), 'Why the last attempt failed.'),
  deliveredAt: described(v.nullable(timestamp()), 'When it was delivered, in UTC; null until then.'),
  createdAt: described(timestamp(), 'When the delivery was created, in UTC.'),
})
export type WebhookDelivery = v.InferOutput<typeof WebhookDelivery>

/** One attempt to deliver an event. */
export const WebhookAttempt = v.object({
  at: described(timestamp(), 'When it began, in UTC.'),
  ms: described(whole(0), 'How long it took.'),
  status: described(v.nullable(whole(100)), 'The status of the answer; null if there was none.'),
  error: described(v.nullable(v.string()), 'Why it failed; null if it was delivered.'),
  answer: described(v.nullable(v.string()), 'The first 1 KiB of its body; null if that is not kept.'),
})
export type WebhookAttempt = v.InferOutput<typeof WebhookAttempt>

/** Response of `GET /v0/webhook_endpoints/{webhook_endpoint_id}/deliveries/{event_id}`. */
export const WebhookDeliveryWithAttempts = v.object({
  ...WebhookDelivery.entries,
  lastAttempts: described(v.array(WebhookAttempt), 'The last ten, newest first, even those before a retry.'),
  body: described(v.nullable(rawJson()), 'The body as it would be sent now; null if it is too large.'),
})
export type WebhookDeliveryWithAttempts = v.InferOutput<typeof WebhookDeliveryWithAttempts>

/** Query of `GET /v0/webhook_endpoints/{webhook_endpoint_id}/deliveries`. */
export const DeliveryQuery = v.object({
  ...SliceQuery.entries,
  status: optional(v.picklist(STATUSES), 'Only deliveries with this status.'),
})
export type DeliveryQuery = v.InferOutput<typeof DeliveryQuery>

/** Response of `GET /v0/webhook_endpoints/{webhook_endpoint_id}/deliveries`. */
export const DeliverySlice = v.object(sliceOf(WebhookDelivery))

/** Body of `POST /v0/webhook_endpoints/{webhook_endpoint_id}/replay`. */
export const Replay = bodyOf({
  since: v.optional(dateTime('Deliver the events since then again. Required without `cursor`.')),
  cursor: optional(id('event'), 'The `nextCursor` of the answer before, in place of `since`.'),
  onlyUndelivered: v.optional(described(v.boolean(), 'False: also those that were delivered before.'), true),
})
export type Replay = v.InferOutput<typeof Replay>
/** Its answer. */
export const ReplayResult = v.object({
  deliveries: described(whole(0), 'How many deliveries are pending because of it.'),
  nextCursor: described(
    v.nullable(v.string()),
    'Not null if there were too many events for one request: repeat it with this as `cursor`, in place of `since`.',
  ),
})
export type ReplayResult = v.InferOutput<typeof ReplayResult>
