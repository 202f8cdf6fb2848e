import { createHmac, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { signatureHeaders } from '../../src/adapters/webhooks/signature.ts'
import type { Hook } from '../../src/shapes/hook.ts'
import { SECRET, SIGNED, signatureOf } from '../support/hooks.ts'
import { overStores } from '../support/stores.ts'
import { HOUR_MS, NOW, NOW_TEXT, openHooks, PUBLIC_URL } from './hook-scene.ts'

const NOW_S = NOW / 1_000
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const signed = (signature: string) => ({ 'x-signature': signature })

overStores(
  async (t, kind) => {
    t.test('a delivery without a signature is 401, and the hook says why', async (t) => {
      const { create, send, readOnceSet, logs } = await openHooks(t, kind)
      const hook = await create()
      const unsigned = await send(hook.path)
      t.equal(unsigned.status, 401)
      t.equal(unsigned.headers['www-authenticate'], 'Signature realm="prospect-pages"')
      t.match(unsigned.json, {
        code: 'invalid_signature',
        detail: 'The signature header x-signature is missing.',
      })
      t.strictSame(await readOnceSet(hook, 'lastRefusal'), {
        at: NOW_TEXT,
        reason: 'The signature header x-signature is missing. Check that the sender has the secret.',
      })
      t.strictSame(await logs(), [])
    })

    t.test('a wrong signature is 401; the right one may stand in capitals, spaces or a list', async (t) => {
      const { clock, create, send, logs } = await openHooks(t, kind)
      const hook = await create()
      const right = signatureOf('{}')
      for (const wrong of ['', '0', 'é', ',', signatureOf('{ }'), 'a'.repeat(100_000)])
        t.match(await send(hook.path, '{}', signed(wrong)), { status: 401 })
      const variants = [right.toUpperCase(), `${signatureOf('x')}, ${right}`, ` ${right} `]
      for (const variant of variants)
        t.match(await send(hook.path, '{}', signed(variant)), { status: 200 }, variant)

      clock.advance(1)
      t.equal((await send(hook.path, '{}', signed(right))).status, 200, 'the same bytes once more')
      t.equal((await logs()).length, variants.length + 1)
    })

    t.test('a signed timestamp may be five minutes off, and no more', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path } = await create({ verify: { preset: 'stripe', secret: SECRET } })
      const sendAt = (secondsFromNow: number) => {
        const timestamp = NOW_S + secondsFromNow
        const signature = signatureOf(`${timestamp}.{}`)
        return send(path, '{}', { 'stripe-signature': `t=${timestamp},v1=${signature}` })
      }
      for (const seconds of [-300, 0, 300]) t.equal((await sendAt(seconds)).status, 200)
      for (const seconds of [-301, 301]) {
        const { status, json } = await sendAt(seconds)
        t.equal(status, 401)
        t.match(json.detail, /its timestamp is not within 300/)
      }
      const withoutTimestamp = { 'stripe-signature': `v1=${signatureOf('{}')}` }
      t.match(await send(path, '{}', withoutTimestamp), { status: 401 })
      t.equal((await logs()).length, 3)
    })

    t.test('a token is part of the URL of its hook', async (t) => {
      const { create, send } = await openHooks(t, kind)
      const { path, url } = await create({ verify: { token: true } })
      t.match(path, /^\/hooks\/hook_[a-z0-9]{26}\/pph_[A-Za-z0-9]{36}$/)
      t.equal(url, PUBLIC_URL + path)
      t.equal((await send(path)).status, 200)
    })

    t.test('an unknown hook, a wrong token and a disabled hook are 404, in the same words', async (t) => {
      const { call, create, send } = await openHooks(t, kind)
      const bySignature = await create()
      const byToken = await create({ verify: { token: true } })
      const disabled = await create()
      await call(`PATCH /v0/hooks/${disabled.hookId}`, { json: { status: 'disabled' } })
      const headers = { 'x-signature': signatureOf('{}'), 'x-request-id': 'same' }

      const unknown = await send('/hooks/none', '{}', headers)
      t.equal(unknown.status, 404)
      t.match(unknown.json, { code: 'hook_not_found' })
      const paths = [
        `/hooks/hook_${'0'.repeat(26)}`,
        `/hooks/${byToken.hookId}`,
        `/hooks/${byToken.hookId}/pph_wrong`,
        `/hooks/${byToken.hookId}/%E2%80%A2%E2%80%A2%E2%80%A2`,
        `${bySignature.path}/token`,
        disabled.path,
      ]
      for (const path of paths) t.equal((await send(path, '{}', headers)).text, unknown.text, path)
      t.equal((await send(`${byToken.path}/`)).status, 404)
      t.equal((await send(`${byToken.path}/more`)).status, 404)
    })

    t.test('a GET or HEAD with the right token is 200 and empty, with a wrong one 404', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path } = await create({ verify: { preset: 'mailchimp' } })
      for (const method of ['GET', 'HEAD']) {
        t.match(await send(path, '', {}, method), { status: 200, text: '' })
        t.equal((await send(`${path}x`, '', {}, method)).status, 404)
      }
      t.strictSame(await logs(), [])
    })

    t.test("Meta's challenge is returned if it comes with the id of the hook", async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path, hookId } = await create({ verify: { preset: 'meta', secret: SECRET } })
      const challenge = 'hub.mode=subscribe&hub.challenge=1158201444'
      const ask = (token: string) => send(`${path}?${challenge}&hub.verify_token=${token}`, '', {}, 'GET')
      t.equal((await ask(hookId)).text, '1158201444')
      t.equal((await ask('another')).text, '')
      t.strictSame(await logs(), [])
    })

    t.test("Slack's challenge is returned if it is signed, and not logged", async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path } = await create({ verify: { preset: 'slack', secret: SECRET } })
      const body = '{"type":"url_verification","challenge":"3eZbrw1a"}'
      const signedFor = (text: string) => ({
        'x-slack-request-timestamp': String(NOW_S),
        'x-slack-signature': `v0=${signatureOf(`v0:${NOW_S}:${text}`)}`,
      })
      t.match(await send(path, body, signedFor(body)), { status: 200, text: '3eZbrw1a' })
      t.equal((await send(path, body, signedFor('{}'))).status, 401)
      t.strictSame(await logs(), [])
    })

    t.test("Slack's check of the certificate is 200 without a signature, and not logged", async (t) => {
      const { create, send, logs, readOnceSet } = await openHooks(t, kind)
      const hook = await create({ verify: { preset: 'slack', secret: SECRET } })
      t.match(await send(hook.path, 'ssl_check=1&token=Jhj5dZrV', FORM), { status: 200, text: '1' })
      t.equal((await send(hook.path, 'command=%2Fssl_check&text=ssl_check', FORM)).status, 401)
      t.strictSame(await logs(), [])
      t.match(await readOnceSet(hook, 'lastRefusal'), { reason: /is missing/ })
    })

    t.test('Slack gets an empty answer, which it shows to no one', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path, answer } = await create({ verify: { preset: 'slack', secret: SECRET } })
      t.strictSame(answer, { status: 200, contentType: 'text/plain', body: '' })
      const sendSigned = (body: string) =>
        send(path, body, {
          ...FORM,
          'x-slack-request-timestamp': String(NOW_S),
          'x-slack-signature': `v0=${signatureOf(`v0:${NOW_S}:${body}`)}`,
        })
      const command = 'command=%2Fdemo&text=hello&user_id=U1&user_name=ada'
      t.match(await sendSigned(command), { status: 200, text: '' })
      const interaction = JSON.stringify({ type: 'view_submission', user: { id: 'U2', name: 'grace' } })
      t.match(await sendSigned(`payload=${encodeURIComponent(interaction)}`), { status: 200, text: '' })
      t.match(await logs(), [{ type: 'view_submission' }, { type: '/demo' }])
      const chosen = await create({
        verify: { preset: 'slack', secret: SECRET },
        answer: { body: 'Thank you.' },
      })
      t.match(chosen.answer, { body: 'Thank you.' })
    })

    t.test("a body like Slack's challenge is an activity for a hook of another vendor", async (t) => {
      const { create, deliver } = await openHooks(t, kind)
      const hook = await create()
      const { json } = await deliver(hook, '{"type":"url_verification","challenge":"3eZbrw1a"}')
      t.equal(json.prospectLogIds?.length, 1)
    })

    t.test("WooCommerce's unsigned ping is 200, and nothing else unsigned is", async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path } = await create({ verify: { preset: 'woocommerce', secret: SECRET } })
      t.match(await send(path, 'webhook_id=7', FORM), { status: 200, text: '7' })
      t.equal((await send(path, 'a=b', FORM)).status, 401)
      t.strictSame(await logs(), [])
    })

    t.test(
      'a vendor that checks the address gets the answer that it expects, and nothing is logged',
      async (t) => {
        const { create, send, logs, readOnceSet } = await openHooks(t, kind)
        const secret = { secret: SECRET }
        const signedBy = (text: string) => signatureOf(text)
        const plain = 'text/plain'
        const answered = async (
          fields: object,
          { query = '', body = '', method = 'POST' },
          [type, expected]: readonly [type: string, expected: unknown],
        ) => {
          const { path } = await create(fields)
          const { status, headers, text } = await send(path + query, body, {}, method)
          t.equal(status, 200, text)
          t.equal(headers['content-type'], type)
          t.strictSame(type === plain ? text : JSON.parse(text), expected)
        }
        await answered(
          { verify: { preset: 'microsoft-graph' } },
          { query: '?validationToken=Validation%3A+Testing%20client+application' },
          [plain, 'Validation: Testing client application'],
        )
        const challengeCode = '890e4665-4dfe-4ab1-b689-ed553bceeed0'
        await answered(
          { verify: { preset: 'linkedin', ...secret } },
          { query: `?challengeCode=${challengeCode}&applicationId=1`, method: 'GET' },
          ['application/json', { challengeCode, challengeResponse: signedBy(challengeCode) }],
        )
        const plainToken = 'qgg8vlvZRS6UYooatFL8Aw'
        await answered(
          { verify: { preset: 'zoom', ...secret } },
          { body: JSON.stringify({ payload: { plainToken }, event: 'endpoint.url_validation' }) },
          ['application/json', { plainToken, encryptedToken: signedBy(plainToken) }],
        )
        await answered(
          { verify: { preset: 'monday' } },
          { body: '{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}' },
          ['application/json', { challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P' }],
        )
        await answered(
          { verify: { preset: 'dropbox', ...secret } },
          { query: '?challenge=abc-123', method: 'GET' },
          [plain, 'abc-123'],
        )
        const challenge = {
          from: 'header:X-Hook-Secret',
          reply: { 'x~1': 'header:x-hook-secret', s: 'hmac-sha256-base64' },
        }
        const { path } = await create({ challenge })
        const own = await send(path, '{"a":1}', { 'x-hook-secret': 'abc' })
        t.strictSame(JSON.parse(own.text), {
          'x~1': 'abc',
          s: Buffer.from(signatureOf('abc'), 'hex').toString('base64'),
        })
        t.equal((await send(path, `{"a":"${'x'.repeat(4_096)}"}`, { 'x-hook-secret': 'abc' })).status, 200)
        const inBody = await create({ challenge: { ...challenge, hookIdAt: '/a' } })
        const long = `{"a":"${inBody.hookId}","b":"${'x'.repeat(4_096)}"}`
        t.equal(
          (await send(inBody.path, long, { 'x-hook-secret': 'abc' })).status,
          401,
          'too long to be read',
        )
        t.strictSame(await logs(), [])

        const verified = await create({ challenge: { from: '/a~1b', reply: 'text', verified: true } })
        const asked = JSON.stringify({ 'a/b': 'c' })
        t.equal((await send(verified.path, asked)).status, 401, 'the vendor signs it')
        t.match(await readOnceSet(verified, 'lastRefusal'), { reason: /signature header/ })
        t.equal((await send(verified.path, asked, signed(signatureOf(asked)))).text, 'c')
        for (const text of ['<script>', 'é', '', 'a\nb', 'x'.repeat(1_001)]) {
          const body = JSON.stringify({ 'a/b': text })
          const { json } = await send(verified.path, body, signed(signatureOf(body)))
          t.equal(json.prospectLogIds?.length, 1, `no challenge: ${text.slice(0, 9)}`)
        }
      },
    )

    t.test('a challenge that is signed gives no signature for a delivery', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const challenge = { from: 'query:c', reply: { c: 'query:c', s: 'hmac-sha256-hex' } }
      const timed = { ...SIGNED.hmac, template: '{timestamp}{body}', timestampHeader: 'x-time' } as const
      const plain = await create({ challenge })
      const withTime = await create({ challenge, verify: { ...SIGNED, hmac: timed } })
      const forged = async (path: string, text: string, body: string | Uint8Array, headers = {}) => {
        const answer = await send(`${path}?c=${encodeURIComponent(text)}`, '', {}, 'GET')
        const { s = '0' } = answer.text === '' ? {} : JSON.parse(answer.text)
        const { status } = await send(path, body, { ...signed(s), ...headers })
        t.equal(status, 401, `${text.slice(0, 20)} for ${String(body).slice(0, 20)}`)
      }
      for (const text of [
        'abc',
        '123',
        'true',
        'A-_9',
        '{}',
        '{"email":"ada@example.com"}',
        'a b',
        '"a"',
        '',
        'x'.repeat(129),
      ])
        await forged(plain.path, text, text)
      await forged(plain.path, 'abc', gzipSync('abc'), { 'content-encoding': 'gzip' })
      await forged(withTime.path, `${NOW_S}abc`, 'abc', { 'x-time': `${NOW_S}` })
      await forged(withTime.path, `${NOW_S}`, '', { 'x-time': `${NOW_S}` })
      await forged(withTime.path, `${NOW_S}1`, '1', { 'x-time': `${NOW_S}` })
      t.strictSame(await logs(), [])
      t.equal((await send(plain.path, '{}', signed(signatureOf('{}')))).status, 200)
    })

    t.test('a message that only tests the address is not logged', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const github = await create({ verify: { preset: 'github', secret: SECRET } })
      const intercom = await create({ verify: { preset: 'intercom', secret: SECRET } })
      const cal = await create({ verify: { preset: 'cal.com', secret: SECRET } })
      const nothing = { prospectLogIds: [], replayed: false }
      const zen = '{"zen":"Keep it logically awesome."}'
      const byGithub = { 'x-hub-signature-256': `sha256=${signatureOf(zen)}`, 'x-github-event': 'ping' }
      t.strictSame((await send(github.path, zen, byGithub)).json, nothing)
      const ping = '{"type":"notification_event","topic":"ping"}'
      const sha1 = createHmac('sha1', SECRET).update(ping).digest('hex')
      t.strictSame((await send(intercom.path, ping, { 'x-hub-signature': `sha1=${sha1}` })).json, nothing)
      const test = '{"triggerEvent":"PING","payload":{}}'
      t.strictSame((await send(cal.path, test, { 'x-cal-signature-256': signatureOf(test) })).json, nothing)
      t.strictSame(await logs(), [])
      const star = { ...byGithub, 'x-github-event': 'star' }
      t.equal((await send(github.path, zen, star)).json.prospectLogIds?.length, 1)
    })

    t.test('a delivery that was accepted gets the answer of its hook', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const twiml = { status: 200, contentType: 'text/xml', body: '<Response/>' }
      const byToken = { verify: { token: true } }
      const answerOf = async (answer: object, more: object = {}, headers: object = {}) => {
        const hook = await create({ ...byToken, answer, ...more })
        return send(hook.path, '{}', { 'content-type': 'application/json', ...headers })
      }
      const xml = await answerOf(twiml)
      t.match(xml, { status: 200, text: '<Response/>', headers: { 'content-type': 'text/xml' } })
      t.equal(xml.headers['content-security-policy'], "sandbox; default-src 'none'")
      const empty = await answerOf({ status: 204 })
      t.match(empty, { status: 204, text: '' })
      t.notOk('content-type' in empty.headers)
      t.match(await answerOf({ status: 202, contentType: 'application/json', body: '{"ok":true}' }), {
        status: 202,
        text: '{"ok":true}',
      })
      const redirected = { redirectTo: 'https://example.com' }
      t.equal(
        (await answerOf(twiml, redirected, { accept: 'text/html' })).status,
        303,
        'people are redirected',
      )
      t.equal((await logs()).length, 4)
      const refused = await create({ answer: twiml })
      t.match((await send(refused.path)).json, { code: 'invalid_signature' })
    })

    t.test('a new secret leaves the old one valid for the overlap', async (t) => {
      const { clock, call, create, send } = await openHooks(t, kind)
      const hook = await create()
      const setSecret = async (secret: string, overlapHours: number) => {
        const json = { verify: { ...SIGNED, secret }, overlapHours }
        const answer = await call(`PATCH /v0/hooks/${hook.hookId}`, { json })
        t.equal(answer.status, 200, answer.body)
      }
      const statusWith = async (secret: string) =>
        (await send(hook.path, '{}', signed(signatureOf('{}', secret)))).status

      await setSecret('newer', 1)
      // Sent several times, as by a caller that lost the answers.
      for (let attempt = 0; attempt < 4; attempt++) await setSecret('newest', 2)
      t.equal(await statusWith('newest'), 200)
      t.equal(await statusWith('newer'), 200)
      t.equal(await statusWith(SECRET), 200)

      clock.advance(HOUR_MS)
      t.equal(await statusWith(SECRET), 401, 'a second rotation does not prolong the first overlap')
      t.equal(await statusWith('newer'), 200)

      clock.advance(HOUR_MS)
      t.equal(await statusWith('newest'), 200)
      t.equal(await statusWith('newer'), 401)

      await setSecret('last', 0)
      t.equal(await statusWith('newest'), 401, 'without an overlap the old secret ends at once')
    })

    t.test('a new token leaves the old one valid for a day', async (t) => {
      const { clock, call, create, send } = await openHooks(t, kind)
      const hook = await create({ verify: { token: true } })
      const changed = await call(`PATCH /v0/hooks/${hook.hookId}`, { json: { verify: { token: true } } })
      t.equal(changed.status, 200, changed.body)
      const { path } = changed.json as unknown as Hook
      t.not(path, hook.path)
      t.equal((await send(path)).status, 200)
      t.equal((await send(hook.path)).status, 200)

      clock.advance(24 * HOUR_MS)
      t.equal((await send(hook.path)).status, 404)
      t.equal((await send(path)).status, 200)
    })

    t.test('once a hook is verified by a token, its old secret proves nothing', async (t) => {
      const { call, create, deliver } = await openHooks(t, kind)
      const hook = await create()
      t.equal((await deliver(hook, '{}')).status, 200)
      await call(`PATCH /v0/hooks/${hook.hookId}`, { json: { verify: { token: true } } })
      t.equal((await deliver(hook, '{}')).status, 404)
    })

    t.test('our own webhooks are received by our own hooks', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const secret = `whsec_${randomBytes(32).toString('base64')}`
      const hook = await create({ verify: { preset: 'standard-webhooks', secret } })
      const body = JSON.stringify({
        type: 'prospect.created',
        timestamp: '2026-11-20T09:59:00.000Z',
        data: { prospectId: 'p1', email: 'ada@example.com', name: 'Ada' },
      })
      const webhook = {
        url: '',
        secrets: ['whsec_b2xk', secret],
        eventId: 'event_1',
        method: 'POST' as const,
        headers: {},
        hops: 1,
        body,
      }
      t.equal((await send(hook.path, body, signatureHeaders(webhook, NOW))).status, 200)
      t.match(await logs(), [
        { type: 'prospect.created', email: 'ada@example.com', name: 'Ada', idempotencyKey: 'event_1' },
      ])
    })
  },
  ['memory', 'sqlite', 'postgres', 'citus'],
)
