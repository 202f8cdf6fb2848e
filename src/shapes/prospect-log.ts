import * as v from 'valibot'
import { attributes } from './attributes.ts'
import { lenientOf } from './body.ts'
import { anyObject, rawObject } from './json.ts'
import { SliceQuery, sliceOf } from './slice.ts'
import { boundedText, described, documented, id, optional, text } from './text.ts'
import { dateTime, timestamp } from './time.ts'

export const idempotencyKey = () => boundedText(1, 255)

/** Body of `POST /v0/prospect_logs`. */
export const NewProspectLog = lenientOf({
  source: described(boundedText(1, 100), 'The system that sends the activity.'),
  type: v.optional(described(boundedText(1, 100), 'The kind of activity.'), 'webhook'),
  payload: anyObject('Any JSON object, nested at most 512 levels deep. Stored byte for byte as sent.'),
  prospectId: optional(id('prospect'), 'The id of an existing prospect.'),
  email: optional(
    text(),
    'Finds or creates the prospect, however the address is written. Any string is accepted, so that no activity is lost because of a malformed address: what is no address, such as `n/a` or `{{email}}`, stays on the activity and identifies no one.',
  ),
  externalId: optional(
    boundedText(1, 255),
    'The id that another system has for the prospect. Finds or creates it, before the email does. Compared exactly. Placeholders such as `null` or `[object Object]` identify no one.',
  ),
  occurredAt: v.optional(
    dateTime(
      'When it happened: an RFC 3339 date-time with an offset, such as 2026-11-22T09:00:00+01:00, from 1970 to 24 hours ahead. Kept in UTC, to the millisecond. By default when the activity is stored.',
    ),
  ),
  idempotencyKey: optional(
    idempotencyKey(),
    'Identifies this request within its source, so that it can be retried safely.',
  ),
  name: optional(boundedText(1, 255), 'Sets the name of the prospect if it has none.'),
  attributes: v.optional(
    attributes(
      'Further fields of the prospect: up to 50 texts of at most 1,000 characters, numbers and booleans. Each is set if the prospect has none of this name; null and blank texts are not stored. The activity does not keep them.',
    ),
  ),
})
export type NewProspectLog = v.InferOutput<typeof NewProspectLog>

/** Response of `POST /v0/prospect_logs`. */
export const ProspectLogReceipt = v.object({
  prospectId: described(id('prospect'), 'The prospect that the activity belongs to.'),
  prospectLogId: described(id('prospectlog'), 'The id of the stored entry.'),
  createdAt: described(timestamp(), 'When the entry was stored, in UTC.'),
  createdProspect: described(v.boolean(), 'Whether this request created the prospect.'),
  source: described(boundedText(1, 100), 'The stored source.'),
  type: described(boundedText(1, 100), 'The stored type. `webhook` if none was sent.'),
  ignored: v.optional(
    described(
      v.array(v.string()),
      'What is not stored of the request: unknown members, and attributes such as `attributes/company` if the prospect would have more than 50. At most 20 names. Absent if there were none.',
    ),
  ),
})
export type ProspectLogReceipt = v.InferOutput<typeof ProspectLogReceipt>

/** A logged activity as callers see it. Every field is always present. */
export const ProspectLog = v.object({
  prospectLogId: described(id('prospectlog'), 'The id of the entry.'),
  prospectId: described(id('prospect'), 'The prospect that the activity belongs to.'),
  tenantId: described(id('tenant'), 'The tenant that the API key belongs to.'),
  source: described(v.string(), 'The system that sent the activity.'),
  type: described(v.string(), 'The kind of activity.'),
  payload: described(rawObject(), 'The payload, byte for byte as it was sent.'),
  email: described(v.nullable(v.string()), 'The email as it was sent, or null.'),
  name: described(v.nullable(v.string()), 'The name as it was sent, or null.'),
  externalId: described(v.nullable(v.string()), 'The external id as it was sent, or null.'),
  idempotencyKey: described(v.nullable(v.string()), 'The idempotency key of the request, or null.'),
  occurredAt: described(timestamp(), 'When it happened, in UTC.'),
  createdAt: described(timestamp(), 'When the entry was stored, in UTC.'),
  createdProspect: described(v.boolean(), 'Whether the activity created the prospect.'),
})
export type ProspectLog = v.InferOutput<typeof ProspectLog>

/** Query of `GET /v0/prospects/{prospect_id}/prospect_logs`. */
export const TimelineQuery = v.object({
  ...SliceQuery.entries,
  source: optional(boundedText(1, 100), 'Return only activities from this source.'),
  type: optional(boundedText(1, 100), 'Return only activities of this type.'),
  since: v.optional(
    dateTime('Return only activities from this time on: an RFC 3339 date-time with an offset.'),
  ),
  until: v.optional(
    dateTime('Return only activities before this time: an RFC 3339 date-time with an offset.'),
  ),
})
export type TimelineQuery = v.InferOutput<typeof TimelineQuery>

/** Query of `GET /v0/prospect_logs`. */
export const ProspectLogQuery = v.object({
  ...TimelineQuery.entries,
  idempotencyKey: optional(
    idempotencyKey(),
    'With `source`: return the activities that were logged under this key. By the API it is at most one; keys of hooks may belong to a type and a person.',
  ),
})
export type ProspectLogQuery = v.InferOutput<typeof ProspectLogQuery>

/** Answer of both lists of activities. */
export const ProspectLogSlice = v.object(sliceOf(ProspectLog))
export type ProspectLogSlice = v.InferOutput<typeof ProspectLogSlice>
export const ITEMS_MAX = 1_000

/** The items of a batch as JSON texts, documented as this schema. `does`: what happens to them. */
export const itemTexts = (schema: string, does: string) =>
  v.pipe(
    documented(v.array(v.string()), {
      type: 'array',
      items: { $ref: `#/components/schemas/${schema}` },
      minItems: 1,
      maxItems: ITEMS_MAX,
    }),
    v.check(({ length }) => length >= 1 && length <= ITEMS_MAX, 'must have 1 to 1,000 items'),
    v.description(`${does}. Each is checked separately and has its own result.`),
  )

/** Body of `POST /v0/prospect_logs/batch`. Each item is checked separately, by `NewProspectLog`. */
export const ProspectLogBatch = lenientOf({ items: itemTexts('NewProspectLog', 'Stored in this order') })

/** The result of an item that was stored, now or before. */
export const AcceptedItem = v.object({
  status: described(v.literal(201), 'As for a single request.'),
  prospectLog: ProspectLogReceipt,
  replayed: described(v.boolean(), 'Whether the item was stored before under its idempotency key.'),
})
/** The result of an item that was not stored; after a 503 that is not known. */
export const RefusedItem = v.object({
  // Named, so that generated types distinguish it from an accepted item.
  status: documented(v.number(), {
    type: 'integer',
    enum: [400, 404, 410, 413, 422, 500, 503],
    description: 'As for a single request.',
  }),
  problem: documented(v.object({ rawJson: v.string() }), { $ref: '#/components/schemas/Problem' }),
})
/** Response of `POST /v0/prospect_logs/batch`. */
export const ProspectLogBatchResult = v.object({
  items: described(
    v.array(v.union([AcceptedItem, RefusedItem])),
    'The result of each item, in the order of the request.',
  ),
  accepted: described(v.number(), 'How many items are stored.'),
  refused: described(v.number(), 'How many items were refused.'),
  ignored: v.optional(
    described(
      v.array(v.string()),
      'The unknown members beside `items`: at most 20 names. Absent if there were none.',
    ),
  ),
})
export type ProspectLogBatchResult = v.InferOutput<typeof ProspectLogBatchResult>
