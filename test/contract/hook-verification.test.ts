import { randomBytes } from 'node:crypto'
import { signatureHeaders } from '../../src/adapters/webhooks/signature.ts'
import type { Hook } from '../../src/shapes/hook.ts'
import { SECRET, SIGNED, signatureOf } from '../support/hooks.ts'
import { overStores } from '../support/stores.ts'
import { HOUR_MS, NOW, NOW_TEXT, openHooks, PUBLIC_URL } from './hook-scene.ts'

const NOW_S = NOW / 1_000
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

    t.test("a body like Slack's challenge is an activity for a hook of another vendor", async (t) => {
      const { create, deliver } = await openHooks(t, kind)
      const hook = await create()
      const { json } = await deliver(hook, '{"type":"url_verification","challenge":"3eZbrw1a"}')
      t.equal(json.prospectLogIds?.length, 1)
    })

    t.test("WooCommerce's unsigned ping is 200, and nothing else unsigned is", async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path } = await create({ verify: { preset: 'woocommerce', secret: SECRET } })
      t.match(await send(path, 'webhook_id=7'), { status: 200, text: '' })
      t.equal((await send(path, 'webhook_id=7&a=b')).status, 401)
      t.strictSame(await logs(), [])
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
