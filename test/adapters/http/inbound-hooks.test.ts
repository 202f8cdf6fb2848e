import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
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

/** Faults of a hook: each with its place, and the words of its refusal. */
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

t.test('400: a hook that would verify or find nothing is refused with a reason', async (t) => {
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

t.test('201: a new hook is returned as it is read later; no answer has its secret', async (t) => {
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
    unidentified: 'new',
    createdAt: at,
    updatedAt: at,
    lastReceivedAt: null,
    lastRefusal: null,
    lastWarning: null,
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

t.test('the mapping of a preset is shown, and given members replace it', async (t) => {
  const { call, create } = await openHooks()
  const { hookId, map } = await create({ verify: { preset: 'github', secret: 's' }, map: { name: [] } })
  t.match(map, { type: ['header:x-github-event'], name: [] })
  const changed = await call(`PATCH /v0/hooks/${hookId}`, { json: { map: { type: ['/action'] } } })
  t.match(changed.json['map'], { type: ['/action'], name: ['/head_commit/author/name', '/sender/login'] })
})

t.test('a hook costs one look-up; a 404 costs one each time, for any reason', async (t) => {
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

const TOKEN = { verify: { token: true } }
const WEBSITE = 'https://www.example.com'

t.test('400: unusable pages, origins and secrets are refused with a reason', async (t) => {
  const { call, create } = await openHooks()
  const page = /must be an https: URL without credentials/
  const origin = /must be an origin, such as/
  const blank = /must have no blanks or line ends around it/
  const base64 = /must be base64, alone or after whsec_/
  const secret = (secret: string, preset = 'standard-webhooks') => ({ verify: { preset, secret } })
  const wrong: readonly (readonly [fields: object, pointer: string, detail: RegExp])[] = [
    ...[
      ...['javascript:alert(1)', 'data:text/html,x', '/thanks', '//example.com', 'http://example.com', ''],
      ...[
        'https://a:b@example.com',
        'https://a@example.com',
        'https://example.com/\r\nx: y',
        'https:\\\\example.com',
      ],
      ...[
        'https://example.com/a b',
        'https://',
        ' https://example.com',
        'http://localhost.example.com',
        'x'.repeat(2_049),
      ],
    ].map((redirectTo) => [{ ...TOKEN, redirectTo }, '/redirectTo', /must be/] as const),
    [{ ...TOKEN, redirectTo: 'javascript:alert(1)' }, '/redirectTo', page],
    ...[
      ...['null', 'https://*.example.com', `${WEBSITE}/path`, `${WEBSITE}?a`, 'www.example.com', 'file:///a'],
      ...['https://a@example.com', 'https://example.com:99999', 'app://local', 'https://example.com#'],
    ].map((one) => [{ ...TOKEN, origins: ['*', one] }, '/origins/1', origin] as const),
    [{ ...TOKEN, origins: Array(21).fill(WEBSITE) }, '/origins', /at most 20/],
    [{ ...TOKEN, trap: '' }, '/trap', /must be 1 to 255/],
    [{ ...TOKEN, unidentified: 'none' }, '/unidentified', /must be one of new, shared/],
    ...[{ redirectTo: WEBSITE }, { origins: ['*'] }, { trap: 'a' }].map(
      (fields) => [{ verify: SIGNED, ...fields }, '/verify', /must be by a token/] as const,
    ),
    ...[' s', 's\n', 's\r\n', '\ts', 's\u00a0', '\ufeffs', 's\u200b'].map(
      (text) => [secret(text, 'github'), '/verify/secret', blank] as const,
    ),
    ...['polar_whs_MfKQ9r8G', 'whsk_MfKQ9r8G', 'whpk_MfKQ9r8G', 'v1a,whsk_MfKQ', 'WHSEC_MfKQ'].map(
      (text) => [secret(text), '/verify/secret', base64] as const,
    ),
  ]
  for (const [fields, pointer, detail] of wrong) {
    const { status, json } = await call('POST /v0/hooks', { json: { source: 's', ...fields } })
    t.match(
      { status, json },
      { status: 400, json: { errors: [{ pointer, detail }] } },
      JSON.stringify(fields),
    )
  }
  const hook = await create({ ...TOKEN, redirectTo: 'https://example.com/@ada?x=1#dänke' })
  const signed = await call(`PATCH /v0/hooks/${hook.hookId}`, { json: { verify: SIGNED } })
  t.match(signed.json, { errors: [{ pointer: '/verify', detail: /must be by a token/ }] })
  const changed = await call(`PATCH /v0/hooks/${hook.hookId}`, {
    json: { verify: SIGNED, redirectTo: null, unidentified: 'shared' },
  })
  t.match(changed.json, { redirectTo: null, unidentified: 'shared', origins: [] })
  for (const text of ['whsec_MfKQ9r8G', 'v1,whsec_MfKQ9r8G', 'MfKQ9r8G', 'a_b-MfKQ'])
    await create(secret(text))
  for (const redirectTo of [
    'http://localhost:3000/a',
    'http://127.0.0.1',
    'http://[::1]:1/',
    'https://dänke.example',
  ])
    await create({ ...TOKEN, redirectTo })
})

t.test('Svix and Shopify sign with headers of two names; mixed sets are not verified', async (t) => {
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
  const shop = await create({ source: 'shop', verify: { preset: 'shopify', secret: 's' } })
  const hmac = createHmac('sha256', 's').update('{}').digest('base64')
  for (const prefix of ['shopify-', 'x-shopify-', 'X-Shopify-'.toLowerCase()]) {
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

t.test('303: a browser that posts a form sees the page of the hook, and a refusal as a page', async (t) => {
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

t.test('429: a hook for browsers takes so many deliveries a minute from one address', async (t) => {
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
  t.strictSame(await statuses(hook.path, '2001:db8::1', '2001:db8:0:0:1::2', '2001:db8::3'), [200, 200, 429])
  t.strictSame(await statuses(plain.path, '1.2.3.4', '1.2.3.4', '1.2.3.4'), [200, 200, 200])
  const refused = await sent(hook.path, '1.2.3.4', 'text/html')
  t.match(refused, { status: 429, headers: { 'retry-after': '30', 'access-control-allow-origin': '*' } })
  t.match(refused.body, /This address has sent this form too often/)
  clock.advance(30_000)
  t.strictSame(await statuses(hook.path, '1.2.3.4', '1.2.3.4'), [200, 429])
})

t.test('pages of the origins of a hook may read its answers, others not', async (t) => {
  const { create, send } = await openHooks()
  const origins = ['https://WWW.example.com:443/', 'http://localhost:5173', 'https://dänke.example']
  const { path, origins: kept } = await create({ ...TOKEN, origins })
  t.strictSame(kept, [WEBSITE, 'http://localhost:5173', 'https://xn--dnke-loa.example'])
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  }
  for (const origin of kept) {
    const allowed = { 'access-control-allow-origin': origin, vary: 'origin' }
    const asked = await send(path, '', { origin, ...preflight }, 'OPTIONS')
    t.match(asked, { status: 204, headers: { ...allowed, 'access-control-allow-headers': 'content-type' } })
    t.notOk('access-control-allow-credentials' in asked.headers)
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
  t.match(await send(open.path, '{}', { origin: 'null' }), {
    headers: { 'access-control-allow-origin': '*' },
  })
  const closed = await create(TOKEN)
  for (const target of [closed.path, `${open.path}x`, `/hooks/${open.hookId}`, '/v0/hooks']) {
    const { status, headers } = await send(target, '', { origin: WEBSITE, ...preflight }, 'OPTIONS')
    t.equal(status, 204)
    t.notOk('access-control-allow-origin' in headers, target)
  }
})

t.test('GitHub and Slack may send their JSON in a field of a form', async (t) => {
  const { create, send, logs, clock } = await openHooks()
  const github = { preset: 'github', secret: SECRET }
  const { path } = await create({ source: 'github', verify: github, map: { externalId: ['/sender/id'] } })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const push = '{"pusher":{"email":"ada@example.com"},"sender":{"id":583231,"login":"ada"}}'
  const body = `payload=${encodeURIComponent(push)}`
  const signed = { ...form, 'x-hub-signature-256': `sha256=${signatureOf(body)}`, 'x-github-event': 'push' }
  t.equal((await send(path, body, signed)).status, 200)
  t.match(await logs(), [{ type: 'push', email: 'ada@example.com', name: 'ada', externalId: '583231' }])

  const slack = await create({ source: 'slack', verify: { preset: 'slack', secret: SECRET } })
  const click = `payload=${encodeURIComponent('{"type":"block_actions","user":{"id":"U1"}}')}`
  const time = `${Math.floor(clock() / 1_000)}`
  const headers = {
    ...form,
    'x-slack-request-timestamp': time,
    'x-slack-signature': `v0=${signatureOf(`v0:${time}:${click}`)}`,
  }
  t.equal((await send(slack.path, click, headers)).status, 200)
  t.match((await logs())[0], { type: 'block_actions' })
})
