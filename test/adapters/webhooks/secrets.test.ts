import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { createSecrets, createSecretsWith } from '../../../src/adapters/webhooks/secrets.ts'
import { signatureHeaders } from '../../../src/adapters/webhooks/signature.ts'

t.test('a secret is encrypted with the key, each time differently', async (t) => {
  const secrets = createSecrets(randomBytes(32))
  const { secret, sealed } = secrets.issue()
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.notMatch(sealed, /whsec_/)
  t.equal(secrets.open(sealed), secret)
  t.not(secrets.issue().secret, secret)
})

t.test('without a key it is stored as text, and can still be read once a key is set', async (t) => {
  const { secret, sealed } = createSecrets(null).issue()
  t.equal(Buffer.from(sealed.replace('plain:', ''), 'base64').toString(), secret)
  t.equal(createSecrets(randomBytes(32)).open(sealed), secret)
})

t.test('one that was encrypted with another key, or was changed, is not opened', async (t) => {
  const key = randomBytes(32)
  const { sealed } = createSecrets(key).issue()
  t.equal(createSecrets(null).open(sealed), null)
  t.equal(createSecrets(randomBytes(32)).open(sealed), null)
  for (const changed of [`${sealed.slice(0, -8)}AAAAAAA=`, 'v1:', 'v1:AAAA', 'v2:AAAA', ''])
    t.equal(createSecrets(key).open(changed), null)
})

t.test('a key that is replaced seals from then on, and older keys still open', async (t) => {
  const first = randomBytes(32)
  const second = randomBytes(32)
  let keys = { newest: first, older: [] as Buffer[] }
  let looks = 0
  const secrets = createSecretsWith(() => {
    looks++
    return keys
  })
  const old = secrets.issue()
  keys = { newest: second, older: [first] }
  const byAnotherProcess = createSecrets(second).issue()
  t.equal(secrets.open(byAnotherProcess.sealed), byAnotherProcess.secret, 'a newer key than it knew')
  const looksBefore = looks
  t.equal(secrets.open(old.sealed), old.secret)
  t.equal(looks, looksBefore, 'the files are not read for a secret that a known key opens')
  const renewed = secrets.reseal(old.sealed) ?? ''
  t.equal(createSecrets(second).open(renewed), old.secret)
  t.equal(createSecrets(second).open(secrets.seal('x')), 'x')
  t.equal(secrets.open(createSecrets(randomBytes(32)).seal('x')), null)
})

const body = '{"type":"prospect.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"name":"Zoë 🌷"}}'

t.test('an independent library verifies the signatures, with each secret during a rotation', async (t) => {
  const secrets = createSecrets(null)
  const old = secrets.issue().secret
  const next = secrets.issue().secret
  const foreign = secrets.issue().secret
  const headers = signatureHeaders(
    { url: '', method: 'POST', secrets: [next, old], eventId: 'event_01', headers: {}, hops: 1, body },
    Date.now(),
  )
  t.match(headers, { 'webhook-id': 'event_01', 'webhook-signature': /^v1,\S{44} v1,\S{44}$/ })
  for (const secret of [old, next]) t.match(new Webhook(secret).verify(body, headers), JSON.parse(body))
  t.throws(() => new Webhook(foreign).verify(body, headers))
  t.throws(() => new Webhook(next).verify(`${body} `, headers))
  t.throws(() => new Webhook(next).verify(body, { ...headers, 'webhook-id': 'event_02' }))
  const late = signatureHeaders(
    { url: '', method: 'POST', secrets: [next], eventId: 'event_01', headers: {}, hops: 1, body },
    Date.now() - 600_000,
  )
  t.throws(() => new Webhook(next).verify(body, late), 'the time of the attempt is signed')
})
