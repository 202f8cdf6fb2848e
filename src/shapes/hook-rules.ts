import * as v from 'valibot'
import { PARTS_MAX, partsOf } from '../json/places.ts'
import { ATTRIBUTES_MAX, isAttributeName, isAttributeText } from './attributes.ts'
import { NewProspectLog } from './prospect-log.ts'
import { withoutReservedNames } from './record.ts'
import { boundedText, described, optional, whole } from './text.ts'

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
  'linkedin',
  'zoom',
  'dropbox',
  'microsoft-graph',
  'sendgrid',
  'brevo',
  'monday',
  'mailchimp',
] as const
export type PresetName = (typeof PRESETS)[number]
/** Vendors that do not sign: a secret token in the address verifies their deliveries. */
const PRESETS_WITHOUT_SIGNATURE: readonly string[] = [
  'microsoft-graph',
  'sendgrid',
  'brevo',
  'monday',
  'mailchimp',
] satisfies PresetName[]

const PLACEHOLDER = /\{([^{}]*)\}/g
const KNOWN_PLACEHOLDER = /^(body|timestamp|id|url|method|header:[\w-]{1,100})$/
const placeholdersIn = (template: string) => [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name)
const isTemplate = (template: string): boolean => {
  const names = placeholdersIn(template)
  return names.includes('body') && names.every((name) => KNOWN_PLACEHOLDER.test(name))
}
const headerName = (description: string) =>
  v.pipe(
    v.string(),
    v.regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be the name of a header'),
    v.description(description),
    v.transform((name) => name.toLowerCase()),
  )

/** How a vendor signs: an HMAC over the raw body, and over the other parts of its template. */
export const Hmac = v.pipe(
  v.strictObject({
    algorithm: described(v.picklist(['sha256', 'sha1', 'sha512']), 'The hash function of the HMAC.'),
    encoding: described(v.picklist(['hex', 'base64']), 'How the signature is written.'),
    header: headerName(
      'The header that carries the signature, or several with spaces, commas or semicolons between.',
    ),
    prefix: v.optional(
      described(boundedText(0, 20), 'The text before each signature, such as `sha256=`.'),
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
          'The signed text: `{body}`, with `{timestamp}`, `{id}`, `{url}`, `{method}` and `{header:name}`.',
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
        v.picklist(['utf8', 'base64', 'hex']),
        '`base64`, `hex`: the key is the decoded secret, in base64 after a `whsec_` if it has one.',
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
  token: optional(v.literal(true), 'No signature: the address contains a secret token.'),
}
/** Whether a token verifies deliveries: chosen, or because the preset has no signatures. */
export const isByToken = (verify: {
  readonly preset?: string | undefined
  readonly token?: unknown
}): boolean =>
  verify.token === true || (verify.preset !== undefined && PRESETS_WITHOUT_SIGNATURE.includes(verify.preset))

const BLANK_AROUND = /^[\s\p{C}]|[\s\p{C}]$/u
/** How a hook verifies its deliveries. */
export const HookVerification = v.pipe(
  v.strictObject({
    ...VERIFY,
    secret: optional(
      v.pipe(
        boundedText(1, 1_000),
        v.check((secret) => !BLANK_AROUND.test(secret), 'must have no blanks or line ends around it'),
      ),
      'The secret that the vendor signs with. It is never returned.',
    ),
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
/** The verification without the secret. */
export const HookVerificationShown = v.pipe(
  v.object(VERIFY),
  v.description('How deliveries are verified. The secret is never returned.'),
)

const POINTER = /^(\/([^~]|~[01])*)?$/
/** Maximum levels of a pointer. */
export const LEVELS_MAX = 16
/** Whether a text is a JSON Pointer (RFC 6901) that is not too deep. */
export const isPointer = (place: string) => POINTER.test(place) && place.split('/').length <= LEVELS_MAX + 1
const isPart = (part: string) =>
  /^(header:[A-Za-z0-9_-]{1,100}|query:\S{1,100})$/.test(part) || /^=.*\S/s.test(part) || isPointer(part)
/** Places in order of preference. `alsoAllows` is one more word that a place may be. */
const placeList = (alsoAllows?: string) =>
  v.pipe(
    v.array(
      v.pipe(
        boundedText(0, 255),
        v.check(
          (place) => partsOf(place).every((part) => isPart(part) || part === alsoAllows),
          `must be a JSON Pointer of at most ${LEVELS_MAX} levels${alsoAllows === undefined ? '' : `, ${alsoAllows}`}, header:name, query:name or =text, or a sum of these with " + " between`,
        ),
        v.check((place) => partsOf(place).length <= PARTS_MAX, `must be a sum of at most ${PARTS_MAX} parts`),
      ),
    ),
    v.maxLength(10, 'must have at most 10 places'),
  )
const places = (description: string, { alsoAllows }: { readonly alsoAllows?: string } = {}) =>
  v.optional(v.pipe(placeList(alsoAllows), v.description(description)))
const attributePlaces = withoutReservedNames(
  v.pipe(
    v.record(
      v.pipe(v.string(), v.check(isAttributeName, 'must be a name of 1 to 64 characters that is not blank')),
      placeList(),
    ),
    v.maxEntries(ATTRIBUTES_MAX, `must have at most ${ATTRIBUTES_MAX} members`),
  ),
  {
    type: 'object',
    description:
      'Where attributes of the prospect are, by their names, such as `{ "company": ["/org"] }`. They are stored as texts.',
    maxProperties: ATTRIBUTES_MAX,
    additionalProperties: {
      type: 'array',
      description: 'Where the attribute is.',
      maxItems: 10,
      items: { type: 'string', maxLength: 255 },
    },
  },
)
/** Where the members of an activity are found. The first place that leads to a text or number wins. */
export const HookMap = v.pipe(
  v.strictObject({
    type: places('Where the type is.'),
    email: places('Where the email of the prospect is.'),
    externalId: places('Where the id is that the vendor has for the prospect.'),
    name: places('Where the name of the prospect is.'),
    occurredAt: places(
      'Where the time is: RFC 3339, RFC 2822, ISO 8601 without separators, or seconds, milliseconds, microseconds or nanoseconds since 1970.',
    ),
    idempotencyKey: places(
      'Identifies one message in all attempts. One that you map belongs to the hook, the mapped type and the mapped person. `sha256` is the hash of the body, which is a key for 24 hours.',
      { alsoAllows: 'sha256' },
    ),
    attributes: v.optional(attributePlaces),
  }),
  v.description(
    'Where the members of an activity are. A place is a JSON Pointer into the body, in which `name[member=value]` leads to an element of a list; `header:name`; `query:name`; `=text`, for a text that is always the same; or a sum such as `/first + /last`. The first place that leads to a text or a number wins; of a list of texts, the first that is usable. Blanks and placeholders such as `N/A` are passed over. Members given replace those of the preset.',
  ),
)
export type HookMap = v.InferOutput<typeof HookMap>
/** A member of an activity that has places, or one of the attributes: `attributes/company`. */
export type MapMember = Exclude<keyof HookMap, 'attributes'> | `attributes/${string}`

/** All members of a map with their places. */
export const placesIn = ({ attributes = {}, ...members }: HookMap): [MapMember, readonly string[]][] => [
  ...Object.entries(members).map(
    ([name, places = []]) => [name as MapMember, places] as [MapMember, string[]],
  ),
  ...Object.entries(attributes).map(([name, places]): [MapMember, string[]] => [
    `attributes/${name}`,
    places,
  ]),
]

/** Maximum characters of the text of any member of an activity. */
export const MEMBER_LENGTH_MAX = 1_000
const MEMBERS = {
  type: NewProspectLog.entries.type,
  externalId: NewProspectLog.entries.externalId,
  name: NewProspectLog.entries.name,
  idempotencyKey: NewProspectLog.entries.idempotencyKey,
  email: boundedText(1, MEMBER_LENGTH_MAX),
}
/** Whether a text can be this member of an activity. */
export const fitsMember = (member: Exclude<MapMember, 'occurredAt'>, text: string): boolean =>
  isAttribute(member) ? text.trim() !== '' && isAttributeText(text) : v.is(MEMBERS[member], text)
export const isAttribute = (member: MapMember): member is `attributes/${string}` =>
  member.startsWith('attributes/')

const SIGNATURE_REPLIES = ['hmac-sha256-hex', 'hmac-sha256-base64']
/** Whether a member of a reply is the signature of the challenge. */
export const isSignatureReply = (part: string): boolean => SIGNATURE_REPLIES.includes(part)

const challengePlace = (description: string) =>
  described(
    v.pipe(
      boundedText(1, 255),
      v.check(
        (place) => place.startsWith('query:') || place.startsWith('header:') || place.startsWith('/'),
        'must be a JSON Pointer, query:name or header:name',
      ),
      v.check(isPart, `must be a JSON Pointer of at most ${LEVELS_MAX} levels, query:name or header:name`),
    ),
    description,
  )
const replyMember = v.pipe(
  boundedText(1, 255),
  v.check(
    (part) => isSignatureReply(part) || (isPart(part) && !part.startsWith('=')),
    'must be a place, hmac-sha256-hex or hmac-sha256-base64',
  ),
)
/** The question by which a vendor checks an address, and the answer to it. */
export const Challenge = v.pipe(
  v.strictObject({
    from: challengePlace('Where the challenge is. A request that has it is answered and not logged.'),
    reply: described(
      v.union([
        v.literal('text'),
        withoutReservedNames(
          v.pipe(v.record(v.string(), replyMember), v.maxEntries(10, 'must have at most 10 members')),
          {
            type: 'object',
            additionalProperties: { type: 'string' },
          },
        ),
      ]),
      '`text`: the challenge as it is; else the members of a JSON object, each a place, or `hmac-sha256-hex` or `hmac-sha256-base64` for the signature of the challenge.',
    ),
    hookIdAt: v.optional(
      challengePlace('Where the id of the hook must be, if the vendor sends back a text that you chose.'),
    ),
    verified: optional(
      v.boolean(),
      'Whether the vendor signs this request like any other, so that it is verified first.',
    ),
  }),
  v.description('How a vendor checks the address, and what it expects.'),
)
export type Challenge = v.InferOutput<typeof Challenge>

/** The types of an answer. No browser runs a script in any of them. */
const ANSWER_TYPES = ['text/plain', 'application/json', 'text/xml', 'application/xml'] as const
/** The answer to a delivery that was accepted, in place of ours. */
export const HookAnswer = v.pipe(
  v.strictObject({
    status: v.optional(described(v.picklist([200, 201, 202, 203, 204]), 'The status.'), 200),
    contentType: v.optional(described(v.picklist(ANSWER_TYPES), 'The type of the body.'), 'text/plain'),
    body: v.optional(described(boundedText(0, 1_024), 'The body.'), ''),
  }),
  v.check(({ status, body }) => status !== 204 || body === '', 'must have no body with the status 204'),
  v.description('The answer to a delivery that was accepted, for vendors that expect a certain one.'),
)
export type HookAnswer = v.InferOutput<typeof HookAnswer>
