import { once } from 'node:events'
import t from 'tap'
import type { Webhook, WebhookAnswer } from '../../../src/core/ports/sending.ts'
import { findEndpoint } from '../../store-contract/outbox.ts'
import { idOf } from '../../store-contract/setting.ts'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'

const URL_OK = 'https://example.com/hooks'
const NOW = '2026-01-01T00:00:00.000Z'
const ENDPOINTS = '/v0/webhook_endpoints'

const openEndpoints = async (options: Parameters<typeof openScene>[0] = {}) => {
  const sent: Webhook[] = []
  const answers: WebhookAnswer[] = []
  const DELIVERED = { status: 204, error: null, retryAfterMs: null, ms: 7 }
  const scene = await openScene({
    ...options,
    send: async (webhook) => {
      sent.push(webhook)
      return answers.shift() ?? DELIVERED
    },
  })
  const { call, store, clock, owner } = scene
  const create = async (json: object = {}) =>
    (await call(`POST ${ENDPOINTS}`, { json: { url: URL_OK, ...json } })).json as Created
  const number = () =>
    store.events.number({ tenantId: owner.tenantId, now: new Date(clock()).toISOString(), max: 1_000 })
  const logged = async () => {
    await call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {} } })
    await number()
  }
  const deliveries = async (id: string, query = '') =>
    (await call(`GET ${ENDPOINTS}/${id}/deliveries${query}`)).json as {
      items: Delivery[]
      nextCursor?: string
    }
  /** Creates an endpoint with a template as it is written. */
  const createWith = async (body: string, more: object = {}) =>
    (
      await call(`POST ${ENDPOINTS}`, {
        body: `{"url":"${URL_OK}","body":${body},${JSON.stringify(more).slice(1)}`.replace(',}', '}'),
      })
    ).json as Created
  return { ...scene, sent, answers, create, createWith, number, logged, deliveries }
}
type Created = { readonly webhookEndpointId: string; readonly secret: string }
type Delivery = { readonly eventId: string; readonly type: string; readonly status: string }

t.test('201: an endpoint for all events, with a secret that is shown once', async (t) => {
  const { call, create } = await openEndpoints()
  const { secret, ...endpoint } = await create()
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.strictSame(endpoint, {
    webhookEndpointId: endpoint.webhookEndpointId,
    url: URL_OK,
    types: null,
    sources: null,
    logTypes: null,
    description: null,
    headers: null,
    method: 'POST',
    body: null,
    status: 'enabled',
    disabledReason: null,
    failures: 0,
    failingSince: null,
    lastError: null,
    createdAt: NOW,
    updatedAt: NOW,
  })
  t.strictSame((await call(`GET ${ENDPOINTS}/${endpoint.webhookEndpointId}`)).json, endpoint)
  const second = await create({ types: ['page.created'], description: 'The CRM' })
  t.match(second, { types: ['page.created'], description: 'The CRM' })
  t.match((await call(`GET ${ENDPOINTS}`)).json, { items: [endpoint, { types: ['page.created'] }] })
  t.notMatch((await call(`GET ${ENDPOINTS}`)).body, /whsec_/)
})

t.test('400: an invalid endpoint, with every error', async (t) => {
  const { call } = await openEndpoints()
  const refused = async (json: object, ...pointers: string[]) => {
    const answer = await call(`POST ${ENDPOINTS}`, { json })
    t.equal(answer.status, 400)
    const errors = answer.json['errors'] as { pointer: string }[]
    t.strictSame(errors.map(({ pointer }) => pointer).sort(), pointers, JSON.stringify(json))
  }
  await refused({}, '/url')
  await refused({ url: '', types: [], description: 'x'.repeat(256) }, '/description', '/types', '/url')
  await refused({ url: URL_OK, types: ['page.created', 'page.gone'] }, '/types/1')
  const unknown = (await call(`POST ${ENDPOINTS}`, { json: { url: URL_OK, types: ['ada@example.com'] } }))
    .body
  t.match(unknown, 'must be one of prospect.created, prospect.updated')
  t.notMatch(unknown, /ada|Expected/, 'nothing of the value is repeated')
  await refused({ url: `https://example.com/${'x'.repeat(2_048)}` }, '/url')
  await refused({ url: URL_OK, sources: [], logTypes: ['x'.repeat(101)] }, '/logTypes/0', '/sources')
  await refused({ url: URL_OK, sources: Array(51).fill('crm') }, '/sources')
  for (const url of ['x', 'ftp://example.com', 'https://me:secret@example.com', 'http://example.com'])
    await refused({ url }, '/url')
})

t.test('400: invalid headers and headers that HTTP or the service sets, each with its pointer', async (t) => {
  const { call, create } = await openEndpoints()
  const { webhookEndpointId } = await create()
  const refused = async (headers: unknown, ...pointers: string[]) => {
    for (const operation of [`POST ${ENDPOINTS}`, `PATCH ${ENDPOINTS}/${webhookEndpointId}`]) {
      const answer = await call(operation, { json: { url: URL_OK, headers } })
      t.equal(answer.status, 400, JSON.stringify(headers))
      const errors = answer.json['errors'] as { pointer: string }[]
      t.strictSame(
        errors.map(({ pointer }) => pointer),
        pointers.map((pointer) => `/headers${pointer}`),
      )
      t.notMatch(answer.body, /4711/, 'no value is repeated')
    }
  }
  const reserved = ['Host', 'content-length', 'Content-Type', 'connection', 'transfer-encoding', 'User-Agent']
  for (const name of [...reserved, 'webhook-id', 'Webhook-Signature', 'proxy-authorization', 'te'])
    await refused({ [name]: '4711' }, `/${name}`)
  for (const name of ['', 'x y', 'x:', 'é', 'x'.repeat(101)]) await refused({ [name]: '4711' }, `/${name}`)
  for (const value of ['', ' 4711', '4711 ', '4711\r\nx: y', '4711é', '•••', '4'.repeat(1_001), 4711, null])
    await refused({ 'x-key': value }, '/x-key')
  await refused(Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`x-${i}`, 'v'])), '')
  await refused('x-key: 1', '')
  await refused({ 'X-Key': '1', 'x-key': '2' }, '')
})

t.test('400: headers with names of Object.prototype are refused rather than left out', async (t) => {
  const { call } = await openEndpoints()
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    const body = `{"url":"${URL_OK}","headers":{"x-key":"1","${name}":"4711"}}`
    const { status, json } = await call(`POST ${ENDPOINTS}`, { body })
    const errors = [{ detail: `must not have a member named ${name}`, pointer: '/headers' }]
    t.match({ status, errors: json['errors'] }, { status: 400, errors })
  }
  for (const name of ['toString', '__proto', 'Constructor', 'hasOwnProperty'])
    t.equal(
      (await call(`POST ${ENDPOINTS}`, { json: { url: URL_OK, headers: { [name]: '1' } } })).status,
      201,
    )
})

t.test('200: headers are sent with every webhook, and only their names are shown', async (t) => {
  const { call, create, sent, store, owner } = await openEndpoints()
  const headers = { Authorization: 'Bearer 4711', 'x-key': 'k'.repeat(1_000) }
  const { webhookEndpointId, ...created } = await create({ headers })
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  const shown = { headers: { Authorization: '•••', 'x-key': '•••' } }
  t.match(created, shown)
  t.match((await call(`GET ${path}`)).json, shown)
  t.notMatch(JSON.stringify(await store.webhooks.list(owner.tenantId)), /4711/, 'stored like a secret')
  const patched = async (json: object) => (await call(`PATCH ${path}`, { json })).json['headers']
  const headersSent = async () => {
    await call(`POST ${path}/test`)
    return sent.pop()?.headers
  }
  t.strictSame(await headersSent(), headers)
  t.strictSame(await patched({ description: 'x' }), shown.headers)
  t.strictSame(await patched({ headers: { 'x-other': '1' } }), { 'x-other': '•••' })
  t.strictSame(await headersSent(), { 'x-other': '1' })
  t.equal(await patched({ headers: {} }), null)
  await patched({ headers })
  t.equal(await patched({ headers: null }), null)
  t.strictSame(await headersSent(), {})
})

t.test('200: sources and types of activities are shown, changed, and decide what is delivered', async (t) => {
  const { call, create, logged, deliveries } = await openEndpoints()
  const types = ['prospect_log.created']
  const { webhookEndpointId, ...created } = await create({ types, sources: ['crm'], logTypes: ['call'] })
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  t.match(created, { sources: ['crm'], logTypes: ['call'] })
  await logged()
  t.strictSame((await deliveries(webhookEndpointId)).items, [])
  const changed = (await call(`PATCH ${path}`, { json: { logTypes: null } })).json
  t.match(changed, { sources: ['crm'], logTypes: null })
  await logged()
  t.equal((await deliveries(webhookEndpointId)).items.length, 1)
  t.match((await call(`PATCH ${path}`, { json: { sources: ['a b', 'ü'] } })).json, { sources: ['a b', 'ü'] })
})

t.test('400: the refusal of a private address names the setting that allows it', async (t) => {
  const { call, create } = await openEndpoints()
  const { webhookEndpointId } = await create()
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  for (const url of ['https://127.0.0.1', 'https://[::1]/', 'https://2130706433', 'https://169.254.169.254'])
    for (const operation of [`POST ${ENDPOINTS}`, `PATCH ${path}`]) {
      const answer = await call(operation, { json: { url } })
      t.match(answer.json, { status: 400, code: 'invalid_request', errors: [{ pointer: '/url' }] })
      t.match(answer.body, /allowedHosts or allowedNetworks/)
    }
  t.match((await call(`GET ${path}`)).json, { url: URL_OK, updatedAt: NOW })
})

t.test('409: at most 20 endpoints, even if created simultaneously; a deleted one makes room', async (t) => {
  const { call, create } = await openEndpoints()
  const all = await Promise.all(Array.from({ length: 25 }, () => create()))
  t.equal(all.filter(({ secret }) => secret).length, 20)
  const answer = await call(`POST ${ENDPOINTS}`, { json: { url: URL_OK } })
  const detail = 'A tenant has at most 20 webhook endpoints.'
  t.strictSame(answer.json, problemFor(answer, 'limit_reached', 409, detail))
  const [one] = ((await call(`GET ${ENDPOINTS}`)).json as { items: Created[] }).items
  t.equal((await call(`DELETE ${ENDPOINTS}/${one?.webhookEndpointId}`)).status, 204)
  t.ok((await create()).secret)
})

t.test('200: the given fields change, and the others stay', async (t) => {
  const { call, create, clock } = await openEndpoints()
  const { secret, ...before } = await create({ types: ['page.created'], description: 'The CRM' })
  const path = `${ENDPOINTS}/${before.webhookEndpointId}`
  clock.advance(1_000)
  const updatedAt = '2026-01-01T00:00:01.000Z'
  const json = { url: 'https://example.com/v2', types: null }
  const after = { ...before, ...json, updatedAt }
  t.strictSame((await call(`PATCH ${path}`, { json })).json, after)
  t.match((await call(`PATCH ${path}`, { json: { description: null, status: 'disabled' } })).json, {
    ...after,
    description: null,
    status: 'disabled',
    disabledReason: null,
    updatedAt: '2026-01-01T00:00:01.001Z',
  })
  t.match(await call(`PATCH ${path}`, { json: { status: 'deleted' } }), { status: 400 })
})

t.test('200: another URL, method or body has no failures', async (t) => {
  const { call, create, store, owner } = await openEndpoints()
  await create()
  const [found] = await store.webhooks.list(owner.tenantId)
  const failing = { failures: 12, failingSince: NOW }
  const none = { failures: 0, failingSince: null }
  for (const [i, json] of [{ url: 'https://example.com/v2' }, { method: 'PUT' }, { body: {} }].entries()) {
    const webhookEndpointId = `webhookendpoint_${`${i}`.repeat(26)}`
    if (found) await store.webhooks.add({ ...found, ...failing, webhookEndpointId, slot: i + 2 })
    const path = `${ENDPOINTS}/${webhookEndpointId}`
    const same = { url: URL_OK, method: 'POST', body: null }
    t.match((await call(`PATCH ${path}`, { json: same })).json, failing)
    t.match((await call(`PATCH ${path}`, { json })).json, { ...json, ...none })
    t.match((await call(`GET ${path}`)).json, { ...json, ...none })
  }
})

t.test(
  '200: the status enabled resets failures, even if the service did not disable the endpoint',
  async (t) => {
    const { call, create, store, owner } = await openEndpoints()
    await create()
    const [found] = await store.webhooks.list(owner.tenantId)
    if (found === undefined) throw new Error('it is there')
    const webhookEndpointId = `webhookendpoint_${'0'.repeat(26)}`
    const path = `${ENDPOINTS}/${webhookEndpointId}`
    const failing = { failures: 12, failingSince: NOW, status: 'disabled', disabledReason: 'Gone.' } as const
    await store.webhooks.add({ ...found, ...failing, webhookEndpointId, slot: 2 })
    t.match((await call(`PATCH ${path}`, { json: { description: 'x' } })).json, failing)
    const enabled = { failures: 0, failingSince: null, status: 'enabled', disabledReason: null }
    t.match((await call(`PATCH ${path}`, { json: { status: 'enabled' } })).json, enabled)

    const resting = { ...found, ...failing, status: 'enabled', disabledReason: null } as const
    const other = `webhookendpoint_${'1'.repeat(26)}`
    await store.webhooks.add({ ...resting, webhookEndpointId: other, slot: 3 })
    const answer = await call(`PATCH ${ENDPOINTS}/${other}`, { json: { status: 'enabled' } })
    t.match(answer.json, enabled)
  },
)

t.test('changes at the same moment are all kept', async (t) => {
  const { call, create } = await openEndpoints()
  const { webhookEndpointId } = await create()
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  const changes = [{ url: 'https://example.com/v2' }, { types: ['page.created'] }, { description: 'The CRM' }]
  await Promise.all(changes.map((json) => call(`PATCH ${path}`, { json })))
  t.match((await call(`GET ${path}`)).json, Object.assign({}, ...changes))
})

t.test('200: after a rotation both secrets sign until the overlap is over', async (t) => {
  const { call, create, sent, clock } = await openEndpoints()
  const { webhookEndpointId, secret } = await create()
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  const signers = async () => {
    await call(`POST ${path}/test`)
    return sent.pop()?.secrets
  }
  const rotated = async (json?: object) => {
    const answer = await call(`POST ${path}/rotate_secret`, json ? { json } : {})
    t.match(answer, { status: 200, json: { webhookEndpointId, secret: /^whsec_/ } })
    return answer.json['secret'] as string
  }
  const second = await rotated()
  t.strictSame(await signers(), [second, secret])
  clock.advance(24 * 3_600_000)
  t.strictSame(await signers(), [second])
  const third = await rotated({ overlapHours: 1 })
  t.strictSame(await signers(), [third, second])
  const others = [await rotated({ overlapHours: 2 }), await rotated({ overlapHours: 2 })].reverse()
  t.strictSame(await signers(), [...others, third, second], 'answers may be lost')
  const latest = await rotated({ overlapHours: 1 })
  t.strictSame(await signers(), [latest, ...others, third], 'at most three old ones')
  const fourth = await rotated({ overlapHours: 0 })
  t.equal(new Set([secret, second, third, fourth]).size, 4)
  t.strictSame(await signers(), [fourth])
  for (const overlapHours of [-1, 169, 1.5, '24'])
    t.match(await call(`POST ${path}/rotate_secret`, { json: { overlapHours } }), {
      status: 400,
      json: { errors: [{ pointer: '/overlapHours' }] },
    })
})

t.test('200: a rotation replaces a secret whose SECRETS_KEY was lost', async (t) => {
  const { call, create, sent, store, owner } = await openEndpoints()
  const { webhookEndpointId } = await create()
  const found = await findEndpoint(store, { tenantId: owner.tenantId, webhookEndpointId })
  if (!found) throw new Error('no endpoint')
  await store.webhooks.change({ ...found, secret: 'v1:sealed' }, found.updatedAt)
  const test = () => call(`POST ${ENDPOINTS}/${webhookEndpointId}/test`)
  t.strictSame((await test()).json, {
    delivered: false,
    statusCode: null,
    durationMs: 0,
    answer: null,
    method: 'POST',
    body: null,
    error:
      'The secret or a header cannot be decrypted. Restore SECRETS_KEY, or rotate the secret and set the headers again.',
  })
  const { secret } = (await call(`POST ${ENDPOINTS}/${webhookEndpointId}/rotate_secret`)).json
  t.match(await test(), { status: 200, json: { delivered: true } })
  t.strictSame(sent.pop()?.secrets, [secret])
})

t.test('a template is stored as written, sent filled in, and shown with its deliveries', async (t) => {
  const { call, createWith, number, sent, answers, deliveries } = await openEndpoints()
  const body =
    '{ "n": 12345678901234567890, "who": "{{/data/prospect/email}}", "at": "{{/data/occurredAt?}}" }'
  const { webhookEndpointId } = await createWith(body, { method: 'PUT' })
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  t.ok((await call(`GET ${path}`)).body.includes(`"body":${body}`))
  await call('POST /v0/prospect_logs', { json: { source: 'crm', email: 'ada@example.com', payload: {} } })
  await number()
  const logged = (await deliveries(webhookEndpointId)).items.find(
    ({ type }) => type === 'prospect_log.created',
  )
  answers.push({ status: 200, error: null, retryAfterMs: null, ms: 7, answer: 'ok' })
  const trial = { json: { eventId: logged?.eventId } }
  const tested = await call(`POST ${path}/test`, trial)
  const filled = /{"n":12345678901234567890,"who":"ada@example.com","at":"2026-01-01T00:00:00.000Z"}/
  t.match(sent, [{ method: 'PUT', body: filled, eventId: logged?.eventId }])
  t.match(tested, { json: { delivered: true, method: 'PUT', answer: 'ok' }, body: filled })
  t.match(await call(`GET ${path}/deliveries/${logged?.eventId}`), { body: filled })
  t.match((await call(`PATCH ${path}`, { json: { body: null, method: 'POST' } })).json, {
    body: null,
    method: 'POST',
  })
  await call(`POST ${path}/test`, trial)
  t.match(JSON.parse(String(sent[1]?.body)), {
    type: 'prospect_log.created',
    data: { prospect: { email: 'ada@example.com', name: null, externalId: null } },
  })
  const feed = await call('GET /v0/events')
  t.notMatch(feed.body, /"prospect":/, 'the feed does not change')
  t.match(await call(`POST ${path}/test`, { json: { eventId: `event_${'0'.repeat(26)}` } }), {
    status: 404,
    json: { code: 'event_not_found' },
  })
})

t.test('a string may be the whole template, and the text of a JSON object is that object', async (t) => {
  const { call, createWith, sent } = await openEndpoints()
  const { webhookEndpointId } = await createWith('"{{/data}}"')
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  t.match(await call(`POST ${path}/test`), { json: { body: { webhookEndpointId } } })
  t.match((await call(`PATCH ${path}`, { json: { body: ' {"a": "{{/type}}"} ' } })).json, {
    body: { a: '{{/type}}' },
  })
  await call(`POST ${path}/test`)
  t.match(sent, [
    { body: `{"webhookEndpointId":"${webhookEndpointId}"}` },
    { body: '{"a":"webhook_endpoint.test"}' },
  ])
})

t.test('400: a template that is not JSON, has a wrong pointer or is too large', async (t) => {
  const { call, create } = await openEndpoints()
  const path = `${ENDPOINTS}/${(await create()).webhookEndpointId}`
  for (const [body, pointer] of [
    [{ a: { 'b/c': ['{{data}}'] } }, '/body/a/b~1c/0'],
    ['{{/a', '/body'],
    ['{"a": {{/data}}}', '/body'],
    [`{"a": ${'['.repeat(100)}`, '/body'],
    [{ a: 'x'.repeat(16_384 - 7) }, '/body'],
    [{ a: 'é'.repeat(8_192) }, '/body'],
    [7, '/body'],
  ] as const)
    for (const request of [`PATCH ${path}`, `POST ${ENDPOINTS}`])
      t.match(await call(request, { json: { url: URL_OK, body } }), {
        status: 400,
        json: { code: 'invalid_request', errors: [{ pointer }] },
      })
  t.match(await call(`PATCH ${path}`, { json: { method: 'GET' } }), {
    json: { errors: [{ pointer: '/method' }] },
  })
  const nested = JSON.stringify({ body: `${'['.repeat(600)}${']'.repeat(600)}` })
  t.match(await call(`PATCH ${path}`, { body: nested }), { status: 400, json: { code: 'invalid_request' } })
  const largest = { a: 'x'.repeat(16_384 - 8) }
  t.match(await call(`PATCH ${path}`, { json: { body: largest } }), { status: 200, json: { body: largest } })
})

t.test('200: a test is sent like every webhook, and its result is returned', async (t) => {
  const { call, create, sent, answers, deliveries } = await openEndpoints()
  const { webhookEndpointId, secret } = await create()
  const test = () => call(`POST ${ENDPOINTS}/${webhookEndpointId}/test`)
  t.match(await test(), { status: 200, json: { delivered: true, statusCode: 204, error: null } })
  const [webhook] = sent
  t.match(webhook, { url: URL_OK, secrets: [secret], eventId: /^event_/ })
  t.strictSame(JSON.parse(String(webhook?.body)), {
    type: 'webhook_endpoint.test',
    timestamp: NOW,
    data: { webhookEndpointId },
  })
  answers.push({ status: 500, error: 'The receiver answered 500.', retryAfterMs: null, ms: 7 })
  t.match((await test()).json, { delivered: false, statusCode: 500, error: 'The receiver answered 500.' })
  answers.push({ status: null, error: 'The connection was refused.', retryAfterMs: null, ms: 7 })
  t.match((await test()).json, { delivered: false, statusCode: null, error: 'The connection was refused.' })
  t.equal(new Set(sent.map(({ eventId }) => eventId)).size, 3)
  t.strictSame((await deliveries(webhookEndpointId)).items, [])
})

/** Tests that are sent, one for each call, and answered once `answer` is called. */
const openTests = async () => {
  const { promise, resolve } = Promise.withResolvers<WebhookAnswer>()
  const stopped = { status: null, error: 'The service is stopping.', retryAfterMs: null, ms: 7 }
  const send = (_: unknown, stop: AbortSignal) =>
    Promise.race([promise, once(stop, 'abort').then(() => stopped)])
  const { call, newTenant } = await openScene({ send })
  const testOf = async () => {
    const { apiKey: key } = await newTenant()
    const { webhookEndpointId } = (await call(`POST ${ENDPOINTS}`, { json: { url: URL_OK }, key })).json
    return () => call(`POST ${ENDPOINTS}/${webhookEndpointId}/test`, { key })
  }
  return { testOf, answer: () => resolve({ status: 204, error: null, retryAfterMs: null, ms: 7 }) }
}
const TOO_MANY = { status: 429, headers: { 'retry-after': '5' }, json: { code: 'rate_limited' } }

t.test('429: a tenant has at most four tests in flight', async (t) => {
  const { testOf, answer } = await openTests()
  const test = await testOf()
  const four = [test(), test(), test(), test()]
  await new Promise(setImmediate)
  t.match(await test(), TOO_MANY)
  const other = (await testOf())()
  answer()
  t.ok([...(await Promise.all(four)), await other, await test()].every(({ status }) => status === 200))
})

t.test('429: tests of all tenants together are bounded, in equal shares', async (t) => {
  const { testOf, answer } = await openTests()
  const quiet = await testOf()
  const last = await testOf()
  const all: ReturnType<typeof last>[] = []
  while (all.length < 32) {
    const test = await testOf()
    all.push(test(), test(), test(), test())
  }
  await new Promise(setImmediate)
  const theirs = [quiet(), quiet(), quiet()]
  await new Promise(setImmediate)
  t.match(await all[0], TOO_MANY, 'one that another tenant needs the place of')
  t.match(await quiet(), TOO_MANY, 'beyond its share')
  answer()
  const done = (await Promise.all(all)).filter(({ status }) => status === 200)
  t.equal(done.length, 29)
  t.ok([...(await Promise.all(theirs)), await last()].every(({ status }) => status === 200))
})

t.test('200: deliveries, newest event first, of all or of one status, one slice at a time', async (t) => {
  const { create, logged, deliveries } = await openEndpoints()
  const { webhookEndpointId } = await create()
  for (let i = 0; i < 3; i++) await logged()
  const { items } = await deliveries(webhookEndpointId)
  t.equal(items.length, 6)
  t.strictSame(
    items.map(({ eventId }) => eventId),
    items
      .map(({ eventId }) => eventId)
      .toSorted()
      .reverse(),
  )
  t.strictSame(items[5], {
    eventId: items[5]?.eventId,
    type: 'prospect.created',
    status: 'pending',
    attempts: 0,
    nextAttemptAt: NOW,
    lastStatusCode: null,
    lastError: null,
    deliveredAt: null,
    createdAt: NOW,
  })
  const first = await deliveries(webhookEndpointId, '?limit=4&status=pending')
  t.match(first, { items: items.slice(0, 4), hasMore: true })
  const second = await deliveries(webhookEndpointId, `?status=pending&cursor=${first.nextCursor}`)
  t.match(second, { items: items.slice(4), hasMore: false })
  t.strictSame((await deliveries(webhookEndpointId, '?status=failed')).items, [])
  t.match(await deliveries(webhookEndpointId, `?cursor=${first.nextCursor}`), { code: 'invalid_cursor' })
  t.match(await deliveries(webhookEndpointId, '?status=gone'), { code: 'invalid_request' })
})

t.test('200: a delivery with its last attempts, newest first, and its body', async (t) => {
  const { call, create, logged, deliveries, store, owner } = await openEndpoints()
  const { webhookEndpointId } = await create({ types: ['prospect_log.created'] })
  await logged()
  const { items } = await deliveries(webhookEndpointId)
  const path = `${ENDPOINTS}/${webhookEndpointId}/deliveries/${items[0]?.eventId}`
  const { body, ...delivery } = (await call(`GET ${path}`)).json
  t.strictSame(delivery, { ...items[0], lastAttempts: [] })
  t.match(body, { type: 'prospect_log.created', timestamp: NOW, data: { source: 'crm', payload: {} } })
  const [endpoint] = await store.webhooks.list(owner.tenantId)
  if (endpoint === undefined) throw new Error('no endpoint')
  const attempts = [1, 2].map((ms) => ({ at: NOW, ms, status: 500, error: 'No.', answer: `${ms}` }))
  for (const attempt of attempts) {
    const claim = { now: NOW, until: NOW, horizon: '2026-01-02T00:00:00.000Z', afterTenantId: '', max: 1 }
    const [claimed] = await store.webhooks.claim(claim)
    if (claimed === undefined) throw new Error('it is claimable')
    const failed = { attempts: 1, nextAttemptAt: NOW, lastStatus: 500, lastError: 'No.', deliveredAt: null }
    const result = { eventId: delivery['eventId'] as string, status: 'pending', ...failed } as const
    await store.webhooks.settle(claimed, [{ ...result, attempt: JSON.stringify(attempt) }], {
      failures: 1,
      failingSince: NOW,
      lastError: null,
      claimableAt: null,
      readAt: NOW,
    })
  }
  t.strictSame((await call(`GET ${path}`)).json['lastAttempts'], attempts.toReversed())
  await call(`POST ${path}/retry`)
  t.match((await call(`GET ${path}`)).json, { attempts: 0, lastAttempts: attempts.toReversed() })
})

t.test('202: an event is delivered again, with all its attempts', async (t) => {
  const { call, create, logged, deliveries, store, owner, clock } = await openEndpoints()
  const { webhookEndpointId } = await create({ types: ['prospect.created'] })
  await logged()
  const [{ eventId }] = (await deliveries(webhookEndpointId)).items as [Delivery]
  const settle = async () => {
    const claim = {
      now: NOW,
      until: '2026-01-01T00:01:00.000Z',
      horizon: '2026-01-02T00:00:00.000Z',
      afterTenantId: '',
      max: 1,
    }
    const [claimed] = await store.webhooks.claim(claim)
    if (claimed === undefined) throw new Error('it is claimable')
    const failed = {
      attempts: 10,
      nextAttemptAt: null,
      lastStatus: 503,
      lastError: 'No.',
      deliveredAt: null,
      attempt: null,
    }
    await store.webhooks.settle(claimed, [{ eventId, status: 'failed', ...failed }], {
      failures: 10,
      failingSince: NOW,
      lastError: null,
      claimableAt: null,
      readAt: NOW,
    })
  }
  await settle()
  const shown = { eventId, status: 'failed', attempts: 10, lastStatusCode: 503, lastError: 'No.' }
  t.match((await deliveries(webhookEndpointId, '?status=failed')).items, [shown])
  clock.advance(5_000)
  const path = `${ENDPOINTS}/${webhookEndpointId}/deliveries`
  const answer = await call(`POST ${path}/${eventId}/retry`)
  const nextAttemptAt = '2026-01-01T00:00:05.000Z'
  t.match(answer, { status: 202, json: { ...shown, status: 'pending', attempts: 0, nextAttemptAt } })
  t.equal((await store.webhooks.list(owner.tenantId))[0]?.failures, 10, 'only a success ends the failures')
})

t.test('202: a replay delivers undelivered events, or all', async (t) => {
  const { call, create, logged, deliveries, clock } = await openEndpoints()
  const first = await create()
  await logged()
  clock.advance(1_000)
  const late = await create({ types: ['prospect.created'] })
  const replay = (json: object, { webhookEndpointId } = late) =>
    call(`POST ${ENDPOINTS}/${webhookEndpointId}/replay`, { json })
  const since = '1970-01-01T00:00:00Z'
  t.match(await replay({ since }), { status: 202, json: { deliveries: 1, nextCursor: null } })
  t.match((await deliveries(late.webhookEndpointId)).items, [{ type: 'prospect.created', status: 'pending' }])
  t.match(
    (await replay({ since, onlyUndelivered: false }, first)).json,
    { deliveries: 2 },
    'those that are pending, too',
  )
  t.match((await replay({ since: '2026-01-02T00:00:00Z' })).json, { deliveries: 0, nextCursor: null })
  const wrong = await replay({ since: 'yesterday', onlyUndelivered: 1 })
  t.match(wrong.json, problemFor(wrong, 'invalid_request', 400, SEE_ERRORS))
  t.match(wrong.json, { errors: [{ pointer: '/since' }, { pointer: '/onlyUndelivered' }] })
  t.match((await replay({ cursor: 'x' })).json, { errors: [{ pointer: '/cursor' }] })
  const detail = 'send exactly one of `since` and `cursor`'
  for (const start of [{}, { since, cursor: idOf('event', 0) }])
    t.match((await replay(start)).json, { errors: [{ pointer: '/since', detail }] })
})

t.test('202: a replay is several short writes, and continues exactly at a cursor', async (t) => {
  let writes = 0
  const { call, create, logged, deliveries } = await openEndpoints({
    storeAs: ({ webhooks, ...store }) => ({
      ...store,
      webhooks: {
        ...webhooks,
        replay: (want) => {
          writes++
          return webhooks.replay({ ...want, max: 2 })
        },
      },
    }),
  })
  const { webhookEndpointId } = await create()
  // All in one moment.
  for (let i = 0; i < 3; i++) await logged()
  const replay = (json: object) => call(`POST ${ENDPOINTS}/${webhookEndpointId}/replay`, { json })
  t.match((await replay({ since: '1970-01-01T00:00:00Z' })).json, { deliveries: 6, nextCursor: null })
  t.equal(writes, 4)
  const [, , third] = (await deliveries(webhookEndpointId)).items.toReversed() as { eventId: string }[]
  t.match((await replay({ cursor: third?.eventId })).json, { deliveries: 3, nextCursor: null })
})

t.test('409: nothing is delivered again to a disabled endpoint', async (t) => {
  const { call, create, logged, deliveries } = await openEndpoints()
  const { webhookEndpointId } = await create()
  await logged()
  const { items } = await deliveries(webhookEndpointId)
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  await call(`PATCH ${path}`, { json: { status: 'disabled' } })
  const again = [
    () => call(`POST ${path}/deliveries/${items[0]?.eventId}/retry`),
    () => call(`POST ${path}/replay`, { json: { since: NOW } }),
  ]
  for (const ask of again) {
    const answer = await ask()
    const detail = 'Enable the endpoint first.'
    t.strictSame(answer.json, problemFor(answer, 'webhook_endpoint_disabled', 409, detail))
  }
  t.strictSame((await deliveries(webhookEndpointId)).items, items)
  await call(`PATCH ${path}`, { json: { status: 'enabled' } })
  for (const ask of again) t.equal((await ask()).status, 202)
})

t.test('404: an endpoint that is deleted, and a delivery that it never had', async (t) => {
  const { call, create } = await openEndpoints()
  const mine = await create()
  const deleted = await create()
  await call(`DELETE ${ENDPOINTS}/${deleted.webhookEndpointId}`)
  for (const operation of ['GET', 'PATCH', 'DELETE'])
    t.match(
      await call(`${operation} ${ENDPOINTS}/${deleted.webhookEndpointId}`, { json: {} }),
      { status: 404, json: { code: 'webhook_endpoint_not_found' } },
      operation,
    )
  const unknown = `${ENDPOINTS}/${mine.webhookEndpointId}/deliveries/event_x`
  for (const operation of [`GET ${unknown}`, `POST ${unknown}/retry`])
    t.match(await call(operation), { status: 404, json: { code: 'delivery_not_found' } }, operation)
})
