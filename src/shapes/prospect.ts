import * as v from 'valibot'
import { attributes } from './attributes.ts'
import { bodyOf } from './body.ts'
import { rawObject } from './json.ts'
import { itemTexts, RefusedItem } from './prospect-log.ts'
import { limit, SliceQuery, sliceOf } from './slice.ts'
import { boundedText, described, id, optional, text } from './text.ts'
import { timestamp } from './time.ts'

/** A prospect as callers see it. Every field is always present. */
export const Prospect = v.object({
  prospectId: described(id('prospect'), 'The id of the prospect.'),
  tenantId: described(id('tenant'), 'The tenant that the API key belongs to.'),
  email: described(v.nullable(v.string()), 'The email that identifies the prospect, normalized, or null.'),
  externalId: described(
    v.nullable(v.string()),
    'The id of the prospect in another system, as sent, or null.',
  ),
  name: described(v.nullable(v.string()), 'The name of the prospect, or null.'),
  attributes: described(
    rawObject(),
    'Further fields of the prospect, by names that you chose: texts, numbers and booleans, at most 50.',
  ),
  createdAt: described(timestamp(), 'When the prospect was created, in UTC.'),
  updatedAt: described(timestamp(), 'When the prospect was last changed, in UTC.'),
})
export type Prospect = v.InferOutput<typeof Prospect>

/** Response of `GET /v0/prospects/{prospect_id}`. */
export const ProspectWithIdentifiers = v.object({
  ...Prospect.entries,
  otherEmails: described(
    v.array(v.string()),
    'Other emails that lead to this prospect: those that a correction kept, and those of merged prospects. At most 100.',
  ),
  otherExternalIds: described(
    v.array(v.string()),
    'Other external ids that lead to this prospect. At most 100.',
  ),
  formerEmails: described(
    v.array(v.string()),
    'Emails that the prospect had and that no longer identify it: the last 20, newest first. An erasure blocks them, and older ones.',
  ),
  formerExternalIds: described(
    v.array(v.string()),
    'External ids that the prospect had and that no longer identify it: the last 20, newest first.',
  ),
})
export type ProspectWithIdentifiers = v.InferOutput<typeof ProspectWithIdentifiers>

/** An email or external id that a prospect did not take. */
export const IdentifierConflict = v.object({
  field: described(v.picklist(['email', 'externalId']), 'The field that was not taken.'),
  reason: described(
    v.picklist(['taken', 'different', 'unusable']),
    'Why not: `taken` by another prospect, `different` from the one that this prospect has, or `unusable`, because it is no address or a placeholder.',
  ),
  prospectId: v.optional(described(id('prospect'), 'The prospect that has it, if it is `taken`.')),
})
export type IdentifierConflict = v.InferOutput<typeof IdentifierConflict>

/** Response of `POST /v0/prospects`, and of a merge. */
export const MatchedProspect = v.object({
  ...Prospect.entries,
  conflicts: described(
    v.array(IdentifierConflict),
    'What the prospect did not take: at most its email and its external id. Empty if there is no conflict.',
  ),
  ignored: v.optional(
    described(
      v.array(v.string()),
      'The attributes that are not stored because the prospect would have more than 50, such as `attributes/company`: at most 20. Absent if there were none.',
    ),
  ),
})
export type MatchedProspect = v.InferOutput<typeof MatchedProspect>

/** Query of `GET /v0/prospects`. */
export const ProspectQuery = v.object({
  ...SliceQuery.entries,
  limit: optional(limit(), 'At most this many items: 20 unless given, with `search` 100.'),
  search: optional(
    boundedText(2, 100),
    'Return people by the beginning of their email, of their name, or of its last word, without regard to case and accents: at most 100, newest first, in one slice. If more than 2,000 people share the beginning, older ones may be left out; a longer text finds them. People are indexed in the background: the newest 2,000 are found at once, others about a second after they were created, and the first search of a tenant in a month may miss some until the index has caught up. Not with `email`, `externalId` or `cursor`.',
  ),
  email: optional(text(), 'Return only the prospect with this email, however the address is written.'),
  externalId: optional(
    boundedText(1, 255),
    'Return only the prospect with this external id. Not with `email`.',
  ),
})
export type ProspectQuery = v.InferOutput<typeof ProspectQuery>

/** Response of `GET /v0/prospects`. */
export const ProspectSlice = v.object(sliceOf(Prospect))
export type ProspectSlice = v.InferOutput<typeof ProspectSlice>

/** Body of `POST /v0/prospects`. */
export const NewProspect = bodyOf({
  externalId: optional(
    boundedText(1, 255),
    'The id that another system has for the person. Required without an email. Compared exactly.',
  ),
  email: optional(text(), 'Required without an external id. The same address however it is written.'),
  name: optional(boundedText(1, 255), 'Sets the name of the prospect if it has none.'),
  attributes: v.optional(
    attributes(
      'Further fields of the prospect: up to 50 texts of at most 1,000 characters, numbers and booleans. Each is set if the prospect has none of this name; null and blank texts are not stored.',
    ),
  ),
})
export type NewProspect = v.InferOutput<typeof NewProspect>

/** Two people whom one activity named. */
export const ProspectConflict = v.object({
  prospectIds: described(
    v.tuple([id('prospect'), id('prospect')]),
    'The two prospects, the older one first. They may be one person: then merge one into the other.',
  ),
  field: described(
    v.picklist(['email', 'externalId']),
    'The field that named a prospect to whom the activity does not belong.',
  ),
  at: described(timestamp(), 'When such an activity was stored last, give or take five minutes, in UTC.'),
})
export type ProspectConflict = v.InferOutput<typeof ProspectConflict>

/** Response of `GET /v0/prospect_conflicts`. */
export const ProspectConflictSlice = v.object(sliceOf(ProspectConflict))
export type ProspectConflictSlice = v.InferOutput<typeof ProspectConflictSlice>

/** Body of `POST /v0/prospects/batch`. Each item is checked separately, by `NewProspect`. */
export const ProspectBatch = bodyOf({ items: itemTexts('NewProspect', 'Created or found in this order') })

/** The result of an item whose prospect was created or found. */
export const AcceptedProspect = v.object({
  status: described(v.picklist([200, 201]), 'As for a single request: 201 if the prospect was created.'),
  prospect: MatchedProspect,
})
/** Response of `POST /v0/prospects/batch`. */
export const ProspectBatchResult = v.object({
  items: described(
    v.array(v.union([AcceptedProspect, RefusedItem])),
    'The result of each item, in the order of the request.',
  ),
  accepted: described(v.number(), 'How many prospects were created or found.'),
  refused: described(v.number(), 'How many items were refused.'),
})
export type ProspectBatchResult = v.InferOutput<typeof ProspectBatchResult>

/** Body of `PATCH /v0/prospects/{prospect_id}`. */
export const ProspectChanges = bodyOf({
  email: optional(
    v.nullable(text()),
    'Replaces the email, or removes it if null. Anything but an address is refused.',
  ),
  externalId: optional(
    v.nullable(boundedText(1, 255)),
    'Replaces the external id, or removes it if null. Blank and placeholders are refused.',
  ),
  name: optional(v.nullable(boundedText(1, 255)), 'Replaces the name, or removes it if null.'),
  attributes: v.optional(
    attributes('Replaces each of these attributes, or removes it if null. The others stay.'),
  ),
  keepFormerEmail: optional(
    v.boolean(),
    'With a new `email`: true if the person still uses the former one. It then goes on leading to this prospect. By default it becomes a former email, which identifies no one.',
  ),
  keepFormerExternalId: optional(v.boolean(), 'The same for a new `externalId`.'),
  forgetEmail: optional(
    text(),
    'Drops an email that never was this person’s, such as a typo: from the former and the other emails, so that an erasure of this prospect leaves it alone. It may be the email that `email` replaces. One that the prospect never had changes nothing.',
  ),
  forgetExternalId: optional(boundedText(1, 255), 'The same for an external id.'),
})
export type ProspectChanges = v.InferOutput<typeof ProspectChanges>

/** Body of `POST /v0/prospects/{prospect_id}/merge`. */
export const ProspectMerge = bodyOf({
  into: described(
    id('prospect'),
    'The prospect that remains. If it was merged itself, this is its survivor. Merging is final.',
  ),
})
export type ProspectMerge = v.InferOutput<typeof ProspectMerge>
