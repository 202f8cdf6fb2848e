import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
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
const TOKEN = { verify: { token: true } }
const WEBSITE = 'https://www.example.com'
const signed = (fields: object) => ({ verify: { hmac: { ...hmac, ...fields }, secret: 's' } })

/** A hook with these fields in place of usable ones is refused for the member at `pointer`. */
const refuser = async (t: Test) => {
  const hooks = await openHooks()
  const refused = async (fields: object, pointer: string, detail: RegExp) => {
    const json = { source: 's', verify: SIGNED, ...fields }
    const answer = await hooks.call('POST /v0/hooks', { json })
    t.equal(answer.status, 400, JSON.stringify(fields))
    t.match(answer.json, { errors: [{ pointer, detail }] }, JSON.stringify(fields))
  }
  return { ...hooks, refused }
}

t.test('400: a hook with an unusable way to verify is refused', async (t) => {
  const { refused } = await refuser(t)
  await refused({ verify: undefined }, '/verify', /is required/)
  await refused({ verify: {} }, '/verify', /exactly one of preset, hmac and token/)
  await refused({ verify: { preset: 'stripe', token: true, secret: 's' } }, '/verify', /exactly one of/)
  await refused({ verify: { preset: 'stripe' } }, '/verify', /needs a secret/)
  await refused({ verify: { token: true, secret: 's' } }, '/verify', /needs a secret, unless/)
  await refused({ verify: { preset: 'mailchimp', secret: 's' } }, '/verify', /needs a secret, unless/)
  await refused({ verify: { token: false } }, '/verify/token', /must be true/)
  const presets = /^must be one of standard-webhooks, stripe/
  await refused({ verify: { preset: 'acme', secret: 's' } }, '/verify/preset', presets)
  await refused(
    { verify: { preset: 'stripe', secret: '' } },
    '/verify/secret',
    /must be 1 to 1000 characters/,
  )
  await refused({ verify: { preset: 'stripe', secret: 's', key: 1 } }, '/verify/key', /is not a known member/)
  await refused({ verify: { preset: 'standard-webhooks', secret: 'ä' } }, '/verify/secret', /must be base64/)
  await refused(
    { verify: { preset: 'standard-webhooks', secret: 'whsec_' } },
    '/verify/secret',
    /must be base64/,
  )
  await refused({ verify: { preset: 'hubspot', secret: 's' } }, '/verify', /set PUBLIC_URL/)
})

t.test('400: a hook with an unusable signature format is refused', async (t) => {
  const { refused } = await refuser(t)
  await refused(signed({ algorithm: 'md5' }), '/verify/hmac/algorithm', /must be one of sha256, sha1, sha512/)
  await refused(signed({ header: 'a b' }), '/verify/hmac/header', /name of a header/)
  await refused(signed({ headers: 'x' }), '/verify/hmac/headers', /is not a known member/)
  await refused(signed({ template: '{id}' }), '/verify/hmac/template', /must contain \{body\}/)
  await refused(signed({ template: '{body}{secret}' }), '/verify/hmac/template', /and only \{body\}/)
  await refused(signed({ template: '{timestamp}{body}' }), '/verify/hmac', /needs timestampHeader exactly if/)
  await refused(signed({ timestampHeader: 'x-time' }), '/verify/hmac', /needs timestampHeader exactly if/)
  await refused(signed({ toleranceSeconds: 0 }), '/verify/hmac/toleranceSeconds', /must be 1 or more/)
})

t.test('400: a hook with an unusable mapping or source is refused', async (t) => {
  const { refused } = await refuser(t)
  const tooDeep = `/${'a/'.repeat(16)}`
  await refused({ map: { mail: ['/a'] } }, '/map/mail', /is not a known member/)
  await refused({ map: { email: '/a' } }, '/map/email', /must be an array/)
  await refused({ map: { email: ['a'] } }, '/map/email/0', /must be a JSON Pointer/)
  await refused({ map: { email: ['/~2'] } }, '/map/email/0', /must be a JSON Pointer/)
  await refused({ map: { email: ['sha256'] } }, '/map/email/0', /must be a JSON Pointer/)
  await refused({ map: { email: [tooDeep] } }, '/map/email/0', /at most 16 levels/)
  await refused({ map: { email: Array(11).fill('/a') } }, '/map/email', /at most 10 places/)
  await refused({ each: 'items' }, '/each', /must be a JSON Pointer/)
  await refused({ source: '' }, '/source', /must be 1 to 100 characters/)
})

t.test('400: an unusable change of a hook is refused with every error', async (t) => {
  const { call, create } = await openHooks()
  const { hookId } = await create()
  const json = { verify: { preset: 'stripe' }, overlapHours: 169 }
  const { errors } = (await call(`PATCH /v0/hooks/${hookId}`, { json })).json
  t.match(errors, [{ pointer: '/verify' }, { pointer: '/overlapHours', detail: 'must be at most 168' }])
})

t.test('201: a new hook is returned with its defaults', async (t) => {
  const { call, create, clock } = await openHooks({ publicUrl: 'https://example.com/p' })
  const hook = await create({
    source: 'shop',
    description: 'orders',
    verify: { hmac: TIMED, secret: SECRET },
    each: '/items',
    map: { email: ['/a~1b/0', 'header:X-Mail'] },
  })
  const { hookId } = hook
  const at = new Date(clock()).toISOString()
  t.strictSame(hook, {
    hookId,
    tenantId: hook.tenantId,
    source: 'shop',
    description: 'orders',
    status: 'enabled',
    verify: {
      hmac: {
        ...TIMED,
        timestampHeader: 'x-time',
        prefix: '',
        toleranceSeconds: 300,
        secretEncoding: 'utf8',
      },
    },
    map: { email: ['/a~1b/0', 'header:X-Mail'] },
    each: '/items',
    path: `/hooks/${hookId}`,
    url: `https://example.com/p/hooks/${hookId}`,
    redirectTo: null,
    origins: [],
    trap: null,
    challenge: null,
    answer: null,
    unidentified: 'new',
    fieldsAsAttributes: false,
    attributesMode: 'fill',
    createdAt: at,
    updatedAt: at,
    lastReceivedAt: null,
    lastRefusal: null,
    lastWarning: null,
  })
  t.strictSame((await call(`GET /v0/hooks/${hookId}`)).json, hook)
})

t.test('200: no answer has the secret or the token of a hook', async (t) => {
  const { call, create } = await openHooks()
  const bySecret = await create({ verify: { hmac, secret: SECRET } })
  const byToken = await create(TOKEN)
  const token = String(byToken.path.split('/').at(-1))
  const renamed = await call(`PATCH /v0/hooks/${byToken.hookId}`, { json: { source: 'form' } })
  const answers = [
    renamed,
    await call(`GET /v0/hooks/${bySecret.hookId}`),
    await call('GET /v0/hooks'),
    await call(`PATCH /v0/hooks/${bySecret.hookId}`, { json: { description: null } }),
  ]
  for (const { status, body } of answers) {
    t.equal(status, 200)
    t.notMatch(body, SECRET)
    t.notMatch(body, token)
  }
  t.match(renamed.json, { source: 'form', path: `/hooks/${byToken.hookId}/•••` })
})

t.test('the mapping of a preset is returned, and members of the hook’s mapping replace it', async (t) => {
  const { call, create } = await openHooks()
  const { hookId, map } = await create({ verify: { preset: 'github', secret: 's' }, map: { name: [] } })
  t.match(map, { type: ['header:x-github-event'], name: [] })
  const changed = await call(`PATCH /v0/hooks/${hookId}`, { json: { map: { type: ['/action'] } } })
  t.match(changed.json['map'], { type: ['/action'], name: ['/sender/login'] })
})

t.test('a hook is looked up once, and again after each 404', async (t) => {
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

t.test('429: only verified deliveries count, so forgers cannot use up a vendor’s limit', async (t) => {
  const { create, send, deliver } = await openHooks({ rateLimitPerMinute: 2 })
  const hook = await create()
  for (let i = 0; i < 5; i++) t.equal((await send(hook.path)).status, 401)
  for (const status of [200, 200, 429]) t.equal((await deliver(hook, '{}')).status, status)
  t.equal((await deliver(await create(), '{}')).status, 200)
})

t.test(
  '503: a delivery is unavailable without the database or the secret, so that vendors retry',
  async (t) => {
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
  },
)

t.test('a vendor that signs the public URL is verified with PUBLIC_URL and the target as sent', async (t) => {
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
})

t.test('a request is logged with its hook and outcome, and never with its path', async (t) => {
  const { answered, create, send } = await openHooks()
  const { hookId, path, tenantId } = await create({ verify: { token: true } })
  await send(path)
  await send(`${path}x`)
  t.match(answered.slice(-2), [
    { route: '/hooks/{hook_id}/{token}', tenantId, hookId, outcome: 'logged', status: 200 },
    { route: '/hooks/{hook_id}/{token}', status: 404, code: 'hook_not_found' },
  ])
  const dropbox = await create({ verify: { preset: 'dropbox', secret: SECRET } })
  await send(`${dropbox.path}?challenge=abc`, '', {}, 'GET')
  await send(dropbox.path, '', {}, 'GET')
  t.match(answered.at(-2), { hookId: dropbox.hookId, outcome: 'challenge', status: 200 })
  t.notOk('outcome' in (answered.at(-1) ?? {}))
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
    const map = { name: ['/email'], email: [] }
    t.match(await tried({ body, map }), {
      activities: [{ name: 'ada@example.com', email: null, idempotencyKey: null }],
    })
    t.match(await tried({ body, map: { name: ['email'] } }), { errors: [{ pointer: '/map/name/0' }] })
    for (const name of ['__proto__', 'constructor', 'prototype']) {
      const json = `{"headers":{"x-other":"1","${name}":"1"},"body":"{}"}`
      const { status, json: refusal } = await call(`POST /v0/hooks/${hookId}/try`, { body: json })
      t.equal(status, 400)
      t.match(refusal, { errors: [{ detail: `must not have a member named ${name}`, pointer: '/headers' }] })
    }
    t.strictSame(await logs(), [])
  },
)

t.test('400: a redirect to anything but a plain https: page is refused', async (t) => {
  const { refused, create } = await refuser(t)
  const wrong = [
    'javascript:alert(1)',
    'data:text/html,x',
    '/thanks',
    '//example.com',
    'http://example.com',
    '',
    'https://a:b@example.com',
    'https://a@example.com',
    'https://example.com/\r\nx: y',
    'https:\\\\example.com',
    'https://example.com/a b',
    'https://',
    ' https://example.com',
    'http://localhost.example.com',
    'x'.repeat(2_049),
  ]
  for (const redirectTo of wrong) await refused({ ...TOKEN, redirectTo }, '/redirectTo', /must be/)
  const reason = /must be an https: URL without credentials/
  await refused({ ...TOKEN, redirectTo: 'javascript:alert(1)' }, '/redirectTo', reason)
  const local = ['http://localhost:3000/a', 'http://127.0.0.1', 'http://[::1]:1/']
  for (const redirectTo of [...local, 'https://dänke.example']) await create({ ...TOKEN, redirectTo })
})

t.test('400: origins that no browser sends are refused, and so are unusable traps', async (t) => {
  const { refused } = await refuser(t)
  const wrong = [
    'null',
    'https://*.example.com',
    `${WEBSITE}/path`,
    `${WEBSITE}?a`,
    'www.example.com',
    'file:///a',
    'https://a@example.com',
    'https://example.com:99999',
    'app://local',
    'https://example.com#',
  ]
  for (const origin of wrong)
    await refused({ ...TOKEN, origins: ['*', origin] }, '/origins/1', /must be an origin, such as/)
  await refused({ ...TOKEN, origins: Array(21).fill(WEBSITE) }, '/origins', /at most 20/)
  await refused({ ...TOKEN, trap: '' }, '/trap', /must be 1 to 255/)
  await refused({ ...TOKEN, unidentified: 'none' }, '/unidentified', /must be one of new, shared/)
})

t.test('400: an unusable challenge or answer is refused', async (t) => {
  const { refused, call, create } = await refuser(t)
  const challenge = (fields: object) => ({ challenge: { from: '/a', reply: 'text', ...fields } })
  await refused(
    challenge({ from: 'a' }),
    '/challenge/from',
    /must be a JSON Pointer, query:name or header:name/,
  )
  await refused(challenge({ from: '=a' }), '/challenge/from', /must be a JSON Pointer/)
  await refused(challenge({ from: '/~2' }), '/challenge/from', /must be a JSON Pointer/)
  await refused(challenge({ hookIdAt: '' }), '/challenge/hookIdAt', /must be 1 to 255/)
  await refused(challenge({ when: 1 }), '/challenge/when', /is not a known member/)
  await refused(challenge({ reply: { a: 'b' } }), '/challenge/reply', /./)
  const detail = /must be by a secret/
  await refused({ ...TOKEN, ...challenge({ reply: { a: 'hmac-sha256-hex' } }) }, '/challenge', detail)
  const { hookId } = await create(challenge({ reply: { a: 'hmac-sha256-hex' } }))
  const { json } = await call(`PATCH /v0/hooks/${hookId}`, { json: { verify: { token: true } } })
  t.match(json, { errors: [{ pointer: '/challenge', detail }] })
  await refused({ answer: { status: 404 } }, '/answer/status', /must be one of 200/)
  await refused({ answer: { contentType: 'text/html' } }, '/answer/contentType', /must be one of text.plain/)
  await refused({ answer: { body: 'x'.repeat(1_025) } }, '/answer/body', /1024/)
  await refused({ answer: { status: 204, body: 'x' } }, '/answer', /no body with the status 204/)
})

t.test('400: only a hook with a token has a redirect, origins or a trap', async (t) => {
  const { call, refused, create } = await refuser(t)
  const detail = /must be by a token/
  for (const fields of [{ redirectTo: WEBSITE }, { origins: ['*'] }, { trap: 'a' }])
    await refused(fields, '/verify', detail)
  const { hookId } = await create({ ...TOKEN, redirectTo: 'https://example.com/@ada?x=1#dänke' })
  const withRedirect = await call(`PATCH /v0/hooks/${hookId}`, { json: { verify: SIGNED } })
  t.match(withRedirect.json, { errors: [{ pointer: '/verify', detail }] })
  const json = { verify: SIGNED, redirectTo: null, unidentified: 'shared' }
  const withoutRedirect = await call(`PATCH /v0/hooks/${hookId}`, { json })
  t.match(withoutRedirect.json, { redirectTo: null, unidentified: 'shared', origins: [] })
})

t.test('400: a secret with blanks around it, or in a wrong encoding, is refused', async (t) => {
  const { refused, create } = await refuser(t)
  const verify = (preset: string, secret: string) => ({ verify: { preset, secret } })
  for (const secret of [' s', 's\n', 's\r\n', '\ts', 's\u00a0', '\ufeffs', 's\u200b'])
    await refused(verify('github', secret), '/verify/secret', /must have no blanks or line ends around it/)
  const base64 = /must be base64, alone or after whsec_/
  const wrong = ['polar_whs_MfKQ9r8G', 'whsk_MfKQ9r8G', 'whpk_MfKQ9r8G', 'v1a,whsk_MfKQ', 'WHSEC_MfKQ']
  for (const secret of wrong) await refused(verify('standard-webhooks', secret), '/verify/secret', base64)
  for (const secret of ['whsec_MfKQ9r8G', 'v1,whsec_MfKQ9r8G', 'MfKQ9r8G', 'a_b-MfKQ'])
    await create(verify('standard-webhooks', secret))
})

t.test('a secret may be in hexadecimal', async (t) => {
  const { refused, create, send } = await refuser(t)
  const verify = (secret: string) => ({ verify: { hmac: { ...hmac, secretEncoding: 'hex' }, secret } })
  for (const secret of ['0', 'abc', 'whsec_00', '0x00ff', 'zz'])
    await refused(verify(secret), '/verify/secret', /must be hexadecimal/)
  for (const secret of ['00ff', 'C0FFEE00', 'a'.repeat(64)]) {
    const { path } = await create(verify(secret))
    const signature = createHmac('sha256', Buffer.from(secret, 'hex')).update('{}').digest('hex')
    t.equal((await send(path, '{}', { 'x-signature': signature })).status, 200)
    t.equal((await send(path, '{}', { 'x-signature': signatureOf('{}', secret) })).status, 401)
  }
})

t.test('Svix signs with headers of two names, and a mixed set is not verified', async (t) => {
  const { create, send, logs, clock } = await openHooks()
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const key = Buffer.from(secret.slice(6), 'base64')
  const seconds = `${Math.floor(clock() / 1_000)}`
  const body = '{"type":"user.created","data":{"email":"ada@example.com"}}'
  const signature = `v1,${createHmac('sha256', key).update(`m1.${seconds}.${body}`).digest('base64')}`
  const named = (prefix: string) => ({
    [`${prefix}id`]: 'm1',
    [`${prefix}timestamp`]: seconds,
    [`${prefix}signature`]: signature,
  })
  for (const pasted of [secret, `v1,${secret}`]) {
    const { path } = await create({ source: pasted, verify: { preset: 'standard-webhooks', secret: pasted } })
    t.match(await send(path, body, named('svix-')), { status: 200, json: { replayed: false } })
    t.match(await send(path, body, named('webhook-')), { status: 200, json: { replayed: true } })
    const both = { ...named('svix-'), ...named('webhook-') }
    t.equal((await send(path, body, { ...both, 'svix-signature': 'v1,0' })).status, 200)
    t.equal((await send(path, body, { ...both, 'webhook-signature': 'v1,0000' })).status, 401)
    t.equal((await send(path, body, { ...both, 'webhook-signature': '' })).status, 200)
    t.equal((await send(path, `${body} `, named('svix-'))).status, 401)
  }
  t.match((await logs())[0], { type: 'user.created', idempotencyKey: 'm1', email: 'ada@example.com' })
})

t.test('Shopify signs with headers of an old and a new name', async (t) => {
  const { create, send, logs } = await openHooks()
  const shop = await create({ source: 'shop', verify: { preset: 'shopify', secret: 's' } })
  const hmac = createHmac('sha256', 's').update('{}').digest('base64')
  for (const prefix of ['shopify-', 'x-shopify-']) {
    const headers = { [`${prefix}hmac-sha256`]: hmac, [`${prefix}topic`]: `orders/${prefix}` }
    t.equal((await send(shop.path, '{}', headers)).status, 200)
    t.match((await logs())[0], { type: `orders/${prefix}` })
  }
})

t.test('a compressed body is verified as sent or as it was before compression', async (t) => {
  const { create, send, call, logs } = await openHooks()
  const hook = await create({ map: { email: ['/email'] } })
  const body = '{"email":"ada@example.com"}'
  const gzip = gzipSync(body)
  const encoded = { 'content-encoding': 'gzip' }
  for (const signed of [body, gzip]) {
    const headers = { ...encoded, 'x-signature': signatureOf(signed) }
    t.equal((await send(hook.path, gzip, headers)).status, 200)
    t.match((await logs())[0], { email: 'ada@example.com', payload: { email: 'ada@example.com' } })
  }
  const large = gzipSync(Buffer.alloc(2_000_000))
  const refused = await send(hook.path, large, { ...encoded, 'x-signature': signatureOf(body) })
  t.match(
    refused.json.detail,
    /does not match.*could not be inflated: it is not gzip, or has more than 1048576/,
  )
  t.equal((await send(hook.path, large, { ...encoded, 'x-signature': signatureOf(large) })).status, 200)
  for (const headers of [{}, { 'x-signature': '' }, { 'x-signature': '\u00fc' }])
    t.notMatch((await send(hook.path, large, { ...encoded, ...headers })).json.detail, /inflated/)
  const json = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'name=Zo%EB' }
  const tried = await call(`POST /v0/hooks/${hook.hookId}/try`, { json })
  t.match(tried.json, { warning: 'The body was read as windows-1252: it is not UTF-8.' })
})

t.test('303: a browser that posts a form is redirected, and sees a refusal as a page', async (t) => {
  const { create, send, logs, answered } = await openHooks({ hookFormsPerMinute: 4 })
  const redirectTo = 'https://example.com/d\u00e4nke?a=1#b'
  const { path } = await create({ ...TOKEN, redirectTo, trap: 'website' })
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  const form = { ...browser, 'content-type': 'application/x-www-form-urlencoded' }
  for (const body of ['email=ada@example.com', 'website=spam']) {
    const answer = await send(path, body, form)
    t.match(answer, { status: 303, text: '', headers: { location: 'https://example.com/d%C3%A4nke?a=1#b' } })
  }
  t.match(answered.slice(-2), [{ outcome: 'logged' }, { outcome: 'trapped' }])
  t.equal((await logs()).length, 1)
  for (const accept of ['*/*', 'text/html;q=0, */*', 'text/html;q=0.5, application/json'])
    t.match((await send(path, 'a=1', { ...form, accept })).json, { replayed: false })
  const unknown = await send(`${path}x`, 'a=1', form)
  t.match(unknown, {
    status: 404,
    headers: { 'content-type': /html/ },
    text: /<h1>Your form was not accepted<\/h1>\s*<p>Hook not found\.</,
  })
  t.match(answered.at(-1), { code: 'hook_not_found' })
  t.match((await send(`${path}x`, 'a=1')).json, { code: 'hook_not_found' })
})

t.test(
  '429: a hook for browsers takes a limited number of deliveries a minute from one address',
  async (t) => {
    const { api, create, clock } = await openHooks({ hookFormsPerMinute: 2 })
    const hook = await create({ ...TOKEN, origins: ['*'] })
    const plain = await create(TOKEN)
    const sent = async (path: string, address: string, accept = '*/*') =>
      api({
        method: 'POST',
        target: path,
        address,
        headers: { accept, 'content-length': '2' },
        body: { bytesMax: 9, read: async () => Buffer.from('{}') },
      })
    const statuses = async (path: string, ...addresses: string[]) =>
      (await Promise.all(addresses.map((address) => sent(path, address)))).map(({ status }) => status)
    t.strictSame(await statuses(hook.path, '1.2.3.4', '1.2.3.4', '1.2.3.4', '1.2.3.5'), [200, 200, 429, 200])
    t.strictSame(
      await statuses(hook.path, '2001:db8::1', '2001:db8:0:0:1::2', '2001:db8::3'),
      [200, 200, 429],
    )
    t.strictSame(await statuses(plain.path, '1.2.3.4', '1.2.3.4', '1.2.3.4'), [200, 200, 200])
    const byGet = () => api({ method: 'GET', target: `${hook.path}?a=1`, address: '1.2.3.9', headers: {} })
    for (const status of [400, 400, 429]) t.equal((await byGet()).status, status)
    const refused = await sent(hook.path, '1.2.3.4', 'text/html')
    t.match(refused, { status: 429, headers: { 'retry-after': '30', 'access-control-allow-origin': '*' } })
    t.match(refused.body, /This address has sent this form too often/)
    clock.advance(30_000)
    t.strictSame(await statuses(hook.path, '1.2.3.4', '1.2.3.4'), [200, 429])
  },
)

t.test('only pages of a hook’s origins may read its answers', async (t) => {
  const { create, send } = await openHooks()
  const origins = ['https://WWW.example.com:443/', 'http://localhost:5173', 'https://dänke.example']
  const { path, origins: kept } = await create({ ...TOKEN, origins })
  t.strictSame(kept, [WEBSITE, 'http://localhost:5173', 'https://xn--dnke-loa.example'])
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  }
  for (const origin of kept) {
    const allowed = {
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      vary: /^origin/,
    }
    const asked = await send(path, '', { origin, ...preflight }, 'OPTIONS')
    t.match(asked, { status: 204, headers: { ...allowed, 'access-control-allow-headers': 'content-type' } })
    for (const names of [
      'content-type,traceparent',
      'baggage, content-type, x-requested-with',
      'a'.repeat(100),
    ]) {
      const more = { ...preflight, 'access-control-request-headers': names }
      const { headers } = await send(path, '', { origin, ...more }, 'OPTIONS')
      t.equal(headers['access-control-allow-headers'], names)
      t.equal(headers['vary'], 'origin, access-control-request-headers')
    }
    for (const names of ['', 'a b', 'x-a,,x-b', 'x: y', 'é', `${'a,'.repeat(50)}a`]) {
      const more = { ...preflight, 'access-control-request-headers': names }
      const { headers } = await send(path, '', { origin, ...more }, 'OPTIONS')
      t.equal(headers['access-control-allow-headers'], 'content-type', names)
    }
    t.match(await send(path, '{}', { origin }), { status: 200, headers: allowed })
    t.match(await send(path, 'x'.repeat(9), { origin }, 'POST', 8), { status: 413, headers: allowed })
  }
  const others = [
    'null',
    'https://example.com',
    'https://a.www.example.com',
    `${WEBSITE}:8443`,
    `${WEBSITE}.evil.test`,
  ]
  for (const origin of [...others, 'http://www.example.com', 'http://localhost', ''])
    for (const method of ['OPTIONS', 'POST']) {
      const { headers } = await send(path, '{}', { origin, ...preflight }, method)
      t.notOk('access-control-allow-origin' in headers, `${method} ${origin}`)
    }
  const open = await create({ ...TOKEN, origins: ['*'] })
  for (const method of ['POST', 'OPTIONS']) {
    const more = { ...preflight, 'access-control-request-headers': 'traceparent' }
    const { headers } = await send(open.path, '{}', { origin: 'null', ...more }, method)
    t.equal(headers['access-control-allow-origin'], '*')
    t.notOk('access-control-allow-credentials' in headers)
    t.equal(headers['access-control-allow-headers'] ?? 'content-type', 'content-type')
  }
  const closed = await create(TOKEN)
  for (const target of [closed.path, `${open.path}x`, `/hooks/${open.hookId}`, '/v0/hooks']) {
    const { status, headers } = await send(target, '', { origin: WEBSITE, ...preflight }, 'OPTIONS')
    t.equal(status, 204)
    t.notOk('access-control-allow-origin' in headers, target)
  }
})

t.test('GitHub may send its JSON in a field of a form', async (t) => {
  const { create, send, logs } = await openHooks()
  const github = { preset: 'github', secret: SECRET }
  const { path } = await create({ source: 'github', verify: github, map: { externalId: ['/sender/id'] } })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const push = '{"pusher":{"email":"ada@example.com"},"sender":{"id":583231,"login":"ada"}}'
  const body = `payload=${encodeURIComponent(push)}`
  const signed = { ...form, 'x-hub-signature-256': `sha256=${signatureOf(body)}`, 'x-github-event': 'push' }
  t.equal((await send(path, body, signed)).status, 200)
  t.match(await logs(), [{ type: 'push', email: 'ada@example.com', name: 'ada', externalId: '583231' }])
})

t.test('Slack may send its JSON in a field of a form', async (t) => {
  const { create, send, logs, clock } = await openHooks()
  const slack = await create({ source: 'slack', verify: { preset: 'slack', secret: SECRET } })
  const click = `payload=${encodeURIComponent('{"type":"block_actions","user":{"id":"U1"}}')}`
  const time = `${Math.floor(clock() / 1_000)}`
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-slack-request-timestamp': time,
    'x-slack-signature': `v0=${signatureOf(`v0:${time}:${click}`)}`,
  }
  t.equal((await send(slack.path, click, headers)).status, 200)
  t.match((await logs())[0], { type: 'block_actions' })
})
