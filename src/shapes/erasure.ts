import * as v from 'valibot'
import { bodyOf } from './body.ts'
import { sliceOf } from './slice.ts'
import { boundedText, described, id, optional, text, whole } from './text.ts'
import { timestamp } from './time.ts'

const BLOCK_DAYS_MAX = 3_650

/** Body of `POST /v0/erasures`: exactly one of `prospectId`, `externalId` and `email`. */
export const NewErasure = bodyOf({
  prospectId: optional(id('prospect'), 'The prospect to erase.'),
  email: optional(
    text(),
    'The email of the person to erase, compared as in activities. It need not belong to a prospect.',
  ),
  externalId: optional(
    boundedText(1, 255),
    'The external id of the person to erase. It need not belong to a prospect.',
  ),
  blockDays: v.optional(
    described(
      v.pipe(whole(0), v.maxValue(BLOCK_DAYS_MAX, `must be at most ${BLOCK_DAYS_MAX}`)),
      'How long activities with the email or the external id of the person are refused, so that nothing brings the person back: an hour at least.',
    ),
    30,
  ),
})
export type NewErasure = v.InferOutput<typeof NewErasure>

/** An erasure as callers see it. */
export const Erasure = v.object({
  erasureId: described(id('erasure'), 'The id of the erasure.'),
  prospectId: described(
    v.nullable(id('prospect')),
    'The prospect that was erased; null if none had the email or the external id.',
  ),
  status: described(
    v.picklist(['processing', 'completed']),
    '`completed` once nothing of the person is left.',
  ),
  requestedAt: described(timestamp(), 'When the erasure was requested, in UTC.'),
  completedAt: described(v.nullable(timestamp()), 'When it was completed, in UTC; null until then.'),
  logsErased: described(whole(0), 'How many activities of the prospect have been deleted so far.'),
  waitingFor: described(
    v.nullable(v.picklist(['second_pass', 'rewrite'])),
    'The pending step of an erasure in `processing`: `second_pass`, the activities are searched once more when the writes that began before the erasure have ended; `rewrite`, the embedded database rewrites its file. Else null.',
  ),
  blockedUntil: described(
    v.nullable(timestamp()),
    'Until when activities with an identifier of the person are refused, in UTC; null if they are not.',
  ),
  formerlyOf: described(
    v.array(id('prospect')),
    'Other prospects that once had the email or the external id of the request. They are not erased: if one is the same person, erase it by its id. At most 20, the last one who had it first.',
  ),
  stillLeadsTo: described(
    v.array(id('prospect')),
    'Other prospects that a former email or external id of the erased person led to when it was erased. That one is not blocked: if the prospect is the same person, erase it, too. At most 20.',
  ),
})
export type Erasure = v.InferOutput<typeof Erasure>

/** Response of `GET /v0/erasures`. */
export const ErasureSlice = v.object(sliceOf(Erasure))
export type ErasureSlice = v.InferOutput<typeof ErasureSlice>
