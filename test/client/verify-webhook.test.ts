import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { verifyWebhook } from '../../src/client/prospect-pages.ts'

const newSecret = () => `whsec_${randomBytes(24).toString('base64')}`
const secret = newSecret()
const otherSecret = newSecret()
const EVENT = { type: 'prospect.created', timestamp: '2026-11-22T09:00:00.000Z', data: { name: 'Zoë' } }
const BODY = JSON.stringify(EVENT)
const MINUTE_MS = 60_000
/** Headers of a webhook signed by the independent package `standardwebhooks`. */
const signed = ({ secrets = [secret], agoMs = 0, id = 'event_1' } = {}) => {
  const at = new Date(Date.now() - agoMs)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((key) => new Webhook(key).sign(id, at, BODY)).join(' '),
  }
}

t.test('a webhook is verified on text or bytes, with headers of any kind', async (t) => {
  const headers = signed()
  const ofFetch = new Headers(headers)
  const withGetOnly = { get: (name: string) => ofFetch.get(name) }
  const inUpperCase = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]])
  const ofNode = { ...Object.fromEntries(inUpperCase), ':method': 'POST', host: undefined }
  const bytes = new TextEncoder().encode(BODY)
  for (const kind of [headers, ofFetch, withGetOnly, ofNode])
    for (const body of [BODY, Buffer.from(BODY), bytes, bytes.buffer]) {
      const event = await verifyWebhook({ secrets: secret, headers: kind, body })
      t.strictSame(event, { eventId: 'event_1', ...EVENT })
    }
})

t.test('one secret that fits one signature is enough', async (t) => {
  const verified = (secrets: string | string[], signers: string[]) =>
    verifyWebhook({ secrets, headers: signed({ secrets: signers }), body: BODY }).then(
      () => true,
      () => false,
    )
  t.equal(await verified([otherSecret, secret], [secret]), true)
  t.equal(await verified(secret, [otherSecret, secret]), true)
  t.equal(await verified(otherSecret, [secret]), false)
  t.equal(await verified([], [secret]), false)
  for (const unusable of ['', 'whsec_', 'whsec_\n', 'whsec_a-b', undefined as never]) {
    t.equal(await verified([unusable, secret], [secret]), true, 'an unusable secret is ignored')
    t.equal(await verified(unusable, [secret]), false)
  }
})

t.test('a webhook that was changed, sent long ago or not signed is refused', async (t) => {
  const refused = (headers: Record<string, string>, body = BODY) =>
    t.rejects(verifyWebhook({ secrets: secret, headers, body }), { status: 0, code: 'invalid_signature' })
  const good = signed()
  await refused(good, `${BODY} `)
  await refused({ ...good, 'webhook-id': 'event_2' })
  await refused({ ...good, 'webhook-timestamp': String(Number(good['webhook-timestamp']) + 1) })
  await refused(signed({ agoMs: 6 * MINUTE_MS }))
  await refused(signed({ agoMs: -6 * MINUTE_MS }))
  await t.resolves(
    verifyWebhook({
      secrets: secret,
      headers: { ...good, 'webhook-signature': `v1,${'_'.repeat(43)}= ${good['webhook-signature']}` },
      body: BODY,
    }),
  )
  for (const signature of ['', 'v1,', 'v1,AAAA', 'v1a,x', good['webhook-signature'].replace('v1', 'v2')])
    await refused({ ...good, 'webhook-signature': signature })
  await refused({ ...good, 'webhook-timestamp': 'now' })
  await refused({})
  await t.resolves(verifyWebhook({ secrets: secret, headers: signed({ agoMs: 4 * MINUTE_MS }), body: BODY }))
})
