import * as v from 'valibot'
import { NewProspectLog, ProspectLog } from './prospect-log.ts'
import { sliceOf } from './slice.ts'
import { boundedText, described, documented, id, optional, timestamp, whole } from './text.ts'
import { OVERLAP_HOURS_MAX } from './webhook.ts'

/** The vendors whose signatures and messages are known. */
export const PRESETS = [
  'standard-webhooks',
  'stripe',
  'github',
  'shopify',
  'typeform',
  'calendly',
  'slack',
  'intercom',
  'cal.com',
  'tally',
  'woocommerce',
  'paddle',
  'zendesk',
  'hubspot',
  'meta',
  'lemon-squeezy',
  'webflow',
  'mailchimp',
] as const
export type PresetName = (typeof PRESETS)[number]

const PLACEHOLDER = /\{([^{}]*)\}/g
const PLACEHOLDERS = /^(body|timestamp|id|url|method|header:[\w-]{1,100})$/
const placeholdersIn = (template: string) => [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name)
const isTemplate = (template: string): boolean => {
  const names = placeholdersIn(template)
  return names.includes('body') && names.every((name) => PLACEHOLDERS.test(name))
}
const headerName = (description: string) =>
  v.pipe(
    v.string(),
    v.regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be the name of a header'),
    v.description(description),
    v.transform((name) => name.toLowerCase()),
  )

/** How a vendor signs: an HMAC over the raw body, and over what else its template names. */
export const Hmac = v.pipe(
  v.strictObject({
    algorithm: described(v.picklist(['sha256', 'sha1', 'sha512']), 'The hash function of the HMAC.'),
    encoding: described(v.picklist(['hex', 'base64']), 'How the signature is written.'),
    header: headerName(
      'The header that carries the signature, or several with spaces, commas or semicolons between.',
    ),
    prefix: v.optional(
      described(boundedText(0, 20), 'What each signature begins with, such as `sha256=`.'),
      '',
    ),
    template: v.optional(
      v.pipe(
        boundedText(1, 500),
        v.check(
          isTemplate,
          'must contain {body}, and only {body}, {timestamp}, {id}, {url}, {method} and {header:name}',
        ),
        v.description(
          'What is signed: `{body}`, with `{timestamp}`, `{id}`, `{url}`, `{method}` and `{header:name}`.',
        ),
      ),
      '{body}',
    ),
    timestampHeader: v.optional(
      headerName(
        'The header that carries `{timestamp}`: seconds, milliseconds or RFC 3339, alone or as `t=` or `ts=`.',
      ),
    ),
    idHeader: v.optional(headerName('The header that carries `{id}`.')),
    toleranceSeconds: v.optional(
      described(
        v.pipe(whole(1), v.maxValue(86_400, 'must be at most 86400')),
        'How old or early a timestamp may be.',
      ),
      300,
    ),
    secretEncoding: v.optional(
      described(
        v.picklist(['utf8', 'base64']),
        '`base64`: the key is the decoded secret, after a `whsec_` if it has one.',
      ),
      'utf8',
    ),
  }),
  v.check(
    ({ template, timestampHeader, idHeader }) =>
      template.includes('{timestamp}') === (timestampHeader !== undefined) &&
      template.includes('{id}') === (idHeader !== undefined),
    'needs timestampHeader exactly if the template contains {timestamp}, and idHeader exactly if it contains {id}',
  ),
  v.description('An HMAC over the raw body, and over what else the template names.'),
)
export type Hmac = v.InferOutput<typeof Hmac>

const VERIFY = {
  preset: optional(v.picklist(PRESETS), 'A vendor whose signatures are known.'),
  hmac: v.optional(Hmac),
  token: optional(v.literal(true, 'must be true'), 'No signature: the address contains a secret token.'),
}
/** What a hook is verified with. A preset without signatures takes a token instead. */
export const isByToken = ({
  preset,
  token,
}: {
  readonly preset?: string | undefined
  readonly token?: unknown
}) => token === true || preset === 'mailchimp'
/** How a hook verifies what it gets. */
export const HookVerification = v.pipe(
  v.strictObject({
    ...VERIFY,
    secret: optional(boundedText(1, 1_000), 'What the vendor signs with. It is never returned.'),
  }),
  v.check(
    ({ preset, hmac, token }) => [preset, hmac, token].filter((way) => way !== undefined).length === 1,
    'must have exactly one of preset, hmac and token',
  ),
  v.check(
    (verify) => isByToken(verify) === (verify.secret === undefined),
    'needs a secret, unless it is verified by a token',
  ),
  v.description('How deliveries are verified: by a preset, an HMAC or a token.'),
)
/** The same without the secret. */
export const HookVerificationShown = v.pipe(
  v.object(VERIFY),
  v.description('How deliveries are verified. The secret is never returned.'),
)

const POINTER = /^(\/([^~]|~[01])*)?$/
const LEVELS_MAX = 16
const isPointer = (place: string) => POINTER.test(place) && place.split('/').length <= LEVELS_MAX + 1
const isPlace = (place: string) => /^header:[A-Za-z0-9_-]{1,100}$/.test(place) || isPointer(place)
const places = (description: string, isOther = (_: string) => false, other = '') =>
  v.optional(
    v.pipe(
      v.array(
        v.pipe(
          boundedText(0, 255),
          v.check(
            (place) => isPlace(place) || isOther(place),
            `must be a JSON Pointer of at most ${LEVELS_MAX} levels${other} or header:name`,
          ),
        ),
      ),
      v.maxLength(10, 'must have at most 10 places'),
      v.description(description),
    ),
  )
/** Where the members of an activity are found: JSON Pointers into the body, or headers. The first that leads to a text or number wins. */
export const HookMap = v.pipe(
  v.strictObject({
    type: places('Where the type is.'),
    email: places('Where the email of the prospect is.'),
    name: places('Where the name of the prospect is.'),
    occurredAt: places('Where the time is: RFC 3339, or seconds or milliseconds since 1970.'),
    idempotencyKey: places(
      'What names one message in all attempts; `sha256` is the hash of the body.',
      (place) => place === 'sha256',
      ', sha256',
    ),
  }),
  v.description(
    'Where the members of an activity are: JSON Pointers into the body, or `header:name`. The first that leads to a text or a number wins. Members given replace those of the preset.',
  ),
)
export type HookMap = v.InferOutput<typeof HookMap>

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
    'A JSON Pointer to an array of up to 1,000 elements, each an activity. Null: as in the preset, if at all.',
  ),
}
const status = described(
  v.picklist(['enabled', 'disabled']),
  'A disabled hook is answered like an unknown one.',
)

/** Body of `POST /v0/hooks`. */
export const NewHook = v.object({
  source: GIVEN.source,
  verify: GIVEN.verify,
  description: v.optional(GIVEN.description, null),
  map: v.optional(GIVEN.map, {}),
  each: v.optional(GIVEN.each, null),
})
export type NewHook = v.InferOutput<typeof NewHook>

/** Body of `PATCH /v0/hooks/{hook_id}`. */
export const HookChanges = v.object({
  ...v.partial(v.object({ ...GIVEN, status })).entries,
  overlapHours: v.optional(
    described(
      v.pipe(whole(0), v.maxValue(OVERLAP_HOURS_MAX, `must be at most ${OVERLAP_HOURS_MAX}`)),
      'With `verify`: for how many hours the old secret or token stays valid, if nothing else of it changes.',
    ),
    24,
  ),
})
export type HookChanges = v.InferOutput<typeof HookChanges>

/** Why a hook refused a delivery. */
export const HookRefusal = v.pipe(
  v.object({
    at: described(timestamp(), 'When, in UTC.'),
    reason: described(v.string(), 'Why, in words.'),
  }),
  v.description('A delivery that was refused.'),
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
})
export type Hook = v.InferOutput<typeof Hook>

/** Response of `GET /v0/hooks`. */
export const HookSlice = v.object(sliceOf(Hook))

/** Body of `POST /v0/hooks/{hook_id}/try`. */
export const HookTrial = v.object({
  headers: v.optional(
    described(
      documented(v.record(v.string(), v.string()), {
        type: 'object',
        additionalProperties: { type: 'string', description: 'The value of a header.' },
      }),
      'The headers of the delivery, above all those that are signed.',
    ),
    {},
  ),
  body: described(v.string(), 'Its body, byte for byte.'),
})
export type HookTrial = v.InferOutput<typeof HookTrial>

const { source, type, email, name, occurredAt, idempotencyKey } = NewProspectLog.entries
/** An activity as it would be logged. */
export const TriedActivity = v.pipe(
  v.object({ source, type, email, name, occurredAt, idempotencyKey, payload: ProspectLog.entries.payload }),
  v.description('An activity as it would be logged.'),
)

/** Its answer: what would happen. */
export const HookTrialResult = v.object({
  verified: described(v.boolean(), 'Whether the delivery would be accepted.'),
  reason: described(v.nullable(v.string()), 'Why not; null if it would.'),
  activities: described(v.array(TriedActivity), 'What would be logged, or would be if it were verified.'),
})
export type HookTrialResult = v.InferOutput<typeof HookTrialResult>
