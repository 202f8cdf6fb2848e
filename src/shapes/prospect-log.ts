import * as v from 'valibot'
import { anyObject, rawObject } from './json.ts'
import { SliceQuery, sliceOf } from './slice.ts'
import { boundedText, dateTime, described, id, text, timestamp } from './text.ts'

export const idempotencyKey = () => boundedText(1, 255)

/** Body of `POST /v0/prospect_logs`. */
export const NewProspectLog = v.object({
  source: described(boundedText(1, 100), 'The system that sends the activity.'),
  type: v.optional(described(boundedText(1, 100), 'The kind of activity.'), 'webhook'),
  payload: anyObject('Any JSON object, nested at most 512 levels deep. Stored byte for byte as sent.'),
  prospectId: v.optional(described(id('prospect'), 'The id of an existing prospect.')),
  email: v.optional(
    described(
      text(),
      'Finds or creates the prospect. Compared after trimming and lowercasing. Any string is accepted, so that no activity is lost because of a malformed address. Placeholders such as `null`, `n/a` or `unknown` identify nobody.',
    ),
  ),
  occurredAt: v.optional(
    dateTime(
      'When it happened: an RFC 3339 date-time with an offset, such as 2026-11-22T09:00:00+01:00, from 1970 to 24 hours ahead. Kept in UTC, to the millisecond. By default when the activity is stored.',
    ),
  ),
  idempotencyKey: v.optional(
    described(
      idempotencyKey(),
      'Identifies this request within its source, so that it can be retried safely.',
    ),
  ),
  name: v.optional(described(boundedText(1, 255), 'Sets the name of the prospect if it has none.')),
})
export type NewProspectLog = v.InferOutput<typeof NewProspectLog>

/** Answer of `POST /v0/prospect_logs`. */
export const ProspectLogReceipt = v.object({
  prospectId: described(id('prospect'), 'The prospect that the activity belongs to.'),
  prospectLogId: described(id('prospectlog'), 'The id of the stored entry.'),
  createdAt: described(timestamp(), 'When the entry was stored, in UTC.'),
  createdProspect: described(v.boolean(), 'Whether this request created the prospect.'),
  source: described(boundedText(1, 100), 'The stored source.'),
  type: described(boundedText(1, 100), 'The stored type. `webhook` if none was sent.'),
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
  idempotencyKey: described(v.nullable(v.string()), 'The idempotency key of the request, or null.'),
  occurredAt: described(timestamp(), 'When it happened, in UTC.'),
  createdAt: described(timestamp(), 'When the entry was stored, in UTC.'),
  createdProspect: described(v.boolean(), 'Whether the activity created the prospect.'),
})
export type ProspectLog = v.InferOutput<typeof ProspectLog>

/** Query of `GET /v0/prospects/{prospect_id}/prospect_logs`. */
export const TimelineQuery = v.object({
  ...SliceQuery.entries,
  source: v.optional(described(boundedText(1, 100), 'Return only activities from this source.')),
  type: v.optional(described(boundedText(1, 100), 'Return only activities of this type.')),
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
  idempotencyKey: v.optional(
    described(idempotencyKey(), 'With `source`: return the activity that was logged under this key, if any.'),
  ),
})
export type ProspectLogQuery = v.InferOutput<typeof ProspectLogQuery>

/** Answer of both lists of activities. */
export const ProspectLogSlice = v.object(sliceOf(ProspectLog))
export type ProspectLogSlice = v.InferOutput<typeof ProspectLogSlice>
