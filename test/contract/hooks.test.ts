import { randomBytes } from 'node:crypto'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import { refusalOf } from '../core/scene.ts'
import { untilCompleted } from '../store-contract/completed.ts'
import { SECRET, signatureOf } from '../support/hooks.ts'
import { overStores } from '../support/stores.ts'
import { MAP, NOW_TEXT, openHooks } from './hook-scene.ts'

const HOOKS_MAX = 100

overStores(
  async (t, kind) => {
    t.test('a delivery is logged: 200 after the commit, with everything that is mapped', async (t) => {
      const { create, deliver, logs, payloads, read, readOnceSet } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const body =
        '{"id":"m1", "type":"form", "email":" Ada@Example.com ", "name":"Ada", "at":1795168790, "n":1.0}'

      const { status, headers, json, text } = await deliver(hook, body)

      t.equal(status, 200)
      t.equal(headers['content-type'], 'application/json')
      const [prospectLogId = ''] = json.prospectLogIds ?? []
      t.equal(text, `{"prospectLogIds":["${prospectLogId}"],"replayed":false}\n`)
      const [log] = await logs()
      t.match(log, {
        prospectLogId,
        source: 'vendor',
        type: 'form',
        email: ' Ada@Example.com ',
        name: 'Ada',
        idempotencyKey: 'm1',
        occurredAt: '2026-11-20T09:59:50.000Z',
        createdProspect: true,
      })
      t.strictSame(await payloads(), [body])
      t.equal(await readOnceSet(hook, 'lastReceivedAt'), NOW_TEXT)
      t.equal((await read(hook)).lastRefusal, null)
    })

    t.test('a replay is 200, even with other bytes: vendors change counters between attempts', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const first = await deliver(hook, '{"id":"m1","attempt":1}')

      const retries = ['{"id":"m1","attempt":1}', '{"id":"m1","attempt":2}', '{"id":"m1","name":"Ada"}']
      for (const body of retries) {
        const replay = await deliver(hook, body)
        t.equal(replay.status, 200)
        t.strictSame(replay.json, { prospectLogIds: first.json.prospectLogIds, replayed: true })
      }

      t.equal((await logs()).length, 1)
    })

    t.test('of many deliveries at once under one key, one is stored', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({ map: MAP })

      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => deliver(hook, `{"id":"m1","email":"ada@example.com","n":${i}}`)),
      )

      const idsReturned = new Set(answers.map(({ json }) => json.prospectLogIds?.join()))
      t.equal(idsReturned.size, 1)
      const stored = answers.filter(({ json }) => json.replayed === false)
      t.equal(stored.length, 1)
      t.equal((await logs()).length, 1)
    })

    t.test('a delivery for an erased prospect is 200, and nothing is stored', async (t) => {
      const { store, clock, call, create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const beforeErasure = await deliver(hook, '{"id":"m1","email":"eve@example.com"}')
      t.equal((await logs()).length, 1)

      await call('POST /v0/erasures', { json: { email: 'eve@example.com' } })
      const eraseNext = eraseProspects({ store, clock })
      await untilCompleted(store.erasures, clock, async () => {
        while (await eraseNext(new AbortController().signal)) {}
      })
      t.strictSame(await logs(), [])
      const [prospectLogId] = beforeErasure.json.prospectLogIds ?? []
      t.equal((await call(`GET /v0/prospect_logs/${prospectLogId}`)).status, 404)

      const retry = await deliver(hook, '{"id":"m1","email":"eve@example.com"}')
      t.equal(retry.status, 200)
      t.strictSame(retry.json, { ignored: 'prospect_erased' })
      const later = await deliver(hook, '{"email":"Eve@example.com"}')
      t.equal(later.status, 200)
      t.strictSame(later.json, { ignored: 'prospect_erased' })

      const hookOfLists = await create({ map: MAP, each: '/people' })
      const list = '{"people":[{"email":"eve@example.com"},{"email":"ada@example.com"}]}'
      t.match((await deliver(hookOfLists, list)).json, { replayed: false, ignored: 'prospect_erased' })
      const emailsLogged = (await logs()).map(({ email }) => email)
      t.strictSame(emailsLogged, ['ada@example.com'], 'the others of the same body are logged')
    })

    t.test('a body of exactly the limit is stored, and one byte more is 413', async (t) => {
      const { create, send } = await openHooks(t, kind)
      const { path } = await create({ verify: { token: true } })
      const bytesMax = 100
      t.match(await send(path, 'x'.repeat(101), {}, 'POST', bytesMax), { status: 413 })
      t.match(await send(path, 'x'.repeat(100), {}, 'POST', bytesMax), { status: 200 })
    })

    t.test('every body is stored: JSON unchanged, and anything else as JSON', async (t) => {
      const { create, deliver, payloads } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const form = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
      const bodies: readonly { body: string | Uint8Array; headers?: object; payload: string }[] = [
        {
          body: '{"b":1.0,"a":12345678901234567890,"b":2}',
          payload: '{"b":1.0,"a":12345678901234567890,"b":2}',
        },
        { body: ' {"t":"\\u0000\\ud800"}\n', payload: '{"t":"\\u0000\\ud800"}' },
        { body: '[1, 2]', payload: '{"items":[1, 2]}' },
        { body: '', payload: '{"body":""}' },
        { body: 'plain "text"\n', payload: '{"body":"plain \\"text\\"\\n"}' },
        { body: '"a JSON text"', payload: '{"body":"\\"a JSON text\\""}' },
        { body: '{"a":1', payload: '{"body":"{\\"a\\":1"}' },
        {
          body: 'a=1&b=x+y%21&a=2&__proto__=p',
          headers: form,
          payload: '{"a":["1","2"],"b":"x y!","__proto__":"p"}',
        },
        { body: '{"a":1}', headers: form, payload: '{"a":1}' },
        { body: Buffer.from([0xff, 0xfe, 0]), payload: '{"bodyBase64":"//4A"}' },
        { body: nestedJson(512), payload: nestedJson(512) },
        { body: nestedJson(513), payload: JSON.stringify({ body: nestedJson(513) }) },
      ]
      for (const { body, headers, payload } of bodies) {
        const { status, text } = await deliver(hook, body, headers)
        t.equal(status, 200, text)
        t.equal((await payloads())[0], payload)
      }
      t.equal((await payloads()).length, bodies.length)
    })

    t.test('a JSON body of 1 MiB is stored', async (t) => {
      const { create, deliver } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const body = JSON.stringify({ text: 'x'.repeat(1_048_576 - '{"text":""}'.length) })
      t.equal(body.length, 1_048_576)
      t.equal((await deliver(hook, body)).status, 200)
    })

    t.test('whatever JSON a verified sender sends is stored, byte for byte', async (t) => {
      const { service, tenantId, create, deliver } = await openHooks(t, kind)
      const hook = await create({ map: { ...MAP, type: ['/a/0', '/type'] } })
      const idsStored = new Set<string>()
      for (let length = 0; length < 40; length++) {
        const type = randomBytes(length).toString('latin1')
        const body = JSON.stringify({ id: length, type, email: [length], a: length })
        const { status, json } = await deliver(hook, body)
        t.equal(status, 200)
        const [prospectLogId = ''] = json.prospectLogIds ?? []
        idsStored.add(prospectLogId)
        const { payload } = (await service.getProspectLog({ tenantId, prospectLogId })).value
        t.equal(payload.rawJson, body)
      }
      t.equal(idsStored.size, 40)
    })

    t.test('whatever bytes a verified sender sends are stored, in base64 unless they are text', async (t) => {
      const { service, tenantId, create, deliver } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const idsStored = new Set<string>()
      for (let length = 0; length < 60; length += 3) {
        const bytes = randomBytes(length)
        const { status, json } = await deliver(hook, bytes)
        t.equal(status, 200)
        const [prospectLogId = ''] = json.prospectLogIds ?? []
        idsStored.add(prospectLogId)
        const { payload } = (await service.getProspectLog({ tenantId, prospectLogId })).value
        t.strictSame(bytesIn(payload.rawJson), bytes)
      }
      t.equal(idsStored.size, 20)
    })

    t.test('the library receives deliveries for a server with its own routes', async (t) => {
      const { service, create, logs } = await openHooks(t, kind)
      const { hookId } = await create({ map: MAP })
      const body = '{"type":"form"}'
      const headers = { 'X-Signature': signatureOf(body) }

      t.match(await service.receiveHook({ hookId, headers, body }), { replayed: false })
      t.match(await service.receiveHook({ hookId, headers, body: Buffer.from(body) }), { replayed: false })
      t.equal((await logs()).length, 2)

      const unsigned = { hookId, headers: {}, body }
      t.match(await refusalOf(service.receiveHook(unsigned)), { kind: 'invalid_signature' })
      const withToken = { hookId, token: 'x', headers, body }
      t.match(await refusalOf(service.receiveHook(withToken)), { kind: 'hook_not_found' })
      const withObject = { hookId, headers, body: {} as never }
      t.match(await refusalOf(service.receiveHook(withObject)), { kind: 'invalid_request' })
      t.equal((await logs()).length, 2)

      const form = await create({ verify: { token: true }, map: MAP })
      const byGet = {
        hookId: form.hookId,
        token: form.path.split('/').at(-1),
        headers: {},
        body: '',
        method: 'GET',
      }
      const url = 'https://example.com/my/hooks'
      t.match(await service.receiveHook({ ...byGet, url: `${url}?email=ada@example.com` }), {
        replayed: false,
      })
      t.match((await logs())[0], { email: 'ada@example.com' })
      t.match(await refusalOf(service.receiveHook({ ...byGet, url: `${url}?a=?` })), {
        kind: 'invalid_request',
      })
      const nothing = { challenge: '', contentType: 'text/plain' }
      t.strictSame(await service.receiveHook({ ...byGet, url }), nothing)
      const dropbox = await create({ verify: { preset: 'dropbox', secret: SECRET } })
      const asked = { ...byGet, hookId: dropbox.hookId, token: undefined, url: `${url}?challenge=abc` }
      t.strictSame(await service.receiveHook(asked), { ...nothing, challenge: 'abc' })
    })

    t.test('a GET with a person in its query is a delivery like a form', async (t) => {
      const { create, send, logs, readOnceSet } = await openHooks(t, kind)
      const map = { email: ['/email'], externalId: ['query:msisdn'], idempotencyKey: ['/id'] }
      const hook = await create({ verify: { token: true }, map, trap: 'website' })
      const get = (query: string, headers = {}, method = 'GET') =>
        send(`${hook.path}?${query}`, '', headers, method)

      for (const [query, logged] of [
        [
          'email=ada%40example.com&n=1',
          { email: 'ada@example.com', payload: { email: 'ada@example.com', n: '1' } },
        ],
        ['MSISDN=%2B4917012345', { externalId: '+4917012345', email: null }],
        ['email=&Email=x&email=ada@example.com', { email: 'ada@example.com' }],
      ] as const) {
        const { status, json } = await get(query)
        t.match(
          { status, json },
          { status: 200, json: { prospectLogIds: [/^prospectlog_/], replayed: false } },
        )
        t.match((await logs())[0], logged, query)
      }
      t.equal((await get('email=ada@example.com&id=7')).json.replayed, false)
      t.equal((await get('email=ada@example.com&id=7')).json.replayed, true, 'a reload')
      t.match((await get('email=ada@example.com&website=x')).json, { replayed: false })
      t.equal((await logs()).length, 4, 'a trapped one is not stored')

      for (const query of ['utm_source=x', 'email=', 'email=n%2Fa', 'e=ada@example.com']) {
        const refused = await get(query)
        t.equal(refused.status, 400, query)
        t.match(refused.json, { code: 'invalid_request', detail: /no email or ID .* method="post"/ })
      }
      const page = await get('name=Ada', { accept: 'text/html' })
      t.match(page, { status: 400, headers: { 'content-type': /html/ }, text: /method=&quot;post&quot;/ })
      const unmapped = await create({ verify: { token: true } })
      t.equal((await send(`${unmapped.path}?email=ada@example.com`, '', {}, 'GET')).status, 400)
      t.match(await readOnceSet(unmapped, 'lastRefusal'), { reason: /method="post"/ })

      for (const headers of [
        { 'sec-purpose': 'prefetch;prerender' },
        { purpose: 'prefetch' },
        { 'x-moz': 'prefetch' },
        { 'x-purpose': 'preview' },
      ])
        t.match(await get('email=ada@example.com', headers), { status: 425, text: '' })
      t.match(await get('email=ada@example.com', {}, 'HEAD'), { status: 200, text: '' })
      for (const method of ['GET', 'HEAD']) t.match(await get('', {}, method), { status: 200, text: '' })
      const signed = await create({ map })
      t.match(await send(`${signed.path}?email=ada@example.com`, '', {}, 'GET'), { status: 200, text: '' })
      t.equal((await logs()).length, 4)
    })

    t.test('a tenant has at most 100 hooks', async (t) => {
      const { call, create } = await openHooks(t, kind)
      const json = { source: 'one too many', verify: { token: true } }
      const { hookId } = await create()
      for (let hooks = 1; hooks < HOOKS_MAX; hooks++) await create()

      t.match(await call('POST /v0/hooks', { json }), { status: 409, json: { code: 'limit_reached' } })

      t.equal((await call(`DELETE /v0/hooks/${hookId}`)).status, 204)
      const answers = await Promise.all([call('POST /v0/hooks', { json }), call('POST /v0/hooks', { json })])
      const statuses = answers.map(({ status }) => status).toSorted()
      t.strictSame(statuses, [201, 409], 'two at once do not both take the last place')
      t.match((await call('GET /v0/hooks?limit=60')).json, { hasMore: true })
    })

    t.test('REQUIRE_IDENTITY refuses activities that identify nobody, but not deliveries', async (t) => {
      const { call, create, deliver } = await openHooks(t, kind, { requireIdentity: true })
      const hook = await create()
      t.equal((await call('POST /v0/prospect_logs', { json: { source: 's', payload: {} } })).status, 400)
      t.equal((await deliver(hook, '{}')).status, 200)
    })
  },
  ['memory', 'sqlite', 'postgres', 'citus'],
)

/** An object with arrays in arrays, so many levels deep. */
const nestedJson = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

/** The bytes that a stored payload stands for: in base64, as a text, or as they came because they happen to be JSON. */
const bytesIn = (payload: string): Buffer => {
  const { body, bodyBase64 } = JSON.parse(payload) as { body?: string; bodyBase64?: string }
  return bodyBase64 === undefined ? Buffer.from(body ?? payload) : Buffer.from(bodyBase64, 'base64')
}
