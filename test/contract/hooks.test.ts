import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { signatureHeaders } from '../../src/adapters/webhooks/signature.ts'
import { webhookJobs } from '../../src/compose/webhooks.ts'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import type { Webhook, WebhookAnswer } from '../../src/core/ports/sending.ts'
import { createApi } from '../../src/entry/http.ts'
import { createService } from '../../src/entry/index.ts'
import { untilCompleted } from '../store-contract/completed.ts'
import { hooksOver, SECRET, SIGNED, signatureOf } from '../support/hooks.ts'
import { until } from '../support/program.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const PUBLIC_URL = 'https://hooks.example.com'
const NOW = Date.UTC(2026, 10, 20, 10)
const HOUR_MS = 3_600_000
/** Maps the members of an activity from members of the same name. */
const MAP = {
  type: ['/type'],
  email: ['/email'],
  name: ['/name'],
  occurredAt: ['/at'],
  idempotencyKey: ['/id'],
}

/** The API over a new store, with one tenant. */
const openHooks = async (t: Test, kind: StoreKind, options: object = {}) => {
  const { store } = await opened(t, kind)
  const clock = stoppedClock(NOW)
  const api = createApi({ store, clock, publicUrl: PUBLIC_URL, background: 'elsewhere', ...options })
  const service = createService({ store, clock, publicUrl: PUBLIC_URL, background: 'elsewhere' })
  t.teardown(api.close)
  t.teardown(service.close)
  const { tenantId } = await service.createTenant({ name: 'One' })
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  return { store, clock, api, service, tenantId, ...hooksOver(api, apiKey) }
}

/** Sends webhooks until none is left. `send` returns the status of an attempt. */
const sendAll = async (
  { t, store, clock }: Pick<Awaited<ReturnType<typeof openHooks>>, 'store' | 'clock'> & { readonly t: Test },
  send: (webhook: Webhook) => Promise<number>,
) => {
  const sendWebhook = async (webhook: Webhook): Promise<WebhookAnswer> => {
    const status = await send(webhook)
    return { status, error: status < 300 ? null : 'Refused.', retryAfterMs: null, ms: 1 }
  }
  const tools = {
    send: sendWebhook,
    secrets: { open: (sealed: string) => sealed },
  } as unknown as Parameters<typeof webhookJobs>[1]
  const steps = webhookJobs({ store, clock }, tools).map(({ stepWith }) => stepWith(t.error))
  let hasMore = true
  while (hasMore) {
    const worked: boolean[] = []
    for (const step of steps) worked.push(await step(new AbortController().signal, new Promise(() => {})))
    hasMore = worked.includes(true)
    clock.advance(1_000)
  }
}

overStores(
  async (t, kind) => {
    t.test('a delivery is logged: 200 after the commit, with everything it is mapped to', async (t) => {
      const { create, deliver, logs, payloads, read } = await openHooks(t, kind)
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
        idempotencyKey: 'form:m1',
        occurredAt: '2026-11-20T09:59:50.000Z',
        createdProspect: true,
      })
      t.strictSame(await payloads(), [body])
      const { lastReceivedAt, lastRefusal } = await until('it was seen', async () => {
        const hookNow = await read(hook)
        return hookNow.lastReceivedAt === null ? null : hookNow
      })
      t.strictSame([lastReceivedAt, lastRefusal], ['2026-11-20T10:00:00.000Z', null])
    })

    t.test('a replay is 200, even with other bytes: vendors change counters between attempts', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const { json } = await deliver(hook, '{"id":"m1","attempt":1}')
      const replay = { prospectLogIds: json.prospectLogIds, replayed: true }
      for (const body of [
        '{"id":"m1","attempt":1}',
        '{"id":"m1","attempt":2}',
        '{"id":"m1","email":"a@b.c"}',
      ]) {
        const again = await deliver(hook, body)
        t.equal(again.status, 200)
        t.strictSame(again.json, replay)
      }
      t.equal((await logs()).length, 1)
    })

    t.test('many at once under one key: one row', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => deliver(hook, `{"id":"m1","email":"ada@example.com","n":${i}}`)),
      )
      t.equal(new Set(answers.map(({ json }) => json.prospectLogIds?.join())).size, 1)
      t.equal(answers.filter(({ json }) => json.replayed === false).length, 1)
      t.equal((await logs()).length, 1)
    })

    t.test('a person who is erased is 200, and nothing is stored', async (t) => {
      const { store, clock, call, create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      // Who came by a hook is erased like anybody else.
      const before = await deliver(hook, '{"id":"m1","email":"eve@example.com"}')
      t.equal((await logs()).length, 1)
      await call('POST /v0/erasures', { json: { email: 'eve@example.com' } })
      const erase = eraseProspects({ store, clock })
      await untilCompleted(store.erasures, clock, async () => {
        while (await erase(new AbortController().signal));
      })
      t.strictSame(await logs(), [])
      const [prospectLogId] = before.json.prospectLogIds ?? []
      t.equal((await call(`GET /v0/prospect_logs/${prospectLogId}`)).status, 404)
      const again = await deliver(hook, '{"id":"m1","email":"eve@example.com"}')
      t.strictSame([again.status, again.json], [200, { ignored: 'prospect_erased' }])
      const ignored = await deliver(hook, '{"email":"Eve@example.com"}')
      t.strictSame([ignored.status, ignored.json], [200, { ignored: 'prospect_erased' }])
      const split = await create({ map: MAP, each: '/people' })
      const { json } = await deliver(
        split,
        '{"people":[{"email":"eve@example.com"},{"email":"ada@example.com"}]}',
      )
      t.match(json, { replayed: false, ignored: 'prospect_erased' })
      t.strictSame(
        (await logs()).map(({ email }) => email),
        ['ada@example.com'],
      )
    })

    t.test('webhooks to a hook of the same service end: their third delivery in a row is 508', async (t) => {
      const { store, clock, call, create, send, logs } = await openHooks(t, kind)
      const hook = await create({ verify: { token: true } })
      const json = { url: 'https://own.example/hook', types: ['prospect_log.created'] }
      const endpoint = (await call('POST /v0/webhook_endpoints', { json })).json['webhookEndpointId']
      const answers: [number, number][] = []
      const activity = { source: 'crm', email: 'ada@example.com', payload: {} }
      await call('POST /v0/prospect_logs', { json: activity })
      await sendAll({ t, store, clock }, async ({ body, hops }) => {
        const { status } = await send(hook.path, body, { 'webhook-hops': `${hops}` })
        answers.push([hops, status])
        return status
      })
      t.strictSame(answers, [
        [1, 200],
        [2, 200],
        [3, 508],
      ])
      t.equal((await logs()).length, 3)
      const { items } = (await call('GET /v0/events')).json as { items: { data: object }[] }
      t.notOk(JSON.stringify(items).includes('hops'), 'nobody sees the number')
      const failed = await call(`GET /v0/webhook_endpoints/${endpoint}/deliveries?status=failed`)
      t.match(failed.json, { items: [{ attempts: 1, lastStatusCode: 508 }] }, 'it is not tried again')
      const trial = { headers: { 'Webhook-Hops': '3' }, body: '{}' }
      const tried = await call(`POST /v0/hooks/${hook.hookId}/try`, { json: trial })
      t.match(tried.json, { verified: false, reason: /loop/, activities: [{ source: 'vendor' }] })
      t.notOk(tried.body.includes('hops'))
    })

    for (const [targets, most] of [
      [['prospect_logs'], 2],
      [['prospect_logs', 'prospect_logs'], 3],
      [['prospect_logs/batch', 'prospect_logs/batch'], 1],
      [['prospect_logs', 'pages'], 2],
    ] as const)
      t.test(`webhooks to ${targets} of the same service end`, async (t) => {
        const { store, clock, call, logs } = await openHooks(t, kind)
        const { json: group } = await call('POST /v0/page_groups', {
          json: { name: 'spring', title: 'Spring' },
        })
        const pages = `/v0/page_groups/${group['pageGroupId']}/pages`
        const activity = { source: 'crm', email: 'ada@example.com', payload: {} }
        const requests = {
          prospect_logs: ['POST /v0/prospect_logs', activity],
          'prospect_logs/batch': ['POST /v0/prospect_logs/batch', { items: [activity, activity] }],
          pages: [`POST ${pages}`, {}],
        } as const
        for (const [i] of targets.entries()) {
          const types = ['prospect_log.created', 'page.created', 'page_version.published']
          await call('POST /v0/webhook_endpoints', { json: { url: `https://own.example/${i}`, types } })
        }
        await call('POST /v0/prospect_logs', { json: activity })
        await sendAll({ t, store, clock }, async ({ url, hops }) => {
          const [operation, json] = requests[targets[Number(url.at(-1))] ?? 'pages']
          return (await call(operation, { json, headers: { 'webhook-hops': `${hops}` } })).status
        })
        t.equal((await logs()).length, most)
        t.strictSame((await call(`GET ${pages}`)).json['items'], [])
      })

    t.test('a webhook may read, and may log one activity; other changes are 508', async (t) => {
      const { call, logs } = await openHooks(t, kind)
      const activity = { source: 'crm', email: 'ada@example.com', payload: {} }
      const by = (hops: string) => ({ 'webhook-hops': hops })
      const statusOf = async (operation: string, json: object, hops: string) =>
        (await call(operation, { json, headers: by(hops) })).status
      t.equal(await statusOf('POST /v0/prospect_logs', activity, '1'), 201)
      for (const hops of ['2', '17', '2, 2']) {
        const answer = await call('POST /v0/prospect_logs', { json: activity, headers: by(hops) })
        t.match(answer, { status: 508, json: { code: 'loop_detected' } })
      }
      for (const hops of ['', '0', 'x'])
        t.equal(await statusOf('POST /v0/prospect_logs', activity, hops), 201)
      t.equal(await statusOf('POST /v0/prospects', { email: 'eve@example.com' }, '1'), 508)
      t.equal(await statusOf('POST /v0/prospect_logs/batch', { items: [activity] }, '1'), 508)
      t.equal((await call('GET /v0/prospect_logs', { headers: by('9') })).status, 200)
      t.equal((await logs()).length, 4)
    })

    t.test('deliveries by others count as the first, whatever they say', async (t) => {
      const { create, deliver, logs, read } = await openHooks(t, kind)
      const looping = await create()
      t.match(await deliver(looping, '{}', { 'webhook-hops': '3' }), { status: 508 })
      t.match(await until('it was seen', async () => (await read(looping)).lastRefusal), { reason: /loop/ })
      const hook = await create()
      for (const hops of ['', 'x', '0', '2'])
        t.match(await deliver(hook, '{}', { 'webhook-hops': hops }), { status: 200 }, hops)
      for (const hops of ['4, 4', '9'.repeat(400)]) {
        const { status, json } = await deliver(hook, '{}', { 'webhook-hops': hops })
        t.strictSame([status, json.code], [508, 'loop_detected'], hops)
      }
      t.equal((await logs()).length, 4)
    })

    t.test('a signature that is wrong, missing or old is 401, and the hook says why', async (t) => {
      const { clock, create, send, deliver, logs, read } = await openHooks(t, kind)
      const hook = await create()
      const unsigned = await send(hook.path)
      t.equal(unsigned.status, 401)
      t.equal(unsigned.headers['www-authenticate'], 'Signature realm="prospect-pages"')
      t.match(unsigned.json, {
        code: 'invalid_signature',
        detail: 'The signature header x-signature is missing.',
      })
      t.strictSame(await until('it was seen', async () => (await read(hook)).lastRefusal), {
        at: '2026-11-20T10:00:00.000Z',
        reason: 'The signature header x-signature is missing. Check that the sender has the secret.',
      })
      for (const signature of ['', '0', 'é', ',', signatureOf('{ }'), 'a'.repeat(100_000)])
        t.match(await send(hook.path, '{}', { 'x-signature': signature }), { status: 401 })
      const right = signatureOf('{}')
      for (const signature of [right.toUpperCase(), `${signatureOf('x')}, ${right}`, ` ${right} `])
        t.match(await send(hook.path, '{}', { 'x-signature': signature }), { status: 200 }, signature)

      const stripe = await create({ verify: { preset: 'stripe', secret: SECRET } })
      const at = (seconds: number) => {
        const time = NOW / 1_000 + seconds
        return { 'stripe-signature': `t=${time},v1=${signatureOf(`${time}.{}`)}` }
      }
      for (const seconds of [-300, 0, 300]) t.equal((await send(stripe.path, '{}', at(seconds))).status, 200)
      for (const seconds of [-301, 301])
        t.match((await send(stripe.path, '{}', at(seconds))).json.detail, /its timestamp is not within 300/)
      t.match(await send(stripe.path, '{}', { 'stripe-signature': `v1=${right}` }), { status: 401 })
      clock.advance(1)
      t.equal((await deliver(hook, '{}')).status, 200)
      t.equal((await logs()).length, 7)
    })

    t.test('an unknown hook, a wrong token and a disabled hook are 404, in the same words', async (t) => {
      const { call, create, send } = await openHooks(t, kind)
      const signed = await create()
      const byToken = await create({ verify: { token: true } })
      const disabled = await create()
      t.match(byToken.path, /^\/hooks\/hook_[a-z0-9]{26}\/pph_[A-Za-z0-9]{36}$/)
      t.equal(byToken.url, PUBLIC_URL + byToken.path)
      t.equal((await send(byToken.path)).status, 200)
      await call(`PATCH /v0/hooks/${disabled.hookId}`, { json: { status: 'disabled' } })
      const wrong = [
        `/hooks/hook_${'0'.repeat(26)}`,
        '/hooks/none',
        `/hooks/${byToken.hookId}`,
        `/hooks/${byToken.hookId}/pph_wrong`,
        `/hooks/${byToken.hookId}/%E2%80%A2%E2%80%A2%E2%80%A2`,
        `${signed.path}/token`,
        disabled.path,
      ]
      const answers = await Promise.all(
        wrong.map((path) => send(path, '{}', { 'x-signature': signatureOf('{}'), 'x-request-id': 'same' })),
      )
      t.equal(answers[0]?.status, 404)
      t.equal(new Set(answers.map(({ text }) => text)).size, 1)
      t.match(answers[0]?.json, { code: 'hook_not_found' })
      for (const path of [`${byToken.path}/`, `${byToken.path}/more`]) t.equal((await send(path)).status, 404)
    })

    t.test('too large is 413; a body may have exactly as much as is allowed', async (t) => {
      const { create, send } = await openHooks(t, kind)
      const { path } = await create({ verify: { token: true } })
      t.match(await send(path, 'x'.repeat(101), {}, 'POST', 100), { status: 413 })
      t.match(await send(path, 'x'.repeat(100), {}, 'POST', 100), { status: 200 })
    })

    t.test('a GET or HEAD with a right token is 200 and empty; challenges are seen again', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const byToken = await create({ verify: { preset: 'mailchimp' } })
      for (const method of ['GET', 'HEAD']) {
        t.match(await send(byToken.path, '', {}, method), { status: 200, text: '' })
        t.equal((await send(`${byToken.path}x`, '', {}, method)).status, 404)
      }
      const meta = await create({ verify: { preset: 'meta', secret: SECRET } })
      const asked = (token: string) =>
        send(
          `${meta.path}?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${token}`,
          '',
          {},
          'GET',
        )
      t.equal((await asked(meta.hookId)).text, '1158201444')
      t.equal((await asked('another')).text, '')
      const slack = await create({ verify: { preset: 'slack', secret: SECRET } })
      const body = '{"type":"url_verification","challenge":"3eZbrw1a"}'
      const time = `${NOW / 1_000}`
      const signed = (text: string) => ({
        'x-slack-request-timestamp': time,
        'x-slack-signature': `v0=${signatureOf(`v0:${time}:${text}`)}`,
      })
      t.match(await send(slack.path, body, signed(body)), { status: 200, text: '3eZbrw1a' })
      t.equal((await send(slack.path, body, signed('{}'))).status, 401)
      const woo = await create({ verify: { preset: 'woocommerce', secret: SECRET } })
      t.match(await send(woo.path, 'webhook_id=7'), { status: 200, text: '' })
      t.equal((await send(woo.path, 'webhook_id=7&a=b')).status, 401)
      t.equal((await logs()).length, 0)
      // Signed, but of another vendor: an activity like any other.
      const other = await create()
      t.match(
        (await send(other.path, body, { 'x-signature': signatureOf(body) })).json.prospectLogIds?.length,
        1,
      )
    })

    t.test('every body is stored: JSON as it is, and anything else as JSON', async (t) => {
      const { create, deliver, payloads } = await openHooks(t, kind)
      const hook = await create({ map: MAP })
      const FORM = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
      const deep = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
      const cases: readonly (readonly [body: string | Uint8Array, payload: string, headers?: object])[] = [
        ['{"b":1.0,"a":12345678901234567890,"b":2}', '{"b":1.0,"a":12345678901234567890,"b":2}'],
        [' {"t":"\\u0000\\ud800"}\n', '{"t":"\\u0000\\ud800"}'],
        ['[1, 2]', '{"items":[1, 2]}'],
        ['', '{"body":""}'],
        ['plain "text"\n', '{"body":"plain \\"text\\"\\n"}'],
        ['"a JSON text"', '{"body":"\\"a JSON text\\""}'],
        ['{"a":1', '{"body":"{\\"a\\":1"}'],
        ['a=1&b=x+y%21&a=2&__proto__=p', '{"a":["1","2"],"b":"x y!","__proto__":"p"}', FORM],
        ['{"a":1}', '{"a":1}', FORM],
        [Buffer.from([0xff, 0xfe, 0]), '{"bodyBase64":"//4A"}'],
        [deep(512), deep(512)],
        [deep(513), `{"body":${JSON.stringify(deep(513))}}`],
      ]
      for (const [body, , headers] of cases) {
        const { status, text } = await deliver(hook, body, headers)
        t.equal(status, 200, text)
      }
      t.strictSame(
        (await payloads()).toReversed(),
        cases.map(([, payload]) => payload),
      )
      const large = JSON.stringify({ text: 'x'.repeat(1_048_576 - 11) })
      t.equal(large.length, 1_048_576)
      t.equal((await deliver(hook, large)).status, 200)
    })

    t.test('whatever a verified sender sends is stored', async (t) => {
      const { service, tenantId, create, deliver } = await openHooks(t, kind)
      const hook = await create({ map: { ...MAP, type: ['/a/0', '/type'] } })
      const ids = new Set<string>()
      for (let i = 0; i < 60; i++) {
        const bytes = randomBytes(i)
        const body =
          i % 3 === 0 ? bytes : JSON.stringify({ id: i, type: bytes.toString('latin1'), email: [i], a: i })
        const { status, json } = await deliver(hook, body)
        const [prospectLogId = ''] = json.prospectLogIds ?? []
        const { payload } = (await service.getProspectLog({ tenantId, prospectLogId })).value
        t.equal(status, 200)
        ids.add(prospectLogId)
        if (i % 3 !== 0) t.equal(payload.rawJson, body)
        else if ('bodyBase64' in JSON.parse(payload.rawJson))
          t.strictSame(Buffer.from(JSON.parse(payload.rawJson).bodyBase64, 'base64'), bytes)
        else t.same(Buffer.from(JSON.parse(payload.rawJson).body ?? payload.rawJson), bytes)
      }
      t.equal(ids.size, 60)
    })

    t.test('a value that does not fit counts as missing, and the next place is looked at', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const places = { type: ['/a', 'header:X-Kind'], occurredAt: ['/at', '/later'], email: ['/e/0', '/e/1'] }
      const hook = await create({ map: { ...places, name: ['/n'], idempotencyKey: ['/k', 'sha256'] } })
      const day = 86_400_000
      const bodies = [
        { a: 'x'.repeat(101), at: NOW + day + 1, later: NOW, e: ['', 7], n: 12.5, k: '' },
        {
          a: {},
          at: '2026-11-20T10:00:00',
          later: '2026-11-20T12:00:00+02:00',
          e: [null, 'a\0b'],
          n: 'x'.repeat(256),
        },
        { a: [1], at: 'soon', later: -1, e: 'text', n: true, k: 'x'.repeat(256) },
      ]
      for (const body of bodies)
        t.equal((await deliver(hook, JSON.stringify(body), { 'x-kind': 'lead' })).status, 200)
      const [third, second, first] = await logs()
      const noKey = { type: 'lead', idempotencyKey: /^lead:[\w-]{43}$/ }
      t.match(first, { ...noKey, email: '7', name: '12.5', occurredAt: '2026-11-20T10:00:00.000Z' })
      t.match(second, { ...noKey, email: null, name: null, occurredAt: '2026-11-20T10:00:00.000Z' })
      t.match(third, { ...noKey, email: null, name: null, occurredAt: '2026-11-20T10:00:00.000Z' })
    })

    t.test('places lead to elements, sums and constants, and pass over what says nothing', async (t) => {
      const { call, create, deliver, logs } = await openHooks(t, kind)
      const NOW_ISO = '2026-11-20T10:00:00.000Z'
      const cases: readonly (readonly [map: object, body: unknown, expected: object, headers?: object])[] = [
        // The element of a list that has a value.
        [
          { email: ['/answers[type=email]/email'], name: ['/answers[ref=a~1b [1]]/text'] },
          {
            answers: [
              { type: 'text', ref: 'a/b [1]', text: 'Ada' },
              'x',
              { type: 'email', email: 'ada@x.example' },
            ],
          },
          { email: 'ada@x.example', name: 'Ada' },
        ],
        [
          { email: ['/f[id=7]/v'] },
          {
            f: [
              { id: 8, v: 'no' },
              { id: 7, v: 'a@x.example' },
            ],
          },
          { email: 'a@x.example' },
        ],
        [
          { email: ['/f[on=true]/v'] },
          {
            f: [
              { on: false, v: 'no' },
              { on: true, v: 'a@x.example' },
            ],
          },
          { email: 'a@x.example' },
        ],
        [
          { email: ['/f[t=a]/g[t=b]/v'] },
          { f: [{ t: 'a', g: [{ t: 'b', v: 'a@x.example' }] }] },
          { email: 'a@x.example' },
        ],
        [{ name: ['/f[t=a]'] }, { 'f[t=a]': 'literal', f: [{ t: 'a' }] }, { name: 'literal' }],
        [{ email: ['/f[t=a]/v'] }, { f: 'text' }, { email: null }],
        [
          { email: ['/f[t=e999]/v'] },
          { f: Array.from({ length: 1_000 }, (_, i) => ({ t: `e${i}`, v: `${i}@x.example` })) },
          { email: '999@x.example' },
        ],
        // Sums: missing members are left out; constants alone are no sum.
        [{ name: ['/first + /last'] }, { first: ' Ada', last: 'Lovelace ' }, { name: 'Ada Lovelace' }],
        [{ name: ['/first + /last'] }, { first: null, last: 'Lovelace' }, { name: 'Lovelace' }],
        [{ name: ['/first + /last', '/full'] }, { first: '', last: 'N/A', full: 'Ada' }, { name: 'Ada' }],
        [
          { name: ['=Dr. + /last + header:x-title'] },
          { last: 'Who' },
          { name: 'Dr. Who PhD' },
          { 'x-title': 'PhD' },
        ],
        [{ name: ['=Dr. + /last', '/a + b'] }, { 'a + b': 'Ada' }, { name: 'Ada' }],
        [
          { occurredAt: ['/gmt + =Z'] },
          { gmt: '2026-11-20T09:00:00' },
          { occurredAt: '2026-11-20T09:00:00.000Z' },
        ],
        // Constants.
        [{ type: ['=form_submitted'] }, {}, { type: 'form_submitted' }],
        [{ type: ['/type', '=other'] }, { type: 'x' }, { type: 'x' }],
        // Blanks and placeholders count as missing.
        ...['', ' ', 'null', 'N/A', '{{email}}', '\u200b', '-', '[object Object]', 'undefined'].map(
          (nothing) =>
            [
              { email: ['/a', '/b'], externalId: ['/a', '/c'], name: ['/a', '/d'], type: ['/a', '/e'] },
              { a: nothing, b: 'a@x.example', c: 'c-1', d: 'Ada', e: 'form' },
              { email: 'a@x.example', externalId: 'c-1', name: 'Ada', type: 'form' },
            ] as const,
        ),
        [{ email: ['/city', '/email'] }, { city: 'Berlin', email: 'a@x.example' }, { email: 'a@x.example' }],
        [{ email: ['/city'] }, { city: 'Berlin' }, { email: 'Berlin' }],
        [
          { name: ['/name'], type: ['/type'] },
          { name: 'Guest', type: 'test' },
          { name: 'Guest', type: 'test' },
        ],
        // Headers are UTF-8, if they can be.
        ...(
          [
            [Buffer.from('Zoë 😀').toString('latin1'), 'Zoë 😀'],
            ['Zo\xeb', 'Zoë'],
            ['Zoe', 'Zoe'],
          ] as const
        ).map(([sent, name]) => [{ name: ['header:X-Name'] }, {}, { name }, { 'x-name': sent }] as const),
        // Times that are unambiguous.
        ...(
          [
            '2026-11-20T10:00:00+0000',
            '2026-11-20 10:00:00Z',
            '2026-11-20 11:00:00.0+01',
            '2026-11-20 10:00:00 UTC',
          ] as const
        ).map((at) => [{ occurredAt: ['/at', '/old'] }, { at, old: 1 }, { occurredAt: NOW_ISO }] as const),
        // An array, as it came and as it is stored.
        [{ email: ['/items/0/email'] }, [{ email: 'a@x.example' }], { email: 'a@x.example' }],
        [{ email: ['/0/email'] }, [{ email: 'a@x.example' }], { email: 'a@x.example' }],
        [{ email: ['/items[t=b]/v'] }, [{ t: 'a' }, { t: 'b', v: 'a@x.example' }], { email: 'a@x.example' }],
        [{ email: ['/items/1/0'] }, [0, ['a@x.example']], { email: 'a@x.example' }],
      ]
      for (const [map, body, expected, headers] of cases) {
        const hook = await create({ map })
        const { status, text } = await deliver(hook, JSON.stringify(body), headers)
        t.equal(status, 200, text)
        await call(`DELETE /v0/hooks/${hook.hookId}`)
        t.match((await logs())[0], expected, JSON.stringify([map, body]).slice(0, 200))
      }
    })

    t.test('an element comes before the whole body, and what both have is joined', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({
        each: '/rows[kind=people]/list',
        map: {
          type: ['/type', '=row'],
          name: ['=Dr. + /last'],
          idempotencyKey: ['header:x-id + /id'],
        },
      })
      const list = [{ last: 'Who', type: 'doctor', id: 1 }, { id: 2 }, {}, {}]
      const body = JSON.stringify({
        type: 'all',
        last: 'Ada',
        rows: [{ kind: 'x' }, { kind: 'people', list }],
      })
      await deliver(hook, body, { 'x-id': 'm1' })
      t.strictSame(
        (await logs()).map(({ type, name, idempotencyKey }) => [type, name, idempotencyKey]).toReversed(),
        [
          ['doctor', 'Dr. Who', 'doctor:m1 1'],
          ['all', 'Dr. Ada', 'all:m1 2'],
          ['all', 'Dr. Ada', 'all:m1:2'],
          ['all', 'Dr. Ada', 'all:m1:3'],
        ],
      )
    })

    t.test('a mapped key belongs to the type: one object is created, then cancelled', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({
        map: { type: ['/event', 'header:x-event'], idempotencyKey: ['/uri', 'sha256'] },
      })
      const send = async (event: unknown, uri: unknown = 'u1', headers = {}) =>
        (await deliver(hook, JSON.stringify({ event, uri }), headers)).json.replayed
      for (const isRetry of [false, true])
        for (const event of ['invitee.created', 'invitee.canceled', 'a:b', 'x'.repeat(100)])
          t.equal(await send(event), isRetry, event)
      t.equal(await send('a', 'b:u1'), false, 'another key of another type')
      for (const isRetry of [false, true])
        for (const event of ['order.created', 'order.paid'])
          t.equal(await send(null, null, { 'x-event': event }), isRetry, 'the same bytes')
      for (const placeholder of ['null', '{{id}}', ' '])
        t.equal(await send('first', placeholder), false, 'a placeholder names no message')
      t.equal((await logs()).length, 10)
    })

    t.test('400: a place that could not lead anywhere, or has too many parts', async (t) => {
      const { call } = await openHooks(t, kind)
      const places = ['name', '=', '= ', 'header:', 'header:é', '/a + =', 'sha256', '/~2', '/a'.repeat(17)]
      for (const place of [...places, Array(11).fill('/a').join(' + '), Array(100).fill('=a').join(' + ')]) {
        const json = { source: 'a', verify: SIGNED, map: { name: [place] } }
        const { status, json: answer } = await call('POST /v0/hooks', { json })
        t.strictSame(
          [status, (answer['errors'] as { pointer: string }[])[0]?.pointer],
          [400, '/map/name/0'],
          place,
        )
      }
    })

    t.test('each element is an activity, up to 1,000; more, or no array, are one activity', async (t) => {
      const { create, deliver, call } = await openHooks(t, kind)
      const hook = await create({ each: '/items', map: { ...MAP, type: ['/type', '/kind'] } })
      const items = [
        { id: 'e1', type: 'own', email: 'ada@example.com' },
        [2],
        'three',
        { email: 'ada@example.com' },
      ]
      const { json } = await deliver(hook, JSON.stringify({ id: 'm1', kind: 'all', items }))
      t.equal(json.prospectLogIds?.length, 4)
      const logged = async (id = '') => JSON.parse((await call(`GET /v0/prospect_logs/${id}`)).body)
      const [first, second, third, fourth] = await Promise.all((json.prospectLogIds ?? []).map(logged))
      t.match(first, { type: 'own', idempotencyKey: 'own:e1', payload: items[0], createdProspect: true })
      t.match(second, { type: 'all', idempotencyKey: 'all:m1:1', payload: { items: [2] } })
      t.match(third, { idempotencyKey: 'all:m1:2', payload: { body: 'three' } })
      t.match(fourth, { idempotencyKey: 'all:m1:3', prospectId: first.prospectId, createdProspect: false })
      const longKey = JSON.stringify({ id: 'x'.repeat(254), items: [{}, {}] })
      const once = await deliver(hook, longKey)
      const twice = await deliver(hook, longKey)
      t.strictSame(twice.json, { prospectLogIds: once.json.prospectLogIds, replayed: true })
      const again = await deliver(hook, JSON.stringify({ id: 'm1', kind: 'all', items, attempt: 2 }))
      t.strictSame(again.json, { prospectLogIds: json.prospectLogIds, replayed: true })

      const many = (count: number) => JSON.stringify({ items: Array.from({ length: count }, () => ({})) })
      for (const [body, count] of [
        [many(1_000), 1_000],
        [many(1_001), 1],
        [many(0), 0],
        ['{"items":{"0":1}}', 1],
        ['[]', 0],
        ['text', 1],
      ] as const)
        t.equal((await deliver(hook, body)).json.prospectLogIds?.length, count, body.slice(0, 20))
    })

    t.test('a long text of the whole body costs its elements nothing: it counts as missing', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const places = ['/email', '/a', '/email', '/email']
      const hook = await create({
        each: '/items',
        map: { email: places, name: places, idempotencyKey: ['sha256'] },
      })
      const items = Array.from({ length: 1_000 }, () => ({}))
      const { status, json } = await deliver(
        hook,
        JSON.stringify({ email: 'é'.repeat(400_000), a: 'ada', items }),
      )
      t.equal(status, 200)
      t.equal(json.prospectLogIds?.length, 1_000)
      t.equal(new Set((await logs()).map(({ email }) => email)).size, 1)
      t.match((await logs())[0], { email: 'ada', name: 'ada' })
    })

    t.test('a new secret or token leaves the old one valid for the overlap', async (t) => {
      const { clock, call, create, send, deliver } = await openHooks(t, kind)
      const hook = await create()
      const change = async (json: object, id = hook.hookId) => {
        const answer = await call(`PATCH /v0/hooks/${id}`, { json })
        t.equal(answer.status, 200, answer.body)
        return answer.json as unknown as typeof hook
      }
      const by = (secret: string) => send(hook.path, '{}', { 'x-signature': signatureOf('{}', secret) })
      await change({ verify: { ...SIGNED, secret: 'newer' }, overlapHours: 1 })
      // Sent again, as after an answer that was lost.
      for (let i = 0; i < 4; i++) await change({ verify: { ...SIGNED, secret: 'newest' }, overlapHours: 2 })
      for (const secret of ['newest', 'newer', SECRET]) t.equal((await by(secret)).status, 200, secret)
      clock.advance(HOUR_MS)
      // Another rotation does not prolong what ends.
      t.equal((await by(SECRET)).status, 401)
      t.equal((await by('newer')).status, 200)
      clock.advance(HOUR_MS)
      t.equal((await by('newest')).status, 200)
      t.equal((await by('newer')).status, 401)
      await change({ verify: { ...SIGNED, secret: 'last' }, overlapHours: 0 })
      t.equal((await by('newest')).status, 401)

      const byToken = await create({ verify: { token: true } })
      const { path } = await change({ verify: { token: true } }, byToken.hookId)
      t.not(path, byToken.path)
      for (const known of [path, byToken.path]) t.equal((await send(known)).status, 200)
      clock.advance(24 * HOUR_MS)
      t.equal((await send(byToken.path)).status, 404)
      t.equal((await send(path)).status, 200)
      // Verified in another way, an old secret proves nothing.
      await change({ verify: { token: true } })
      t.equal((await deliver(hook, '{}')).status, 404)
    })

    t.test('our own webhooks are received by our own hooks', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const secret = `whsec_${randomBytes(32).toString('base64')}`
      const hook = await create({ verify: { preset: 'standard-webhooks', secret } })
      const data = { prospectId: 'p1', email: 'ada@example.com', name: 'Ada' }
      const body = JSON.stringify({ type: 'prospect.created', timestamp: '2026-11-20T09:59:00.000Z', data })
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

    t.test('the library receives what came to a route of its own', async (t) => {
      const { service, create, logs } = await openHooks(t, kind)
      const { hookId } = await create({ map: MAP })
      const body = '{"type":"form"}'
      const headers = { 'X-Signature': signatureOf(body) }
      t.match(await service.receiveHook({ hookId, headers, body }), { replayed: false })
      t.match(await service.receiveHook({ hookId, headers, body: Buffer.from(body) }), { replayed: false })
      const kindOf = (why: { kind?: string }) => why.kind
      t.equal(await service.receiveHook({ hookId, headers: {}, body }).catch(kindOf), 'invalid_signature')
      t.equal(
        await service.receiveHook({ hookId, token: 'x', headers, body }).catch(kindOf),
        'hook_not_found',
      )
      t.equal(
        await service.receiveHook({ hookId, headers, body: {} as never }).catch(kindOf),
        'invalid_request',
      )
      t.equal((await logs()).length, 2)
    })

    t.test('a tenant has at most 100 hooks', async (t) => {
      const { call, create } = await openHooks(t, kind)
      const { hookId } = await create()
      for (let i = 1; i < 100; i++) await create()
      const json = { source: 'one too many', verify: { token: true } }
      t.match(await call('POST /v0/hooks', { json }), { status: 409, json: { code: 'limit_reached' } })
      t.equal((await call(`DELETE /v0/hooks/${hookId}`)).status, 204)
      const answers = await Promise.all([json, json].map((json) => call('POST /v0/hooks', { json })))
      t.strictSame(answers.map(({ status }) => status).toSorted(), [201, 409])
      const listed = await call('GET /v0/hooks?limit=60')
      t.match(listed.json, { hasMore: true })
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
