import { createHmac } from 'node:crypto'
import t from 'tap'
import { unavailable } from '../../../src/core/engine/failures.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { openScene } from '../../support/api.ts'
import { hooksOver, SECRET, SIGNED, signatureOf } from '../../support/hooks.ts'

const openHooks = async (options: Parameters<typeof openScene>[0] = {}) => {
  const scene = await openScene(options)
  return { ...scene, ...hooksOver(scene.api, scene.owner.apiKey) }
}
const { hmac } = SIGNED
const TIMED = { ...hmac, template: '{timestamp}.{body}', timestampHeader: 'X-Time' }
const signed = (fields: object) => ({ verify: { hmac: { ...hmac, ...fields }, secret: 's' } })
const mapped = (map: unknown) => ({ map })
const LONG = `/${'a/'.repeat(16)}`

/** What of a hook is refused, where, and in which words. */
const WRONG: readonly (readonly [fields: object, pointer: string, detail: RegExp])[] = [
  [{ verify: undefined }, '/verify', /is required/],
  [{ verify: {} }, '/verify', /exactly one of preset, hmac and token/],
  [{ verify: { preset: 'stripe', token: true, secret: 's' } }, '/verify', /exactly one of/],
  [{ verify: { preset: 'stripe' } }, '/verify', /needs a secret/],
  [{ verify: { token: true, secret: 's' } }, '/verify', /needs a secret, unless/],
  [{ verify: { preset: 'mailchimp', secret: 's' } }, '/verify', /needs a secret, unless/],
  [{ verify: { token: false } }, '/verify/token', /must be true/],
  [
    { verify: { preset: 'acme', secret: 's' } },
    '/verify/preset',
    /^must be one of standard-webhooks, stripe/,
  ],
  [{ verify: { preset: 'stripe', secret: '' } }, '/verify/secret', /must be 1 to 1000 characters/],
  [{ verify: { preset: 'stripe', secret: 's', key: 1 } }, '/verify/key', /is not a known member/],
  [{ verify: { preset: 'standard-webhooks', secret: 'ä' } }, '/verify/secret', /must be base64/],
  [{ verify: { preset: 'standard-webhooks', secret: 'whsec_' } }, '/verify/secret', /must be base64/],
  [{ verify: { preset: 'hubspot', secret: 's' } }, '/verify', /set PUBLIC_URL/],
  [signed({ algorithm: 'md5' }), '/verify/hmac/algorithm', /must be one of sha256, sha1, sha512/],
  [signed({ header: 'a b' }), '/verify/hmac/header', /name of a header/],
  [signed({ headers: 'x' }), '/verify/hmac/headers', /is not a known member/],
  [signed({ template: '{id}' }), '/verify/hmac/template', /must contain \{body\}/],
  [signed({ template: '{body}{secret}' }), '/verify/hmac/template', /and only \{body\}/],
  [signed({ template: '{timestamp}{body}' }), '/verify/hmac', /needs timestampHeader exactly if/],
  [signed({ timestampHeader: 'x-time' }), '/verify/hmac', /needs timestampHeader exactly if/],
  [signed({ toleranceSeconds: 0 }), '/verify/hmac/toleranceSeconds', /must be 1 or more/],
  [mapped({ mail: ['/a'] }), '/map/mail', /is not a known member/],
  [mapped({ email: '/a' }), '/map/email', /must be an array/],
  [mapped({ email: ['a'] }), '/map/email/0', /must be a JSON Pointer/],
  [mapped({ email: ['/~2'] }), '/map/email/0', /must be a JSON Pointer/],
  [mapped({ email: ['sha256'] }), '/map/email/0', /must be a JSON Pointer/],
  [mapped({ email: [LONG] }), '/map/email/0', /at most 16 levels/],
  [mapped({ email: Array(11).fill('/a') }), '/map/email', /at most 10 places/],
  [{ each: 'items' }, '/each', /must be a JSON Pointer/],
  [{ source: '' }, '/source', /must be 1 to 100 characters/],
]

t.test('400: a hook that would verify nothing, or find nothing, is refused in words', async (t) => {
  const { call, create } = await openHooks()
  for (const [fields, pointer, detail] of WRONG) {
    const { status, json } = await call('POST /v0/hooks', {
      json: { source: 's', verify: SIGNED, ...fields },
    })
    t.match(
      { status, json },
      { status: 400, json: { errors: [{ pointer, detail }] } },
      JSON.stringify(fields),
    )
  }
  const { hookId } = await create()
  const json = { verify: { preset: 'stripe' }, overlapHours: 169 }
  const { errors } = (await call(`PATCH /v0/hooks/${hookId}`, { json })).json
  t.match(errors, [{ pointer: '/verify' }, { pointer: '/overlapHours', detail: 'must be at most 168' }])
})

t.test('201: a hook as it is read later; its secret is in no answer', async (t) => {
  const { call, create, clock } = await openHooks({ publicUrl: 'https://example.com/p' })
  const given = {
    source: 'shop',
    description: 'orders',
    verify: { hmac: TIMED, secret: SECRET },
    each: '/items',
  }
  const hook = await create({ ...given, map: { email: ['/a~1b/0', 'header:X-Mail'] } })
  const { hookId } = hook
  const at = new Date(clock()).toISOString()
  t.strictSame(hook, {
    ...{ hookId, tenantId: hook.tenantId, source: 'shop', description: 'orders', status: 'enabled' },
    verify: {
      hmac: {
        ...{ ...TIMED, timestampHeader: 'x-time', prefix: '', toleranceSeconds: 300, secretEncoding: 'utf8' },
      },
    },
    ...{ map: { email: ['/a~1b/0', 'header:X-Mail'] }, each: '/items', path: `/hooks/${hookId}` },
    url: `https://example.com/p/hooks/${hookId}`,
    ...{ redirectTo: null, origins: [], trap: null, unidentified: 'new' },
    ...{ createdAt: at, updatedAt: at, lastReceivedAt: null, lastRefusal: null, lastWarning: null },
  })
  const byToken = await create({ verify: { token: true } })
  const answers = [
    await call(`GET /v0/hooks/${hookId}`),
    await call('GET /v0/hooks'),
    await call(`PATCH /v0/hooks/${hookId}`, { json: { description: null } }),
    await call(`PATCH /v0/hooks/${byToken.hookId}`, { json: { source: 'form' } }),
  ]
  const [, , , token = ''] = byToken.path.split('/')
  for (const { status, body } of answers) {
    t.equal(status, 200)
    t.notMatch(body, SECRET)
    t.notMatch(body, token)
  }
  t.match(answers[3]?.json, { source: 'form', path: `/hooks/${byToken.hookId}/•••` })
})

t.test('what a preset maps is shown, and members that are given replace it', async (t) => {
  const { call, create } = await openHooks()
  const { hookId, map } = await create({ verify: { preset: 'github', secret: 's' }, map: { name: [] } })
  t.match(map, { type: ['header:x-github-event'], name: [] })
  const changed = await call(`PATCH /v0/hooks/${hookId}`, { json: { map: { type: ['/action'] } } })
  t.match(changed.json['map'], { type: ['/action'], name: ['/head_commit/author/name', '/sender/login'] })
})

t.test('a hook costs one look-up; what is 404 costs one each time, whatever the reason', async (t) => {
  const looked: string[] = []
  const storeAs = (store: Store): Store => ({
    ...store,
    hooks: {
      ...store.hooks,
      findByIds: (hookIds) => {
        looked.push(...hookIds)
        return store.hooks.findByIds(hookIds)
      },
    },
  })
  const { call, create, send } = await openHooks({ storeAs })
  const { hookId, path } = await create({ verify: { token: true } })
  const costs = async (target: string, status: number) => {
    looked.length = 0
    t.equal((await send(target)).status, status)
    return looked.length
  }
  t.equal(await costs(path, 200), 1)
  t.equal(await costs(path, 200), 0)
  const unknown = `/hooks/hook_${'0'.repeat(26)}/token`
  for (const target of [unknown, unknown, `${path}x`, `/hooks/${hookId}`])
    t.equal(await costs(target, 404), 1)
  await call(`PATCH /v0/hooks/${hookId}`, { json: { status: 'disabled' } })
  t.equal(await costs(path, 404), 1)
  t.equal(await costs(path, 404), 1)
  await call(`PATCH /v0/hooks/${hookId}`, { json: { status: 'enabled' } })
  t.equal(await costs(path, 200), 1)
})

t.test('429: only what is verified counts, so forgers cannot use up the limit of a vendor', async (t) => {
  const { create, send, deliver } = await openHooks({ rateLimitPerMinute: 2 })
  const hook = await create()
  for (let i = 0; i < 5; i++) t.equal((await send(hook.path)).status, 401)
  for (const status of [200, 200, 429]) t.equal((await deliver(hook, '{}')).status, status)
  t.equal((await deliver(await create(), '{}')).status, 200)
})

t.test('503: the database is away, or the secret cannot be decrypted; vendors retry', async (t) => {
  let isAway = false
  const storeAs = (store: Store): Store => ({
    ...store,
    activities: {
      ...store.activities,
      recall: async (wants) => {
        if (isAway) throw unavailable('away')
        return store.activities.recall(wants)
      },
    },
  })
  const { store, owner, create, deliver, logs, send } = await openHooks({ storeAs })
  const hook = await create({ each: '/items', map: { idempotencyKey: ['/id'] } })
  isAway = true
  for (const body of ['{}', '{"items":[1,2]}'])
    t.match(await deliver(hook, body), { status: 503, headers: { 'retry-after': '1' } })
  isAway = false
  t.equal((await deliver(hook, '{"items":[1,2]}')).status, 200)
  t.equal((await logs()).length, 2)
  const { tenantId } = owner
  const found = await store.hooks.find({ tenantId, hookId: hook.hookId })
  if (found) await store.hooks.change({ ...found, secret: 'v1:lost', updatedAt: '9' }, found.updatedAt)
  t.match(await send(hook.path, '{}', { 'x-signature': signatureOf('{}') }), { status: 503 })
})

t.test(
  'a vendor that signs the public URL is verified by PUBLIC_URL and the target as it was sent',
  async (t) => {
    const { create, send, clock } = await openHooks({ publicUrl: 'https://example.com/p' })
    const { path } = await create({ verify: { preset: 'hubspot', secret: SECRET } })
    const time = `${clock()}`
    const by = (url: string) => ({
      'x-hubspot-request-timestamp': time,
      'x-hubspot-signature-v3': createHmac('sha256', SECRET).update(`POST${url}[]${time}`).digest('base64'),
    })
    const target = `${path}?a=%20b`
    t.equal((await send(target, '[]', by(`https://example.com/p${target}`))).status, 200)
    t.equal((await send(target, '[]', by(`http://localhost${target}`))).status, 401)
  },
)

t.test('a request is logged with its hook and outcome, and never with its path', async (t) => {
  const { answered, create, send } = await openHooks()
  const { hookId, path, tenantId } = await create({ verify: { token: true } })
  await send(path)
  await send(`${path}x`)
  t.match(answered.slice(-2), [
    { route: '/hooks/{hook_id}/{token}', tenantId, hookId, outcome: 'logged', status: 200 },
    { route: '/hooks/{hook_id}/{token}', status: 404, code: 'hook_not_found' },
  ])
  t.notMatch(JSON.stringify(answered), path.split('/')[3])
})

t.test(
  'trying a delivery: the verdict, and the activity as it would be logged, with nothing stored',
  async (t) => {
    const { call, create, logs } = await openHooks()
    const { hookId } = await create({ map: { email: ['/email'], idempotencyKey: ['sha256'] } })
    const tried = async (json: object) => (await call(`POST /v0/hooks/${hookId}/try`, { json })).json
    const body = '{"email":"ada@example.com"}'
    t.match(await tried({ headers: { 'X-Signature': signatureOf(body) }, body }), {
      verified: true,
      reason: null,
      activities: [
        {
          source: 'vendor',
          type: 'webhook',
          email: 'ada@example.com',
          idempotencyKey: /^[\w-]{43}$/,
          payload: {},
        },
      ],
    })
    t.match(await tried({ body: 'text' }), {
      verified: false,
      reason: 'The signature header x-signature is missing.',
      activities: [{ payload: { body: 'text' } }],
    })
    for (const name of ['__proto__', 'constructor', 'prototype']) {
      const json = `{"headers":{"x-other":"1","${name}":"1"},"body":"{}"}`
      const { status, json: refusal } = await call(`POST /v0/hooks/${hookId}/try`, { body: json })
      t.equal(status, 400)
      t.match(refusal, { errors: [{ detail: `must not have a member named ${name}`, pointer: '/headers' }] })
    }
    t.strictSame(await logs(), [])
  },
)
