import * as v from 'valibot'
import { anyObject } from './json.ts'
import { boundedText, id, text, timestamp } from './text.ts'

export const idempotencyKey = () => boundedText(1, 255)

/** Body of `POST /v0/prospect_logs`, specification 2.1. */
export const NewProspectLog = v.object({
  source: v.pipe(boundedText(1, 100), v.description('The upstream system that sends the activity.')),
  type: v.optional(v.pipe(boundedText(1, 100), v.description('The kind of activity.')), 'webhook'),
  payload: anyObject('Anything. Stored exactly as sent; nested at most 512 deep.'),
  prospectId: v.optional(v.pipe(id('prospect'), v.description('A prospect that exists already.'))),
  email: v.optional(
    v.pipe(text(), v.description('Finds the prospect, trimmed and in lower case, or creates it.')),
  ),
  idempotencyKey: v.optional(
    v.pipe(
      idempotencyKey(),
      v.description('Names this request within its source, however often it is sent.'),
    ),
  ),
  name: v.optional(v.pipe(boundedText(1, 255), v.description('Fills the name of a prospect that has none.'))),
})
export type NewProspectLog = v.InferOutput<typeof NewProspectLog>

/** Answer of `POST /v0/prospect_logs`, specification 2.2. */
export const ProspectLogReceipt = v.object({
  prospectId: id('prospect'),
  prospectLogId: id('prospectlog'),
  createdAt: timestamp(),
  createdProspect: v.pipe(v.boolean(), v.description('True when this request created the prospect.')),
  source: boundedText(1, 100),
  type: boundedText(1, 100),
})
export type ProspectLogReceipt = v.InferOutput<typeof ProspectLogReceipt>
