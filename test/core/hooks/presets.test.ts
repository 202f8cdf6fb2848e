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
        `The signature header ${hmac.header} is missing.`,
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
