import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { verifyWebhook } from '../../src/client/prospect-pages.ts'

const newSecret = () => `whsec_${randomBytes(24).toString('base64')}`
const secret = newSecret()
const other = newSecret()
const EVENT = { type: 'prospect.created', timestamp: '2026-11-22T09:00:00.000Z', data: { name: 'Zoë' } }
const BODY = JSON.stringify(EVENT)
const MINUTE_MS = 60_000
/** As the independent package signs it. */
const signed = ({ by = [secret], agoMs = 0, id = 'event_1' } = {}) => {
  const at = new Date(Date.now() - agoMs)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': by.map((one) => new Webhook(one).sign(id, at, BODY)).join(' '),
  }
}

t.test('a webhook is verified on text or bytes, with headers of any kind', async (t) => {
  const headers = signed()
  const lists = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
  )
  const all = new Headers(headers)
  const bytes = new TextEncoder().encode(BODY)
  const reader = { get: (name: string) => all.get(name) }
  for (const given of [headers, all, reader, { ...lists, ':method': 'POST', host: undefined }])
    for (const body of [BODY, Buffer.from(BODY), bytes, bytes.buffer])
      t.strictSame(await verifyWebhook({ secrets: secret, headers: given, body }), {
        eventId: 'event_1',
        ...EVENT,
      })
})

t.test('any of the secrets may fit any of the signatures', async (t) => {
  const verified = (secrets: string | string[], by: string[]) =>
    verifyWebhook({ secrets, headers: signed({ by }), body: BODY }).then(
      () => true,
      () => false,
    )
  t.equal(await verified([other, secret], [secret]), true)
  t.equal(await verified(secret, [other, secret]), true)
  t.equal(await verified(other, [secret]), false)
  t.equal(await verified([], [secret]), false)
  for (const unusable of ['', 'whsec_', 'whsec_\n', 'whsec_a-b', undefined as never]) {
    t.equal(await verified([unusable, secret], [secret]), true, 'it is passed over')
    t.equal(await verified(unusable, [secret]), false)
  }
})

t.test('what was changed, sent long ago or not signed at all is refused', async (t) => {
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
