import * as v from 'valibot'
import { AttributesMode } from './attributes.ts'
import { bodyOf } from './body.ts'
import {
  Challenge,
  HookAnswer,
  HookMap,
  HookVerification,
  HookVerificationShown,
  isPointer,
  LEVELS_MAX,
} from './hook-rules.ts'
import { rawObject } from './json.ts'
import { NewProspectLog, ProspectLog } from './prospect-log.ts'
import { withoutReservedNames } from './record.ts'
import { sliceOf } from './slice.ts'
import { boundedText, described, id } from './text.ts'
import { overlapHours, timestamp } from './time.ts'

/** The parts of an absolute `http:` or `https:` URL without credentials; null for any other text. */
const webUrl = (text: string): URL | null => {
  const isPlain = /^https?:\/\/[^\s\p{C}\\@/?#]+([/?#][^\s\p{C}\\]*)?$/iu.test(text)
  return isPlain && URL.canParse(text) ? new URL(text) : null
}
const isPage = (text: string): boolean => {
  const url = webUrl(text)
  const isLocal = /^((.*\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '')
  return url !== null && (url.protocol === 'https:' || isLocal)
}
const isOrigin = (text: string): boolean => {
  const url = webUrl(text)
  return text === '*' || (url !== null && !url.host.includes('*') && url.href === `${url.origin}/`)
}

const GIVEN = {
  source: described(boundedText(1, 100), 'The source of its activities.'),
  description: described(v.nullable(boundedText(0, 255)), 'A note for people.'),
  verify: HookVerification,
  map: HookMap,
  each: described(
    v.nullable(
      v.pipe(
        boundedText(0, 255),
        v.check(isPointer, `must be a JSON Pointer of at most ${LEVELS_MAX} levels`),
      ),
    ),
    'A JSON Pointer to an array of which each element is an activity, up to 10,000 in all; `*` stands for every element, such as in `/entry/*/changes`. Null: as in the preset, if at all.',
  ),
  redirectTo: described(
    v.nullable(
      v.pipe(
        boundedText(1, 2_048),
        v.check(isPage, 'must be an https: URL without credentials, or an http: URL of localhost'),
      ),
    ),
    'Where a browser that posts a form is sent, by a 303; only with a token.',
  ),
  origins: described(
    v.pipe(
      v.array(
        v.pipe(
          boundedText(1, 255),
          v.check(isOrigin, 'must be an origin, such as https://www.example.com, or *'),
          v.transform((origin) => (origin === '*' ? origin : new URL(origin).origin)),
        ),
      ),
      v.maxLength(20, 'must have at most 20 origins'),
    ),
    'The origins of pages whose scripts may read the answer (CORS), or `*`; only with a token.',
  ),
  trap: described(
    v.nullable(boundedText(1, 255)),
    'The name of a field that people do not see. If it is filled, the answer is as ever and nothing is stored; only with a token.',
  ),
  challenge: described(
    v.nullable(Challenge),
    'How the vendor checks the address, and what it expects. Null: as in the preset, if at all.',
  ),
  answer: described(
    v.nullable(HookAnswer),
    'The answer to a delivery that was accepted. Null: as in the preset, if at all; otherwise the usual one.',
  ),
  unidentified: described(
    v.picklist(['new', 'shared']),
    'The prospect of an activity without a usable email or external id: a new one each time, or one that all of the hook share.',
  ),
  fieldsAsAttributes: described(
    v.boolean(),
    'Whether the other text fields of a form, or text members at the top of a JSON body, become attributes of the prospect, under their own names.',
  ),
  attributesMode: described(
    AttributesMode,
    '`fill`: attributes are set if the prospect has none of that name. `overwrite`: they replace those that it has.',
  ),
}
const status = described(
  v.picklist(['enabled', 'disabled']),
  'A disabled hook returns 404, like an unknown one.',
)

/** Body of `POST /v0/hooks`. */
export const NewHook = bodyOf({
  source: GIVEN.source,
  verify: GIVEN.verify,
  description: v.optional(GIVEN.description, null),
  map: v.optional(GIVEN.map, {}),
  each: v.optional(GIVEN.each, null),
  redirectTo: v.optional(GIVEN.redirectTo, null),
  origins: v.optional(GIVEN.origins, []),
  trap: v.optional(GIVEN.trap, null),
  challenge: v.optional(GIVEN.challenge, null),
  answer: v.optional(GIVEN.answer, null),
  unidentified: v.optional(GIVEN.unidentified, 'new'),
  fieldsAsAttributes: v.optional(GIVEN.fieldsAsAttributes, false),
  attributesMode: v.optional(GIVEN.attributesMode, 'fill'),
})
export type NewHook = v.InferOutput<typeof NewHook>

/** Body of `PATCH /v0/hooks/{hook_id}`. */
export const HookChanges = bodyOf({
  ...v.partial(v.object({ ...GIVEN, status })).entries,
  overlapHours: overlapHours(
    'With `verify`: for how many hours the old secret or token stays valid, if nothing else of it changes.',
  ),
})
export type HookChanges = v.InferOutput<typeof HookChanges>

const noted = (reason: string, description: string) =>
  described(
    v.object({ at: described(timestamp(), 'When, in UTC.'), reason: described(v.string(), reason) }),
    description,
  )
/** Why a hook refused a delivery. */
export const HookRefusal = noted('Why, in words.', 'A delivery that was refused.')
/** What a person should know about a delivery that was stored. */
export const HookWarning = noted(
  'What, in words.',
  'A delivery that was stored, but identifies no one, or was not read in full.',
)

/** A hook as callers see it. */
export const Hook = v.object({
  hookId: described(id('hook'), 'The id of the hook.'),
  tenantId: described(id('tenant'), 'The tenant that the API key belongs to.'),
  source: GIVEN.source,
  description: GIVEN.description,
  status,
  verify: HookVerificationShown,
  map: HookMap,
  each: GIVEN.each,
  redirectTo: GIVEN.redirectTo,
  origins: GIVEN.origins,
  trap: GIVEN.trap,
  challenge: GIVEN.challenge,
  answer: GIVEN.answer,
  unidentified: GIVEN.unidentified,
  fieldsAsAttributes: GIVEN.fieldsAsAttributes,
  attributesMode: GIVEN.attributesMode,
  path: described(
    v.string(),
    'Where the vendor posts to. A token is shown only in the answer that issues it; later it is `•••`.',
  ),
  url: described(v.nullable(v.string()), 'The same with `PUBLIC_URL`; null if that is not set.'),
  createdAt: described(timestamp(), 'When the hook was created, in UTC.'),
  updatedAt: described(timestamp(), 'When it was last changed, in UTC.'),
  lastReceivedAt: described(
    v.nullable(timestamp()),
    'When a delivery was last accepted, in UTC, at most ten seconds old.',
  ),
  lastRefusal: described(
    v.nullable(HookRefusal),
    'The last delivery that was refused, at most ten seconds old; null if none was.',
  ),
  lastWarning: described(
    v.nullable(HookWarning),
    'Why the last delivery that was accepted identifies no one, was not read in full, or repeats an idempotency key for another person, at most ten seconds old; null if it had no such problem.',
  ),
})
export type Hook = v.InferOutput<typeof Hook>

/** Response of `GET /v0/hooks`. */
export const HookSlice = v.object(sliceOf(Hook))

/** Body of `POST /v0/hooks/{hook_id}/try`. */
export const HookTrial = bodyOf({
  headers: v.optional(
    withoutReservedNames(v.record(v.string(), v.string()), {
      type: 'object',
      additionalProperties: { type: 'string', description: 'The value of a header.' },
      description: 'The headers of the delivery, above all those that are signed.',
    }),
    {},
  ),
  query: v.optional(
    described(boundedText(0, 16_384), 'The query of its URL, without the question mark.'),
    '',
  ),
  body: described(v.string(), 'Its body, byte for byte.'),
  map: v.optional(GIVEN.map),
})
export type HookTrial = v.InferOutput<typeof HookTrial>

const { source, type, email, externalId, name, occurredAt, idempotencyKey } = NewProspectLog.entries
/** An activity as it would be logged. */
export const TriedActivity = v.pipe(
  v.object({
    source,
    type,
    email,
    externalId,
    name,
    occurredAt,
    idempotencyKey,
    attributes: v.optional(described(rawObject(), 'The attributes that the prospect would get.')),
    payload: ProspectLog.entries.payload,
  }),
  v.description('An activity as it would be logged.'),
)

/** Its answer: what would happen. */
export const HookTrialResult = v.object({
  verified: described(v.boolean(), 'Whether the delivery would be accepted.'),
  reason: described(v.nullable(v.string()), 'Why not; null if it would.'),
  warning: described(
    v.nullable(v.string()),
    'Why the delivery identifies no one, is not read in full, or is not stored because it repeats an idempotency key for another person; null if it has no such problem.',
  ),
  activities: described(
    v.array(TriedActivity),
    'The activities that this delivery would log once it is verified.',
  ),
})
export type HookTrialResult = v.InferOutput<typeof HookTrialResult>
