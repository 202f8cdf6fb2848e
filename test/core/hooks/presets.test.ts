import t from 'tap'
import { mapperOf } from '../../../src/core/hooks/map-delivery.ts'
import { PRESET_ROWS } from '../../../src/core/hooks/presets.ts'
import { verifierOf } from '../../../src/core/hooks/verify.ts'
import { PRESETS, type PresetName } from '../../../src/shapes/hook-rules.ts'
import deliveries from './deliveries.json' with { type: 'json' }

/**
 * A message of each vendor, in the form of its documentation, and its signature, made by the vendor or by openssl:
 * `printf %s "$signed" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$key`. None was made by the code under test.
 */
const MESSAGES = deliveries.map((message) => ({ ...message, preset: message.preset as PresetName }))
const deliveryOf = ({ headers, body, url }: (typeof MESSAGES)[number]) => ({
  headers: headers as Record<string, string>,
  body: Buffer.from(body),
  method: 'POST',
  url,
})

t.test('there is a message of each preset', async (t) => {
  t.strictSame(new Set(MESSAGES.map(({ preset }) => preset)), new Set(PRESETS))
  t.strictSame(Object.keys(PRESET_ROWS), [...PRESETS])
})

for (const message of MESSAGES) {
  const { preset, secret, now, source, expected } = message
  const { hmac, map, each = null } = PRESET_ROWS[preset]
  const delivery = deliveryOf(message)
  if (hmac && secret !== null)
    t.test(`${preset}, signed by ${source}: verified, and nothing that differs is`, async (t) => {
      const verify = verifierOf(hmac)
      const nowMs = Date.parse(now)
      t.equal(verify(delivery, [secret], nowMs), null)
      t.equal(verify(delivery, ['another', secret], nowMs), null)
      const wrong = 'The signature does not match. Check the secret.'
      t.equal(verify(delivery, [`${secret}BBBB`], nowMs), wrong)
      t.equal(verify({ ...delivery, body: Buffer.from(`${message.body} `) }, [secret], nowMs), wrong)
      const { [hmac.header]: _, ...headers } = delivery.headers
      t.equal(
        verify({ ...delivery, headers }, [secret], nowMs),
        `The signature header ${hmac.header} is missing. Check that the sender has the secret.`,
      )
      const later = verify(delivery, [secret], nowMs + 302_000)
      const stale = 'The signature matches, but its timestamp is not within 300 seconds of now.'
      t.equal(later, hmac.timestampHeader ? stale : null)
    })

  t.test(`${preset}: what a message of it becomes`, async (t) => {
    const activities = await mapperOf(map, each)(delivery, Date.parse(now))
    t.strictSame(
      activities.map(({ payload, ...fields }) => JSON.parse(JSON.stringify(fields))),
      expected,
    )
  })
}

t.test(
  'a secret in base64 may have the prefix whsec_ or not, and a signature its padding or not',
  async (t) => {
    const message = MESSAGES.find(({ preset }) => preset === 'standard-webhooks')
    const { hmac } = PRESET_ROWS['standard-webhooks']
    if (message === undefined || hmac === undefined) throw new Error('there is none')
    const { headers, ...delivery } = deliveryOf(message)
    const secret = String(message.secret)
    for (const known of [secret, secret.slice('whsec_'.length)])
      for (const signature of [headers[hmac.header], headers[hmac.header]?.replace(/=+$/, '')]) {
        const sent = { ...delivery, headers: { ...headers, [hmac.header]: signature } }
        t.equal(verifierOf(hmac)(sent, [known], Date.parse(message.now)), null)
      }
  },
)

/** Further messages as vendors send them, shortened: whom each is about. */
const FURTHER: readonly (readonly [preset: PresetName, what: string, body: unknown, expected: object])[] = [
  [
    'typeform',
    'the email is the twelfth answer',
    {
      event_type: 'form_response',
      form_response: {
        hidden: { first_name: 'Ada', last_name: 'Lovelace' },
        answers: [
          ...Array.from({ length: 11 }, () => ({ type: 'choice', choice: { label: 'Berlin' } })),
          { type: 'email', email: 'ada@example.com', field: { type: 'email' } },
        ],
      },
    },
    { type: 'form_response', email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'typeform',
    'a hidden field without a value',
    {
      form_response: {
        hidden: { email: 'xxxxx', name: '' },
        answers: [
          { type: 'text', text: 'Ada' },
          { type: 'email', email: 'ada@example.com' },
        ],
      },
    },
    { email: 'ada@example.com' },
  ],
  [
    'tally',
    'a short text before the email',
    {
      eventType: 'FORM_RESPONSE',
      data: {
        fields: [
          { label: 'First name', type: 'INPUT_TEXT', value: 'Ada' },
          { label: 'Last name', type: 'INPUT_TEXT', value: 'Lovelace' },
          { label: 'Where do you live?', type: 'INPUT_TEXT', value: 'London' },
          { label: 'Where can we reach you?', type: 'INPUT_EMAIL', value: 'ada@example.com' },
        ],
      },
    },
    { type: 'FORM_RESPONSE', email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'tally',
    'a text that is labelled so',
    { data: { fields: [{ label: 'Email', type: 'INPUT_TEXT', value: 'ada@example.com' }] } },
    { email: 'ada@example.com' },
  ],
  [
    'standard-webhooks',
    'a user of Clerk',
    {
      type: 'user.created',
      timestamp: 1_716_883_200_000,
      data: {
        first_name: 'Ada',
        last_name: 'Lovelace',
        email_addresses: [{ id: 'idn_1', email_address: 'ada@example.com' }],
      },
    },
    {
      type: 'user.created',
      email: 'ada@example.com',
      name: 'Ada Lovelace',
      occurredAt: '2024-05-28T08:00:00.000Z',
    },
  ],
  [
    'standard-webhooks',
    'a contact of Resend',
    {
      type: 'contact.created',
      created_at: '2026-11-20T09:59:50.000Z',
      data: { email: 'ada@example.com', first_name: 'Ada', last_name: '' },
    },
    {
      type: 'contact.created',
      email: 'ada@example.com',
      name: 'Ada',
      occurredAt: '2026-11-20T09:59:50.000Z',
    },
  ],
  [
    'standard-webhooks',
    'an order of Polar',
    { type: 'order.created', data: { customer: { email: 'ada@example.com', name: 'Ada' } } },
    { type: 'order.created', email: 'ada@example.com', name: 'Ada' },
  ],
  [
    'tally',
    'a hidden field',
    { data: { fields: [{ label: 'email', type: 'HIDDEN_FIELDS', value: 'ada@example.com' }] } },
    { email: 'ada@example.com' },
  ],
  [
    'github',
    'a commit of another author',
    {
      pusher: { name: 'grace', email: 'grace@example.com' },
      head_commit: { author: { name: 'Ada Lovelace', email: 'ada@example.com' } },
      sender: { login: 'grace' },
    },
    { email: 'grace@example.com', name: 'grace' },
  ],
  [
    'github',
    'a purchase in the marketplace',
    { action: 'purchased', sender: { login: 'ada', email: 'ada@example.com' } },
    { email: 'ada@example.com', name: 'ada' },
  ],
  [
    'stripe',
    'a dispute',
    {
      type: 'charge.dispute.created',
      data: {
        object: { evidence: { customer_email_address: 'ada@example.com', customer_name: 'Ada Lovelace' } },
      },
    },
    { type: 'charge.dispute.created', email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'slack',
    'an interaction',
    { type: 'view_submission', user: { id: 'U1', name: 'ada' } },
    { type: 'view_submission', name: 'ada' },
  ],
  [
    'slack',
    'a slash command',
    { command: '/demo', user_id: 'U1', user_name: 'ada' },
    { type: '/demo', name: 'ada' },
  ],
  [
    'shopify',
    'a customer',
    { id: 7, email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace', default_address: null },
    { email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'shopify',
    'an order without addresses',
    { name: '#9999', contact_email: 'ada@example.com', customer: { first_name: 'Ada', last_name: null } },
    { email: 'ada@example.com', name: 'Ada' },
  ],
  [
    'woocommerce',
    'a customer whose bills go elsewhere',
    {
      email: 'ada@example.com',
      first_name: 'Ada',
      last_name: 'Lovelace',
      billing: { email: 'office@example.com', first_name: '' },
      date_modified_gmt: '2026-11-20T09:59:50',
    },
    { email: 'ada@example.com', name: 'Ada Lovelace', occurredAt: '2026-11-20T09:59:50.000Z' },
  ],
  [
    'woocommerce',
    'an order of a guest',
    { billing: { first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com' } },
    { email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'mailchimp',
    'a profile with both names',
    {
      type: 'profile',
      'data[email]': 'ada@example.com',
      'data[merges][FNAME]': 'Ada',
      'data[merges][LNAME]': 'Lovelace',
    },
    { type: 'profile', email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'hubspot',
    'a contact of a workflow',
    {
      vid: 1,
      properties: {
        email: { value: 'ada@example.com', versions: [{ value: 'old@example.com' }] },
        firstname: { value: 'Ada' },
        lastname: { value: 'Lovelace' },
      },
    },
    { email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'hubspot',
    'the chosen properties of a workflow',
    { email: 'ada@example.com', firstname: 'Ada', lastname: 'Lovelace' },
    { email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'hubspot',
    'a contact as the CRM API has it',
    { properties: { email: 'ada@example.com', firstname: 'Ada', lastname: '' } },
    { email: 'ada@example.com', name: 'Ada' },
  ],
  [
    'calendly',
    'a form that asks for first and last name',
    {
      event: 'invitee.canceled',
      payload: { email: 'ada@example.com', name: '', first_name: 'Ada', last_name: 'Lovelace' },
    },
    { type: 'invitee.canceled', email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
  [
    'cal.com',
    'an answer of two names',
    {
      triggerEvent: 'BOOKING_REQUESTED',
      payload: {
        attendees: [],
        responses: {
          email: { value: 'ada@example.com' },
          name: { value: { firstName: 'Ada', lastName: 'Lovelace' } },
        },
      },
    },
    { type: 'BOOKING_REQUESTED', email: 'ada@example.com', name: 'Ada Lovelace' },
  ],
]
for (const [preset, what, body, expected] of FURTHER)
  t.test(`${preset}: ${what}`, async (t) => {
    const { map, each = null } = PRESET_ROWS[preset]
    const delivery = { headers: {}, body: Buffer.from(JSON.stringify(body)), method: 'POST', url: null }
    const [activity] = await mapperOf(map, each)(delivery, Date.parse('2026-11-20T10:00:00Z'))
    const { payload, ...fields } = activity ?? {}
    t.strictSame(JSON.parse(JSON.stringify(fields)), { type: 'webhook', ...expected })
  })
