import * as v from 'valibot'
import { bodyOf } from './body.ts'
import { EVENT_TYPES } from './event.ts'
import { withoutReservedNames } from './record.ts'
import { anyTemplate, rawJson } from './template.ts'
import { boundedText, described, id, optional, whole } from './text.ts'
import { overlapHours, timestamp } from './time.ts'

const URL_CHARACTERS_MAX = 2_048

const texts = v.nullable(
  v.pipe(
    v.array(boundedText(1, 100)),
    v.minLength(1, 'must name at least one'),
    v.maxLength(50, 'must name at most 50'),
  ),
)
/** Headers that HTTP, the body or the service sets. */
const RESERVED =
  /^(connection|content-.*|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|webhook-.*)$/i
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/
const HEADER_VALUE = /^[!-~]([ -~]{0,998}[!-~])?$/
const HEADERS_MAX = 10
const headerName = v.pipe(
  v.string(),
  v.regex(HEADER_NAME, 'must be the name of a header, of at most 100 characters'),
  v.check((name) => !RESERVED.test(name), 'must not be a header that HTTP or the service sets'),
)
const headerValue = v.pipe(v.string(), v.regex(HEADER_VALUE, 'must be 1 to 1,000 visible ASCII characters'))
/** Upper and lower case are the same header: only the last one would be sent. */
const areDistinct = (headers: Readonly<Record<string, string>>) => {
  const names = Object.keys(headers)
  return new Set(names.map((name) => name.toLowerCase())).size === names.length
}
const headers = described(
  v.nullable(
    v.pipe(
      withoutReservedNames(v.record(headerName, headerValue), {
        type: 'object',
        propertyNames: { type: 'string', pattern: HEADER_NAME.source },
        additionalProperties: { type: 'string', pattern: HEADER_VALUE.source },
        maxProperties: HEADERS_MAX,
      }),
      v.maxEntries(HEADERS_MAX, `must be at most ${HEADERS_MAX} headers`),
      v.check(areDistinct, 'must not name a header twice'),
    ),
  ),
  'Headers to send with every webhook, none that HTTP or the service sets itself. Null or `{}`: none.',
)

const BODY =
  'A template of the body, of at most 16 KiB: JSON in which a string that is wholly `{{/pointer}}` becomes the value there, and one that contains it gets its text. The pointer leads into `{ eventId, type, timestamp, tenantId, data }`, with `data` as in `Event`, and `data.prospect` in `prospect_log.created`. `{{/pointer?}}` leaves the member out if nothing is there. Null: the body of Standard Webhooks, `{ type, timestamp, data }`.'
const body = described(v.nullable(anyTemplate()), BODY)
const shownBody = described(v.nullable(rawJson()), 'The template of the body, as it was set; null: none.')

const CHOSEN = {
  url: described(
    boundedText(1, URL_CHARACTERS_MAX),
    'Where to deliver: an `https:` URL without a user name or password, with a public address. It is not a template: `{{` is refused.',
  ),
  types: described(
    v.nullable(v.pipe(v.array(v.picklist(EVENT_TYPES)), v.minLength(1, 'must name at least one type'))),
    'The types of events to deliver; null: all.',
  ),
  sources: described(texts, 'Of `prospect_log.created`, only activities from these sources; null: all.'),
  logTypes: described(texts, 'Of `prospect_log.created`, only activities of these types; null: all.'),
  method: described(v.picklist(['POST', 'PUT', 'PATCH']), 'The method of the requests.'),
  description: described(v.nullable(boundedText(0, 255)), 'A note for people.'),
}
const status = described(v.picklist(['enabled', 'disabled']), 'A disabled endpoint gets nothing.')

/** Body of `POST /v0/webhook_endpoints`. */
export const NewWebhookEndpoint = bodyOf({
  url: CHOSEN.url,
  types: v.optional(CHOSEN.types, null),
  sources: v.optional(CHOSEN.sources, null),
  logTypes: v.optional(CHOSEN.logTypes, null),
  headers: v.optional(headers, null),
  method: v.optional(CHOSEN.method, 'POST'),
  body: v.optional(body, null),
  description: v.optional(CHOSEN.description, null),
})
export type NewWebhookEndpoint = v.InferOutput<typeof NewWebhookEndpoint>

/** Body of `PATCH /v0/webhook_endpoints/{webhook_endpoint_id}`. */
export const WebhookEndpointChanges = bodyOf(
  v.partial(v.object({ ...CHOSEN, headers, body, status })).entries,
)
export type WebhookEndpointChanges = v.InferOutput<typeof WebhookEndpointChanges>

/** Why the last attempt for an endpoint failed. */
export const WebhookError = v.object({
  at: described(timestamp(), 'When the attempt ended, in UTC.'),
  reason: described(v.string(), 'Why it failed.'),
  status: described(v.nullable(whole(100)), 'The status of the answer; null if there was none.'),
})

/** A webhook endpoint as callers see it. */
export const WebhookEndpoint = v.object({
  webhookEndpointId: described(id('webhookendpoint'), 'The id of the endpoint.'),
  ...CHOSEN,
  headers: described(v.nullable(v.record(v.string(), v.string())), 'Its headers, each with the value `•••`.'),
  body: shownBody,
  status,
  disabledReason: described(v.nullable(v.string()), 'Why the service disabled it; null unless it did.'),
  failures: described(whole(0), 'Failed attempts since the last successful one.'),
  failingSince: described(v.nullable(timestamp()), 'When the first of them was, in UTC.'),
  lastError: described(
    v.nullable(WebhookError),
    'The last thing that went wrong; null once an attempt succeeds.',
  ),
  createdAt: described(timestamp(), 'When the endpoint was created, in UTC.'),
  updatedAt: described(timestamp(), 'When it was last changed, in UTC.'),
})
export type WebhookEndpoint = v.InferOutput<typeof WebhookEndpoint>

const SECRET = 'Verifies signatures: `whsec_` and base64. Shown only in this answer'
/** Response of `POST /v0/webhook_endpoints`. */
export const CreatedWebhookEndpoint = v.object({
  ...WebhookEndpoint.entries,
  secret: optional(v.string(), `${SECRET}, and absent if a retry gets it under its idempotency key.`),
})
export type CreatedWebhookEndpoint = v.InferOutput<typeof CreatedWebhookEndpoint>

/** Response of `POST /v0/webhook_endpoints/{webhook_endpoint_id}/rotate_secret`. */
export const WebhookEndpointWithSecret = v.object({
  ...WebhookEndpoint.entries,
  secret: described(v.string(), `${SECRET}.`),
})
export type WebhookEndpointWithSecret = v.InferOutput<typeof WebhookEndpointWithSecret>

/** Response of `GET /v0/webhook_endpoints`: all of them. */
export const WebhookEndpointList = v.object({
  items: described(v.array(WebhookEndpoint), 'Oldest first.'),
})

/** Body of `POST /v0/webhook_endpoints/{webhook_endpoint_id}/rotate_secret`. */
export const SecretRotation = bodyOf({
  overlapHours: overlapHours(
    'For how many hours the old secret signs too, with those before it that still do; 0 ends them all.',
  ),
})
export type SecretRotation = v.InferOutput<typeof SecretRotation>

/** Body of `POST /v0/webhook_endpoints/{webhook_endpoint_id}/test`. */
export const WebhookTrial = bodyOf({
  eventId: optional(
    id('event'),
    'The event to send, under its own id. Without it and `prospectLogId`: one of the type `webhook_endpoint.test`.',
  ),
  prospectLogId: optional(
    id('prospectlog'),
    'Instead of `eventId`: the activity to send, as a webhook of its `prospect_log.created`. It may have arrived before there was an endpoint, when no events were recorded.',
  ),
})
export type WebhookTrial = v.InferOutput<typeof WebhookTrial>

/** Response of `POST /v0/webhook_endpoints/{webhook_endpoint_id}/test`. */
export const WebhookTest = v.object({
  delivered: described(v.boolean(), 'Whether the endpoint answered with a status from 200 to 299.'),
  statusCode: described(
    v.nullable(whole(100)),
    'The status that it answered with; null if it did not answer.',
  ),
  durationMs: described(whole(0), 'How long that took.'),
  error: described(v.nullable(v.string()), 'Why it failed; null if it was delivered.'),
  answer: described(v.nullable(v.string()), 'The first 1 KiB of its body; null if that is not kept.'),
  method: CHOSEN.method,
  body: described(v.nullable(rawJson()), 'The body that was sent; null if none was.'),
})
export type WebhookTest = v.InferOutput<typeof WebhookTest>
