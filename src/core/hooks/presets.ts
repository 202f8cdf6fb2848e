import type { Challenge, Hmac, HookAnswer, HookMap, PresetName } from '../../shapes/hook-rules.ts'

/** How a vendor signs, and where its messages have the members of an activity. */
export type Preset = {
  /** Absent if the vendor signs nothing: the address has a token. */
  readonly hmac?: Hmac
  /** How names of headers begin: the second is used if the header with the signature is missing under the first. */
  readonly headerPrefixes?: readonly [string, string]
  readonly map: HookMap
  readonly each?: string
  /** How the vendor checks the address before it begins. */
  readonly challenge?: Challenge
  /** An unsigned request that checks the address again and again. It is answered like a challenge. */
  readonly probe?: Challenge
  /** The answer that the vendor expects, if it is not any 200. */
  readonly answer?: HookAnswer
  /** The type of a message that only tests the address. It is not logged. */
  readonly pingType?: string
}
/** The places of each member, one after another. */
type Row = Omit<Preset, 'map'> & { readonly [Member in Exclude<keyof HookMap, 'attributes'>]?: string }

const HEX: Omit<Hmac, 'header'> = {
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: '',
  template: '{body}',
  toleranceSeconds: 300,
  secretEncoding: 'utf8',
}
const hex = (header: string, prefix = ''): Hmac => ({ ...HEX, header, prefix })
const base64 = (header: string, prefix = ''): Hmac => ({ ...HEX, encoding: 'base64', header, prefix })
/** A signature over a timestamp, too. */
const timed = (hmac: Hmac, template: string, timestampHeader = hmac.header): Hmac => ({
  ...hmac,
  template,
  timestampHeader,
})

/** A field is an idempotency key here only if it names one message in all attempts, and no other message. */
const ROWS: Readonly<Record<PresetName, Row>> = {
  'standard-webhooks': {
    hmac: {
      ...timed(base64('webhook-signature', 'v1,'), '{id}.{timestamp}.{body}', 'webhook-timestamp'),
      idHeader: 'webhook-id',
      secretEncoding: 'base64',
    },
    headerPrefixes: ['webhook-', 'svix-'],
    // Most vendors, Clerk, Polar.
    email: '/data/email /data/email_addresses/0/email_address /data/customer/email',
    name: '/data/name /data/fullName /data/first_name + /data/last_name /data/customer/name',
    type: '/type',
    occurredAt: '/timestamp /created_at',
    idempotencyKey: 'header:webhook-id',
  },
  stripe: {
    hmac: timed(hex('stripe-signature', 'v1='), '{timestamp}.{body}'),
    type: '/type',
    occurredAt: '/created',
    idempotencyKey: '/id',
    email: `/data/object/customer_details/email /data/object/billing_details/email /data/object/customer_email
      /data/object/receipt_email /data/object/email /data/object/evidence/customer_email_address`,
    name: `/data/object/customer_details/name /data/object/billing_details/name /data/object/customer_name
      /data/object/name /data/object/evidence/customer_name`,
  },
  github: {
    hmac: hex('x-hub-signature-256', 'sha256='),
    type: 'header:x-github-event',
    idempotencyKey: 'header:x-github-delivery',
    pingType: 'ping',
    // Who acted: the author of a commit may be another person than the one who pushes it.
    email: '/pusher/email /sender/email',
    name: '/sender/login',
    occurredAt: '/head_commit/timestamp',
  },
  shopify: {
    hmac: base64('x-shopify-hmac-sha256'),
    headerPrefixes: ['x-shopify-', 'shopify-'],
    type: 'header:x-shopify-topic',
    idempotencyKey: 'header:x-shopify-webhook-id',
    email: '/email /contact_email /customer/email',
    name: `/billing_address/name /shipping_address/name /customer/first_name + /customer/last_name
      /first_name + /last_name /default_address/name`,
    occurredAt: 'header:x-shopify-triggered-at /updated_at /created_at',
  },
  typeform: {
    hmac: base64('typeform-signature', 'sha256='),
    type: '/event_type',
    occurredAt: '/form_response/submitted_at',
    idempotencyKey: '/event_id',
    email: `/form_response/hidden/email /form_response/answers[type=email]/email`,
    name: `/form_response/hidden/name /form_response/hidden/first_name + /form_response/hidden/last_name
      /form_response/hidden/firstname + /form_response/hidden/lastname`,
  },
  calendly: {
    hmac: timed(hex('calendly-webhook-signature', 'v1='), '{timestamp}.{body}'),
    type: '/event',
    email: '/payload/email',
    occurredAt: '/created_at',
    name: '/payload/name /payload/first_name + /payload/last_name',
  },
  slack: {
    hmac: timed(hex('x-slack-signature', 'v0='), 'v0:{timestamp}:{body}', 'x-slack-request-timestamp'),
    // A slash command has no type. Of an interaction, the names are logins.
    type: '/event/type /type /command',
    occurredAt: '/event_time',
    idempotencyKey: '/event_id',
    email: '/event/user/profile/email',
    name: '/event/user/profile/real_name /event/user/real_name /user/name /user_name',
    challenge: { from: '/challenge', reply: 'text', verified: true },
    probe: { from: '/ssl_check', reply: 'text' },
    // Slack shows any other answer to the person who clicked: as a message, or as an error.
    answer: { status: 200, contentType: 'text/plain', body: '' },
  },
  intercom: {
    hmac: { ...hex('x-hub-signature', 'sha1='), algorithm: 'sha1' },
    type: '/topic',
    pingType: 'ping',
    occurredAt: '/created_at',
    idempotencyKey: '/id',
    email: '/data/item/email /data/item/user/email /data/item/source/author/email',
    name: '/data/item/name /data/item/user/name /data/item/source/author/name',
  },
  'cal.com': {
    hmac: hex('x-cal-signature-256'),
    type: '/triggerEvent',
    pingType: 'PING',
    occurredAt: '/createdAt',
    email: '/payload/attendees/0/email /payload/responses/email/value',
    name: `/payload/attendees/0/name /payload/responses/name/value
      /payload/responses/name/value/firstName + /payload/responses/name/value/lastName`,
  },
  tally: {
    hmac: base64('tally-signature'),
    type: '/eventType',
    occurredAt: '/createdAt',
    idempotencyKey: '/eventId',
    email:
      '/data/fields[type=INPUT_EMAIL]/value /data/fields[label=email]/value /data/fields[label=Email]/value',
    // The labels were chosen by the author of the form.
    name: `/data/fields[label=Name]/value /data/fields[label=Full name]/value
      /data/fields[label=First name]/value + /data/fields[label=Last name]/value /data/fields[label=name]/value`,
  },
  woocommerce: {
    hmac: base64('x-wc-webhook-signature'),
    type: 'header:x-wc-webhook-topic',
    email: '/email /billing/email',
    // An unsigned form.
    challenge: { from: '/webhook_id', reply: 'text' },
    name: '/first_name + /last_name /billing/first_name + /billing/last_name',
    // In UTC, without a sign of it.
    occurredAt: '/date_modified_gmt + =Z /date_created_gmt + =Z',
  },
  paddle: {
    hmac: timed(hex('paddle-signature', 'h1='), '{timestamp}:{body}'),
    type: '/event_type',
    occurredAt: '/occurred_at',
    idempotencyKey: '/event_id',
    email: '/data/email',
    name: '/data/name',
  },
  zendesk: {
    hmac: timed(
      base64('x-zendesk-webhook-signature'),
      '{timestamp}{body}',
      'x-zendesk-webhook-signature-timestamp',
    ),
    type: '/type',
    email: '/detail/email',
    occurredAt: '/time',
    idempotencyKey: '/id',
  },
  hubspot: {
    hmac: timed(
      base64('x-hubspot-signature-v3'),
      '{method}{url}{body}{timestamp}',
      'x-hubspot-request-timestamp',
    ),
    type: '/subscriptionType /eventType',
    occurredAt: '/occurredAt',
    each: '',
    // A workflow sends one object: a contact, or the properties that were chosen.
    email: '/properties/email/value /properties/email /email',
    name: `/properties/firstname/value + /properties/lastname/value
      /properties/firstname + /properties/lastname /firstname + /lastname`,
  },
  meta: {
    hmac: hex('x-hub-signature-256', 'sha256='),
    // A message of a page or of Instagram has no changes: then the entry is the activity.
    type: '/field /object',
    occurredAt: '/value/created_time /time',
    each: '/entry/*/changes',
    challenge: { from: 'query:hub.challenge', reply: 'text', hookIdAt: 'query:hub.verify_token' },
  },
  'lemon-squeezy': {
    hmac: hex('x-signature'),
    type: '/meta/event_name',
    email: '/data/attributes/user_email',
    name: '/data/attributes/user_name',
  },
  webflow: {
    hmac: timed(hex('x-webflow-signature'), '{timestamp}:{body}', 'x-webflow-timestamp'),
    type: '/triggerType',
    occurredAt: '/payload/submittedAt',
    email: '/payload/data/email /payload/data/Email',
    name: '/payload/data/name /payload/data/Name',
  },
  linkedin: {
    hmac: { ...hex('x-li-signature'), template: 'hmacsha256={body}' },
    type: '/type',
    occurredAt: '/occurredAt',
    // Repeated every two hours.
    challenge: {
      from: 'query:challengeCode',
      reply: { challengeCode: 'query:challengeCode', challengeResponse: 'hmac-sha256-hex' },
    },
  },
  zoom: {
    hmac: timed(hex('x-zm-signature', 'v0='), 'v0:{timestamp}:{body}', 'x-zm-request-timestamp'),
    type: '/event',
    occurredAt: '/event_ts',
    email: '/payload/object/registrant/email /payload/object/participant/email',
    name: `/payload/object/registrant/first_name + /payload/object/registrant/last_name
      /payload/object/participant/user_name`,
    challenge: {
      from: '/payload/plainToken',
      reply: { plainToken: '/payload/plainToken', encryptedToken: 'hmac-sha256-hex' },
    },
  },
  dropbox: {
    hmac: hex('x-dropbox-signature'),
    type: '=list_folder',
    challenge: { from: 'query:challenge', reply: 'text' },
  },
  'microsoft-graph': {
    type: '/changeType',
    idempotencyKey: '/id',
    each: '/value',
    challenge: { from: 'query:validationToken', reply: 'text' },
  },
  sendgrid: {
    type: '/event',
    email: '/email',
    occurredAt: '/timestamp',
    idempotencyKey: '/sg_event_id',
    each: '',
  },
  // Sends one event, or a list of up to 500.
  brevo: {
    type: '/event',
    email: '/email',
    occurredAt: '/ts_epoch /ts_event /ts',
    each: '',
  },
  monday: {
    type: '/event/type',
    occurredAt: '/event/triggerTime',
    idempotencyKey: '/event/triggerUuid',
    email: '/event/columnValues/email/email',
    name: '/event/pulseName',
    challenge: { from: '/challenge', reply: { challenge: '/challenge' } },
  },
  mailchimp: {
    type: '/type',
    email: '/data[email] /data[new_email]',
    name: '/data[merges][FNAME] + /data[merges][LNAME]',
  },
}

/** Not the blanks of a sum, or within a place. */
const BETWEEN = /(?<! \+)\s+(?=\/|header:|query:)/

const presetOf = ({
  hmac,
  headerPrefixes,
  each,
  challenge,
  probe,
  answer,
  pingType,
  ...places
}: Row): Preset => ({
  ...(hmac && { hmac }),
  ...(headerPrefixes && { headerPrefixes }),
  ...(each !== undefined && { each }),
  ...(challenge && { challenge }),
  ...(probe && { probe }),
  ...(answer && { answer }),
  ...(pingType !== undefined && { pingType }),
  map: Object.fromEntries(Object.entries(places).map(([member, text]) => [member, text.split(BETWEEN)])),
})
export const PRESET_ROWS = Object.fromEntries(
  Object.entries(ROWS).map(([name, row]) => [name, presetOf(row)]),
) as Readonly<Record<PresetName, Preset>>
