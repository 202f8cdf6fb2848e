import * as v from 'valibot'
import { anyObject } from './json.ts'
import { boundedText, described, id, text, timestamp } from './text.ts'

export const idempotencyKey = () => boundedText(1, 255)

/** Body of `POST /v0/prospect_logs`, specification 2.1. */
export const NewProspectLog = v.object({
  source: described(boundedText(1, 100), 'The upstream system that sends the activity.'),
  type: v.optional(described(boundedText(1, 100), 'The kind of activity.'), 'webhook'),
  payload: anyObject('Anything. Stored exactly as sent; nested at most 512 deep.'),
  prospectId: v.optional(described(id('prospect'), 'A prospect that exists already.')),
  email: v.optional(described(text(), 'Finds the prospect, trimmed and in lower case, or creates it.')),
  idempotencyKey: v.optional(
    described(idempotencyKey(), 'Names this request within its source, however often it is sent.'),
  ),
  name: v.optional(described(boundedText(1, 255), 'Fills the name of a prospect that has none.')),
})
export type NewProspectLog = v.InferOutput<typeof NewProspectLog>

/** Answer of `POST /v0/prospect_logs`, specification 2.2. */
export const ProspectLogReceipt = v.object({
  prospectId: described(id('prospect'), 'Whose activity it is.'),
  prospectLogId: described(id('prospectlog'), 'The id of the stored entry.'),
  createdAt: described(timestamp(), 'When the entry was written, in UTC.'),
  createdProspect: described(v.boolean(), 'True when this request created the prospect.'),
  source: described(boundedText(1, 100), 'The stored source.'),
  type: described(boundedText(1, 100), 'The stored type: `webhook` where none was sent.'),
})
export type ProspectLogReceipt = v.InferOutput<typeof ProspectLogReceipt>
