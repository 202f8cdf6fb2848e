import type { Hmac, HookMap, PresetName } from '../../shapes/hook.ts'

/** How a vendor signs, and where its messages have what an activity consists of. */
export type Preset = {
  /** Absent if the vendor signs nothing: the address has a token. */
  readonly hmac?: Hmac
  readonly map: HookMap
  readonly each?: string
  /**
   * What the vendor asks before it begins. `url_verification`: a signed challenge in the body; `hub.challenge`: one in the query
   * of a GET, with the id of the hook as `hub.verify_token`; `webhook_id`: an unsigned form with nothing else.
   */
  readonly handshake?: 'url_verification' | 'hub.challenge' | 'webhook_id'
}

const HEX: Omit<Hmac, 'header'> = {
  ...{ algorithm: 'sha256', encoding: 'hex', prefix: '', template: '{body}' },
  ...{ toleranceSeconds: 300, secretEncoding: 'utf8' },
}
const BASE64 = { ...HEX, encoding: 'base64' } as const
/** A time and signatures in one header: `t=…,v1=…`. */
const timed = (header: string): Hmac => ({
  ...{ ...HEX, header, timestampHeader: header },
  ...{ prefix: 'v1=', template: '{timestamp}.{body}' },
})

/** Only what names one message in all attempts, and no other message, is an idempotency key here. */
export const PRESET_ROWS: Readonly<Record<PresetName, Preset>> = {
  'standard-webhooks': {
    hmac: {
      ...{ ...BASE64, header: 'webhook-signature', prefix: 'v1,', secretEncoding: 'base64' },
      ...{
        template: '{id}.{timestamp}.{body}',
        idHeader: 'webhook-id',
        timestampHeader: 'webhook-timestamp',
      },
    },
    map: {
      type: ['/type'],
      email: ['/data/email'],
      name: ['/data/name', '/data/fullName'],
      occurredAt: ['/timestamp'],
      idempotencyKey: ['header:webhook-id'],
    },
  },
  stripe: {
    hmac: timed('stripe-signature'),
    map: {
      type: ['/type'],
      email: [
        '/data/object/customer_details/email',
        '/data/object/billing_details/email',
        '/data/object/customer_email',
        '/data/object/receipt_email',
        '/data/object/email',
      ],
      name: [
        '/data/object/customer_details/name',
        '/data/object/billing_details/name',
        '/data/object/customer_name',
        '/data/object/name',
      ],
      occurredAt: ['/created'],
      idempotencyKey: ['/id'],
    },
  },
  github: {
    hmac: { ...HEX, header: 'x-hub-signature-256', prefix: 'sha256=' },
    map: {
      type: ['header:x-github-event'],
      email: ['/pusher/email', '/head_commit/author/email', '/sender/email'],
      name: ['/head_commit/author/name', '/sender/login'],
      occurredAt: ['/head_commit/timestamp'],
      idempotencyKey: ['header:x-github-delivery'],
    },
  },
  shopify: {
    hmac: { ...BASE64, header: 'x-shopify-hmac-sha256' },
    map: {
      type: ['header:x-shopify-topic'],
      email: ['/email', '/contact_email', '/customer/email'],
      name: ['/billing_address/name', '/shipping_address/name', '/default_address/name'],
      occurredAt: ['header:x-shopify-triggered-at', '/updated_at', '/created_at'],
      idempotencyKey: ['header:x-shopify-webhook-id'],
    },
  },
  typeform: {
    hmac: { ...BASE64, header: 'typeform-signature', prefix: 'sha256=' },
    map: {
      type: ['/event_type'],
      email: [
        '/form_response/hidden/email',
        // Only an answer to a question for an email has this member.
        ...Array.from({ length: 9 }, (_, i) => `/form_response/answers/${i}/email`),
      ],
      name: ['/form_response/hidden/name'],
      occurredAt: ['/form_response/submitted_at'],
      idempotencyKey: ['/event_id'],
    },
  },
  calendly: {
    hmac: timed('calendly-webhook-signature'),
    map: {
      type: ['/event'],
      email: ['/payload/email'],
      name: ['/payload/name'],
      occurredAt: ['/created_at'],
    },
  },
  slack: {
    hmac: {
      ...{ ...HEX, header: 'x-slack-signature', prefix: 'v0=' },
      ...{ template: 'v0:{timestamp}:{body}', timestampHeader: 'x-slack-request-timestamp' },
    },
    map: {
      type: ['/event/type', '/type'],
      email: ['/event/user/profile/email'],
      name: ['/event/user/profile/real_name', '/event/user/real_name'],
      occurredAt: ['/event_time'],
      idempotencyKey: ['/event_id'],
    },
    handshake: 'url_verification',
  },
  intercom: {
    hmac: { ...HEX, algorithm: 'sha1', header: 'x-hub-signature', prefix: 'sha1=' },
    map: {
      type: ['/topic'],
      email: ['/data/item/email', '/data/item/user/email', '/data/item/source/author/email'],
      name: ['/data/item/name', '/data/item/user/name', '/data/item/source/author/name'],
      occurredAt: ['/created_at'],
      idempotencyKey: ['/id'],
    },
  },
  'cal.com': {
    hmac: { ...HEX, header: 'x-cal-signature-256' },
    map: {
      type: ['/triggerEvent'],
      email: ['/payload/attendees/0/email', '/payload/responses/email/value'],
      name: ['/payload/attendees/0/name', '/payload/responses/name/value'],
      occurredAt: ['/createdAt'],
    },
  },
  tally: {
    hmac: { ...BASE64, header: 'tally-signature' },
    map: { type: ['/eventType'], occurredAt: ['/createdAt'], idempotencyKey: ['/eventId'] },
  },
  woocommerce: {
    hmac: { ...BASE64, header: 'x-wc-webhook-signature' },
    map: { type: ['header:x-wc-webhook-topic'], email: ['/billing/email', '/email'] },
    handshake: 'webhook_id',
  },
  paddle: {
    hmac: {
      ...{ ...HEX, header: 'paddle-signature', prefix: 'h1=' },
      ...{ template: '{timestamp}:{body}', timestampHeader: 'paddle-signature' },
    },
    map: {
      type: ['/event_type'],
      email: ['/data/email'],
      name: ['/data/name'],
      occurredAt: ['/occurred_at'],
      idempotencyKey: ['/event_id'],
    },
  },
  zendesk: {
    hmac: {
      ...{ ...BASE64, header: 'x-zendesk-webhook-signature', template: '{timestamp}{body}' },
      timestampHeader: 'x-zendesk-webhook-signature-timestamp',
    },
    map: {
      type: ['/type'],
      email: ['/detail/email'],
      occurredAt: ['/time'],
      idempotencyKey: ['/id'],
    },
  },
  hubspot: {
    hmac: {
      ...{ ...BASE64, header: 'x-hubspot-signature-v3', template: '{method}{url}{body}{timestamp}' },
      timestampHeader: 'x-hubspot-request-timestamp',
    },
    map: { type: ['/subscriptionType', '/eventType'], occurredAt: ['/occurredAt'] },
    each: '',
  },
  meta: {
    hmac: { ...HEX, header: 'x-hub-signature-256', prefix: 'sha256=' },
    map: {
      type: ['/changes/0/field', '/object'],
      occurredAt: ['/changes/0/value/created_time', '/time'],
      idempotencyKey: ['/changes/0/value/leadgen_id'],
    },
    each: '/entry',
    handshake: 'hub.challenge',
  },
  'lemon-squeezy': {
    hmac: { ...HEX, header: 'x-signature' },
    map: {
      type: ['/meta/event_name'],
      email: ['/data/attributes/user_email', '/data/attributes/email'],
      name: ['/data/attributes/user_name', '/data/attributes/name'],
    },
  },
  webflow: {
    hmac: {
      ...{ ...HEX, header: 'x-webflow-signature' },
      ...{ template: '{timestamp}:{body}', timestampHeader: 'x-webflow-timestamp' },
    },
    map: {
      type: ['/triggerType'],
      email: ['/payload/data/email', '/payload/data/Email', '/payload/customerInfo/email'],
      name: ['/payload/data/name', '/payload/data/Name', '/payload/customerInfo/fullName'],
      occurredAt: ['/payload/submittedAt'],
    },
  },
  mailchimp: {
    map: { type: ['/type'], email: ['/data[email]', '/data[new_email]'] },
  },
}
