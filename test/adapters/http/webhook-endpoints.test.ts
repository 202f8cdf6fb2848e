import { once } from 'node:events'
import t, { type Test } from 'tap'
import type { Webhook, WebhookAnswer } from '../../../src/core/ports/sending.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import type { ClaimedEndpoint, DeliveryResult, StoredEndpoint } from '../../../src/core/ports/webhooks.ts'
import { findEndpoint } from '../../store-contract/outbox.ts'
import { idOf } from '../../store-contract/setting.ts'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'

const URL_OK = 'https://example.com/hooks'
const NOW = '2026-01-01T00:00:00.000Z'
const ENDPOINTS = '/v0/webhook_endpoints'

const DELIVERED: WebhookAnswer = { status: 204, error: null, retryAfterMs: null, ms: 7 }
type Scene = Awaited<ReturnType<typeof openEndpoints>>
type Created = { readonly webhookEndpointId: string; readonly secret: string }
type Delivery = { readonly eventId: string; readonly type: string; readonly status: string }

/** An API whose webhooks are recorded, and answered with `answers` in turn or as delivered. */
const openEndpoints = async (options: Parameters<typeof openScene>[0] = {}) => {
  const sent: Webhook[] = []
  const answers: WebhookAnswer[] = []
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
  /** Creates an endpoint whose template is sent byte for byte. */
  const createWithTemplate = async (template: string, method = 'POST') => {
    const body = `{"url":"${URL_OK}","method":"${method}","body":${template}}`
    return (await call(`POST ${ENDPOINTS}`, { body })).json as Created
  }
  return { ...scene, sent, answers, create, createWithTemplate, number, logged, deliveries }
}

t.test('201: a new endpoint gets all events, and its secret is shown once', async (t) => {
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
  const listed = await call(`GET ${ENDPOINTS}`)
  t.match(listed.json, { items: [endpoint, { types: ['page.created'] }] })
  t.notMatch(listed.body, /whsec_/)
})

t.test('201: a retry under an idempotency key creates nothing, and gets no secret', async (t) => {
  const { call, create } = await openEndpoints()
  const headers = { 'idempotency-key': 'one' }
  const json = { url: URL_OK, headers: { authorization: 'Bearer 4711' }, body: { n: '{{/type}}' } }
  const post = (change: object = {}, sent: object = headers) =>
    call(`POST ${ENDPOINTS}`, { json: { ...json, ...change }, headers: { ...sent } })
  const { secret, ...endpoint } = (await post()).json
  t.match(secret, /^whsec_/)
  const retried = await post()
  t.strictSame([retried.status, retried.json], [201, endpoint])
  t.equal(retried.headers['idempotent-replayed'], 'true')
  const path = `${ENDPOINTS}/${endpoint['webhookEndpointId']}`
  await call(`PATCH ${path}`, { json: { description: 'The CRM' } })
  t.match((await post()).json, { description: 'The CRM' }, 'as it is now')
  const reused = {
    status: 422,
    json: { code: 'idempotency_key_reused', webhookEndpointId: endpoint['webhookEndpointId'] },
  }
  t.match(await post({ url: `${URL_OK}/2` }), reused)
  t.match(await post({ headers: { authorization: 'Bearer 4712' } }), reused)
  t.match(await post({ body: null }), reused)
  t.match((await post({}, { 'idempotency-key': 'two' })).json, { secret: /^whsec_/ })
  await create()
  t.equal(((await call(`GET ${ENDPOINTS}`)).json['items'] as object[]).length, 3)
  await call(`DELETE ${path}`)
  const again = await post()
  t.match(again, { status: 201, json: { secret: /^whsec_/ } }, 'the key of a deleted endpoint is free')
  t.not(again.json['webhookEndpointId'], endpoint['webhookEndpointId'])
})

t.test('201: of twenty equal requests at once under one key one creates an endpoint', async (t) => {
  const { call } = await openEndpoints()
  const sent = { json: { url: URL_OK }, headers: { 'idempotency-key': 'one' } }
  const answers = await Promise.all(Array.from({ length: 20 }, () => call(`POST ${ENDPOINTS}`, sent)))
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([201]))
  t.equal(new Set(answers.map(({ json }) => json['webhookEndpointId'])).size, 1)
  t.equal(answers.filter(({ json }) => 'secret' in json).length, 1)
})

t.test('400: an invalid endpoint is refused with every error', async (t) => {
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
  const unknownType = { url: URL_OK, types: ['ada@example.com'] }
  const { body } = await call(`POST ${ENDPOINTS}`, { json: unknownType })
  t.match(body, 'must be one of prospect.created, prospect.updated')
  t.notMatch(body, /ada|Expected/, 'the value is not repeated')
  await refused({ url: `https://example.com/${'x'.repeat(2_048)}` }, '/url')
  await refused({ url: URL_OK, sources: [], logTypes: ['x'.repeat(101)] }, '/logTypes/0', '/sources')
  await refused({ url: URL_OK, sources: Array(51).fill('crm') }, '/sources')
  for (const url of ['x', 'ftp://example.com', 'https://me:secret@example.com', 'http://example.com'])
    await refused({ url }, '/url')
  for (const url of ['https://example.com/{{/data/prospectId}}', 'https://example.com:0'])
    await refused({ url }, '/url')
})

t.test(
  '400: a header that is invalid, or that HTTP or the service sets, is refused by its pointer',
  async (t) => {
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
    const reserved = [
      'Host',
      'content-length',
      'Content-Type',
      'connection',
      'transfer-encoding',
      'User-Agent',
      'webhook-id',
      'Webhook-Signature',
      'proxy-authorization',
      'te',
    ]
    const malformed = ['', 'x y', 'x:', 'é', 'x'.repeat(101)]
    for (const name of [...reserved, ...malformed]) await refused({ [name]: '4711' }, `/${name}`)
    const values = ['', ' 4711', '4711 ', '4711\r\nx: y', '4711é', '•••', '4'.repeat(1_001), 4711, null]
    for (const value of values) await refused({ 'x-key': value }, '/x-key')
    const elevenHeaders = Array.from({ length: 11 }, (_, i) => [`x-${i}`, 'v'])
    await refused(Object.fromEntries(elevenHeaders), '')
    await refused('x-key: 1', '')
    await refused({ 'X-Key': '1', 'x-key': '2' }, '')
  },
)

t.test('400: headers with names of Object.prototype are refused, not dropped', async (t) => {
  const { call } = await openEndpoints()
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    const body = `{"url":"${URL_OK}","headers":{"x-key":"1","${name}":"4711"}}`
    const { status, json } = await call(`POST ${ENDPOINTS}`, { body })
    const errors = [{ detail: `must not have a member named ${name}`, pointer: '/headers' }]
    t.match({ status, errors: json['errors'] }, { status: 400, errors })
  }
  for (const name of ['toString', '__proto', 'Constructor', 'hasOwnProperty']) {
    const json = { url: URL_OK, headers: { [name]: '1' } }
    t.equal((await call(`POST ${ENDPOINTS}`, { json })).status, 201)
  }
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
  const shownAfter = async (json: object) => (await call(`PATCH ${path}`, { json })).json['headers']
  const headersSent = async () => {
    await call(`POST ${path}/test`)
    return sent.pop()?.headers
  }
  t.strictSame(await headersSent(), headers)
  t.strictSame(await shownAfter({ description: 'x' }), shown.headers)
  t.strictSame(await shownAfter({ headers: { 'x-other': '1' } }), { 'x-other': '•••' })
  t.strictSame(await headersSent(), { 'x-other': '1' })
  t.equal(await shownAfter({ headers: {} }), null)
  await shownAfter({ headers })
  t.equal(await shownAfter({ headers: null }), null)
  t.strictSame(await headersSent(), {})
})

t.test('200: sources and types of activities can be changed, and decide what is delivered', async (t) => {
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

t.test('400: a private address is refused with the name of the setting that allows it', async (t) => {
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

t.test('409: a tenant has at most 20 endpoints, even if they are created simultaneously', async (t) => {
  const { call, create } = await openEndpoints()
  const all = await Promise.all(Array.from({ length: 25 }, () => create()))
  t.equal(all.filter(({ secret }) => secret).length, 20)
  const answer = await call(`POST ${ENDPOINTS}`, { json: { url: URL_OK } })
  const detail = 'A tenant has at most 20 webhook endpoints.'
  t.strictSame(answer.json, problemFor(answer, 'limit_reached', 409, detail))
  const [oldest] = ((await call(`GET ${ENDPOINTS}`)).json as { items: Created[] }).items
  t.equal((await call(`DELETE ${ENDPOINTS}/${oldest?.webhookEndpointId}`)).status, 204)
  t.ok((await create()).secret, 'a deletion makes room for another endpoint')
})

t.test('200: an update changes only the fields that it names', async (t) => {
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

/** Adds an endpoint that looks like the first one of the tenant except for these fields, and returns its path. */
const addLikeFirst = async ({ store, owner }: Scene, slot: number, fields: Partial<StoredEndpoint>) => {
  const [first] = await store.webhooks.list(owner.tenantId)
  if (first === undefined) throw new Error('no endpoint')
  const webhookEndpointId = `webhookendpoint_${`${slot}`.repeat(26)}`
  await store.webhooks.add({ ...first, ...fields, webhookEndpointId, slot })
  return `${ENDPOINTS}/${webhookEndpointId}`
}
const FAILING = { failures: 12, failingSince: NOW }
const NOT_FAILING = { failures: 0, failingSince: null }

t.test('200: a new URL, method or body resets the failures', async (t) => {
  const scene = await openEndpoints()
  const { call, create } = scene
  await create()
  const unchanged = { url: URL_OK, method: 'POST', body: null }
  const changes = [{ url: 'https://example.com/v2' }, { method: 'PUT' }, { body: {} }]
  for (const [i, json] of changes.entries()) {
    const path = await addLikeFirst(scene, i + 2, FAILING)
    t.match((await call(`PATCH ${path}`, { json: unchanged })).json, FAILING)
    t.match((await call(`PATCH ${path}`, { json })).json, { ...json, ...NOT_FAILING })
    t.match((await call(`GET ${path}`)).json, { ...json, ...NOT_FAILING })
  }
})

t.test('200: enabling an endpoint resets its failures, whether it was disabled or not', async (t) => {
  const scene = await openEndpoints()
  const { call, create } = scene
  await create()
  const enabled = { ...NOT_FAILING, status: 'enabled', disabledReason: null } as const

  const gone = { ...FAILING, status: 'disabled', disabledReason: 'Gone.' } as const
  const disabled = await addLikeFirst(scene, 2, gone)
  t.match((await call(`PATCH ${disabled}`, { json: { description: 'x' } })).json, gone)
  t.match((await call(`PATCH ${disabled}`, { json: { status: 'enabled' } })).json, enabled)

  const resting = await addLikeFirst(scene, 3, FAILING)
  t.match((await call(`PATCH ${resting}`, { json: { status: 'enabled' } })).json, enabled)
})

t.test('200: simultaneous changes of different fields are all kept', async (t) => {
  const { call, create } = await openEndpoints()
  const { webhookEndpointId } = await create()
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  const changes = [{ url: 'https://example.com/v2' }, { types: ['page.created'] }, { description: 'The CRM' }]
  await Promise.all(changes.map((json) => call(`PATCH ${path}`, { json })))
  t.match((await call(`GET ${path}`)).json, Object.assign({}, ...changes))
})

/** An endpoint whose secret can be rotated, and the secrets that sign its next webhook. */
const openRotation = async (t: Test) => {
  const { call, create, sent, clock } = await openEndpoints()
  const { webhookEndpointId, secret } = await create()
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  return {
    call,
    clock,
    path,
    secret,
    rotate: async (json?: object) => {
      const answer = await call(`POST ${path}/rotate_secret`, json ? { json } : {})
      t.match(answer, { status: 200, json: { webhookEndpointId, secret: /^whsec_/ } })
      return answer.json['secret'] as string
    },
    signers: async () => {
      await call(`POST ${path}/test`)
      return sent.pop()?.secrets
    },
  }
}

t.test('200: after a rotation both secrets sign until the overlap ends', async (t) => {
  const { secret: first, rotate, signers, clock } = await openRotation(t)
  const second = await rotate()
  t.strictSame(await signers(), [second, first])
  clock.advance(24 * 3_600_000)
  t.strictSame(await signers(), [second])
  const third = await rotate({ overlapHours: 1 })
  t.strictSame(await signers(), [third, second])
})

t.test('200: after several rotations at most three old secrets still sign', async (t) => {
  const { secret: first, rotate, signers } = await openRotation(t)
  const second = await rotate({ overlapHours: 1 })
  const third = await rotate({ overlapHours: 2 })
  const fourth = await rotate({ overlapHours: 2 })
  t.strictSame(await signers(), [fourth, third, second, first], 'an answer may have been lost')
  const fifth = await rotate({ overlapHours: 1 })
  t.strictSame(await signers(), [fifth, fourth, third, second])
  const sixth = await rotate({ overlapHours: 0 })
  t.equal(new Set([first, second, third, fourth, fifth, sixth]).size, 6)
  t.strictSame(await signers(), [sixth])
})

t.test('400: an overlap that is no number of hours up to a week is refused', async (t) => {
  const { call, path } = await openRotation(t)
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

const TEMPLATE =
  '{ "n": 12345678901234567890, "who": "{{/data/prospect/email}}", "at": "{{/data/occurredAt?}}" }'
const FILLED = /{"n":12345678901234567890,"who":"ada@example.com","at":"2026-01-01T00:00:00.000Z"}/

/** An endpoint with that template, and the event of an activity that fills it in. */
const openTemplate = async () => {
  const scene = await openEndpoints()
  const { call, createWithTemplate, number, deliveries } = scene
  const { webhookEndpointId } = await createWithTemplate(TEMPLATE, 'PUT')
  await call('POST /v0/prospect_logs', { json: { source: 'crm', email: 'ada@example.com', payload: {} } })
  await number()
  const { items } = await deliveries(webhookEndpointId)
  const eventId = items.find(({ type }) => type === 'prospect_log.created')?.eventId
  return { ...scene, eventId, path: `${ENDPOINTS}/${webhookEndpointId}` }
}

t.test('200: a template is returned as written, and sent filled in', async (t) => {
  const { call, path, eventId, sent, answers } = await openTemplate()
  t.ok((await call(`GET ${path}`)).body.includes(`"body":${TEMPLATE}`))
  answers.push({ ...DELIVERED, status: 200, answer: 'ok' })
  const tested = await call(`POST ${path}/test`, { json: { eventId } })
  t.match(sent, [{ method: 'PUT', body: FILLED, eventId }])
  t.match(tested, { json: { delivered: true, method: 'PUT', answer: 'ok' }, body: FILLED })
  t.match(await call(`GET ${path}/deliveries/${eventId}`), { body: FILLED })
})

t.test(
  '200: an endpoint without a template gets the prospect with an activity, the feed does not',
  async (t) => {
    const { call, path, eventId, sent } = await openTemplate()
    const changed = await call(`PATCH ${path}`, { json: { body: null, method: 'POST' } })
    t.match(changed.json, { body: null, method: 'POST' })
    await call(`POST ${path}/test`, { json: { eventId } })
    t.match(JSON.parse(String(sent[0]?.body)), {
      type: 'prospect_log.created',
      data: { prospect: { email: 'ada@example.com', name: null, externalId: null } },
    })
    t.notMatch((await call('GET /v0/events')).body, /"prospect":/)
  },
)

t.test('404: a test with an unknown event is refused', async (t) => {
  const { call, create } = await openEndpoints()
  const { webhookEndpointId } = await create()
  const json = { eventId: `event_${'0'.repeat(26)}` }
  t.match(await call(`POST ${ENDPOINTS}/${webhookEndpointId}/test`, { json }), {
    status: 404,
    json: { code: 'event_not_found' },
  })
})

t.test(
  '200: a template may be one string, and the text of a JSON object counts as that object',
  async (t) => {
    const { call, createWithTemplate, sent } = await openEndpoints()
    const { webhookEndpointId } = await createWithTemplate('"{{/data}}"')
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
  },
)

t.test('400: a template that is not JSON, has a wrong pointer or is too large is refused', async (t) => {
  const { call, create } = await openEndpoints()
  const { webhookEndpointId } = await create()
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  const refused = async (body: unknown, pointer: string) => {
    for (const operation of [`PATCH ${path}`, `POST ${ENDPOINTS}`]) {
      const { status, json } = await call(operation, { json: { url: URL_OK, body } })
      t.match({ status, json }, { status: 400, json: { code: 'invalid_request', errors: [{ pointer }] } })
    }
  }
  await refused({ a: { 'b/c': ['{{data}}'] } }, '/body/a/b~1c/0')
  await refused('{{/a', '/body')
  await refused('{"a": {{/data}}}', '/body')
  await refused(`{"a": ${'['.repeat(100)}`, '/body')
  await refused({ a: 'x'.repeat(16_384 - 7) }, '/body')
  await refused({ a: 'é'.repeat(8_192) }, '/body')
  await refused(7, '/body')
  const wrongMethod = await call(`PATCH ${path}`, { json: { method: 'GET' } })
  t.match(wrongMethod.json, { errors: [{ pointer: '/method' }] })
  const nested = JSON.stringify({ body: `${'['.repeat(600)}${']'.repeat(600)}` })
  t.match(await call(`PATCH ${path}`, { body: nested }), { status: 400, json: { code: 'invalid_request' } })
  const largest = { a: 'x'.repeat(16_384 - 8) }
  t.match(await call(`PATCH ${path}`, { json: { body: largest } }), { status: 200, json: { body: largest } })
})

t.test('200: a test is sent like any webhook, and its result is returned', async (t) => {
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
  answers.push({ ...DELIVERED, status: 500, error: 'The receiver answered 500.' })
  t.match((await test()).json, { delivered: false, statusCode: 500, error: 'The receiver answered 500.' })
  answers.push({ ...DELIVERED, status: null, error: 'The connection was refused.' })
  t.match((await test()).json, { delivered: false, statusCode: null, error: 'The connection was refused.' })
  t.equal(new Set(sent.map(({ eventId }) => eventId)).size, 3)
  t.strictSame((await deliveries(webhookEndpointId)).items, [])
})

/** Test webhooks that stay in flight until `answer` is called. `testOf` returns the test of a new tenant's endpoint. */
const openTests = async () => {
  const { promise, resolve } = Promise.withResolvers<WebhookAnswer>()
  const stopped = { ...DELIVERED, status: null, error: 'The service is stopping.' }
  const send = (_: unknown, stop: AbortSignal) =>
    Promise.race([promise, once(stop, 'abort').then(() => stopped)])
  const { call, newTenant } = await openScene({ send })
  const testOf = async () => {
    const { apiKey: key } = await newTenant()
    const { webhookEndpointId } = (await call(`POST ${ENDPOINTS}`, { json: { url: URL_OK }, key })).json
    return () => call(`POST ${ENDPOINTS}/${webhookEndpointId}/test`, { key })
  }
  return { testOf, answer: () => resolve(DELIVERED) }
}
const TOO_MANY = { status: 429, headers: { 'retry-after': '5' }, json: { code: 'rate_limited' } }

t.test('429: a tenant has at most four tests in flight', async (t) => {
  const { testOf, answer } = await openTests()
  const test = await testOf()
  const inFlight = [test(), test(), test(), test()]
  await new Promise(setImmediate)
  t.match(await test(), TOO_MANY)
  const testOfOther = await testOf()
  inFlight.push(testOfOther())
  answer()
  inFlight.push(test())
  for (const { status } of await Promise.all(inFlight)) t.equal(status, 200)
})

t.test('429: tests of all tenants are bounded together, with an equal share for each', async (t) => {
  const { testOf, answer } = await openTests()
  const quiet = await testOf()
  const last = await testOf()
  const ofBusyTenants: ReturnType<typeof last>[] = []
  while (ofBusyTenants.length < 32) {
    const test = await testOf()
    ofBusyTenants.push(test(), test(), test(), test())
  }
  await new Promise(setImmediate)
  const ofQuietTenant = [quiet(), quiet(), quiet()]
  await new Promise(setImmediate)
  t.match(await ofBusyTenants[0], TOO_MANY, 'it gives its place to the quiet tenant')
  t.match(await quiet(), TOO_MANY, 'the share of the quiet tenant is used up')
  answer()
  const answered = (await Promise.all(ofBusyTenants)).filter(({ status }) => status === 200)
  t.equal(answered.length, 29)
  for (const { status } of await Promise.all(ofQuietTenant)) t.equal(status, 200)
  t.equal((await last()).status, 200)
})

t.test('200: deliveries are listed in slices, newest event first, all or those of one status', async (t) => {
  const { create, logged, deliveries } = await openEndpoints()
  const { webhookEndpointId } = await create()
  for (let i = 0; i < 3; i++) await logged()
  const { items } = await deliveries(webhookEndpointId)
  t.equal(items.length, 6)
  const eventIds = items.map(({ eventId }) => eventId)
  t.strictSame(eventIds, eventIds.toSorted().reverse())
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

/** Claims the endpoint and saves the result of a failed attempt, as a sender does. */
const saveFailure = async ({ store }: Scene, delivery: Failure, failures: number) => {
  const [claimed] = await store.webhooks.claim({
    now: NOW,
    until: NOW,
    horizon: '2026-01-02T00:00:00.000Z',
    afterTenantId: '',
    max: 1,
  })
  const result = { ...delivery, lastError: 'No.', deliveredAt: null }
  const state = { failures, failingSince: NOW, lastError: null, claimableAt: null, readAt: NOW }
  await store.webhooks.settle(claimed as ClaimedEndpoint, [result], state)
}
type Failure = Omit<DeliveryResult, 'lastError' | 'deliveredAt'>

t.test('200: a delivery is returned with its body and its last attempts, newest first', async (t) => {
  const scene = await openEndpoints()
  const { call, create, logged, deliveries } = scene
  const { webhookEndpointId } = await create({ types: ['prospect_log.created'] })
  await logged()
  const { items } = await deliveries(webhookEndpointId)
  const path = `${ENDPOINTS}/${webhookEndpointId}/deliveries/${items[0]?.eventId}`
  const { body, ...delivery } = (await call(`GET ${path}`)).json
  t.strictSame(delivery, { ...items[0], lastAttempts: [] })
  t.match(body, { type: 'prospect_log.created', timestamp: NOW, data: { source: 'crm', payload: {} } })
  const attempts = [1, 2].map((ms) => ({ at: NOW, ms, status: 500, error: 'No.', answer: `${ms}` }))
  const pending = { eventId: String(items[0]?.eventId), status: 'pending', nextAttemptAt: NOW } as const
  for (const attempt of attempts) {
    const failure = { ...pending, attempts: 1, lastStatus: 500, attempt: JSON.stringify(attempt) }
    await saveFailure(scene, failure, 1)
  }
  t.strictSame((await call(`GET ${path}`)).json['lastAttempts'], attempts.toReversed())
  await call(`POST ${path}/retry`)
  t.match((await call(`GET ${path}`)).json, { attempts: 0, lastAttempts: attempts.toReversed() })
})

t.test('equal questions for a delivery that wait share an answer, and few are read at once', async (t) => {
  let reads = 0
  let reading = 0
  let readingMost = 0
  const storeAs = (store: Store): Store => ({
    ...store,
    prospectLogs: {
      ...store.prospectLogs,
      find: async (key) => {
        reads++
        readingMost = Math.max(readingMost, ++reading)
        await new Promise((resolve) => setImmediate(resolve))
        reading--
        return store.prospectLogs.find(key)
      },
    },
  })
  const { call, create, logged, deliveries } = await openEndpoints({ storeAs })
  const { webhookEndpointId } = await create({ types: ['prospect_log.created'] })
  for (let i = 0; i < 5; i++) await logged()
  const { items } = await deliveries(webhookEndpointId)
  const ask = (eventId: string) => call(`GET ${ENDPOINTS}/${webhookEndpointId}/deliveries/${eventId}`)

  const [{ eventId } = { eventId: '' }] = items
  const equal = await Promise.all(Array.from({ length: 20 }, () => ask(eventId)))
  t.ok(equal.every(({ status, body }) => status === 200 && body === equal[0]?.body))
  t.equal(reads, 1)

  const different = await Promise.all(items.map((delivery) => ask(delivery.eventId)))
  t.ok(different.every(({ status }) => status === 200))
  t.equal(reads, 6)
  t.equal(readingMost, 2)
})

t.test('202: a retried delivery is pending again, with zero attempts', async (t) => {
  const scene = await openEndpoints()
  const { call, create, logged, deliveries, store, owner, clock } = scene
  const { webhookEndpointId } = await create({ types: ['prospect.created'] })
  await logged()
  const [{ eventId }] = (await deliveries(webhookEndpointId)).items as [Delivery]
  const outcome = { status: 'failed', attempts: 10, nextAttemptAt: null, lastStatus: 503 } as const
  await saveFailure(scene, { eventId, ...outcome, attempt: null }, 10)
  const shown = { eventId, status: 'failed', attempts: 10, lastStatusCode: 503, lastError: 'No.' }
  t.match((await deliveries(webhookEndpointId, '?status=failed')).items, [shown])
  clock.advance(5_000)
  const path = `${ENDPOINTS}/${webhookEndpointId}/deliveries`
  const answer = await call(`POST ${path}/${eventId}/retry`)
  const nextAttemptAt = '2026-01-01T00:00:05.000Z'
  t.match(answer, { status: 202, json: { ...shown, status: 'pending', attempts: 0, nextAttemptAt } })
  t.equal((await store.webhooks.list(owner.tenantId))[0]?.failures, 10, 'only a success ends the failures')
})

t.test('202: a replay delivers the undelivered events, or all events', async (t) => {
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
  const replayOfAll = await replay({ since, onlyUndelivered: false }, first)
  t.match(replayOfAll.json, { deliveries: 2 }, 'pending deliveries count, too')
  t.match((await replay({ since: '2026-01-02T00:00:00Z' })).json, { deliveries: 0, nextCursor: null })
  const wrong = await replay({ since: 'yesterday', onlyUndelivered: 1 })
  t.match(wrong.json, problemFor(wrong, 'invalid_request', 400, SEE_ERRORS))
  t.match(wrong.json, { errors: [{ pointer: '/since' }, { pointer: '/onlyUndelivered' }] })
  t.match((await replay({ cursor: 'x' })).json, { errors: [{ pointer: '/cursor' }] })
  const detail = 'send exactly one of `since` and `cursor`'
  for (const start of [{}, { since, cursor: idOf('event', 0) }])
    t.match((await replay(start)).json, { errors: [{ pointer: '/since', detail }] })
})

t.test('202: a replay is split into short writes, and continues exactly at a cursor', async (t) => {
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
  // All events have the same time, so only the cursor can tell them apart.
  for (let i = 0; i < 3; i++) await logged()
  const replay = (json: object) => call(`POST ${ENDPOINTS}/${webhookEndpointId}/replay`, { json })
  t.match((await replay({ since: '1970-01-01T00:00:00Z' })).json, { deliveries: 6, nextCursor: null })
  t.equal(writes, 4)
  const [, , third] = (await deliveries(webhookEndpointId)).items.toReversed() as { eventId: string }[]
  t.match((await replay({ cursor: third?.eventId })).json, { deliveries: 3, nextCursor: null })
})

t.test('409: a disabled endpoint gets neither a retry nor a replay', async (t) => {
  const { call, create, logged, deliveries } = await openEndpoints()
  const { webhookEndpointId } = await create()
  await logged()
  const { items } = await deliveries(webhookEndpointId)
  const path = `${ENDPOINTS}/${webhookEndpointId}`
  await call(`PATCH ${path}`, { json: { status: 'disabled' } })
  const retry = () => call(`POST ${path}/deliveries/${items[0]?.eventId}/retry`)
  const replay = () => call(`POST ${path}/replay`, { json: { since: NOW } })
  for (const answer of [await retry(), await replay()]) {
    const detail = 'Enable the endpoint first.'
    t.strictSame(answer.json, problemFor(answer, 'webhook_endpoint_disabled', 409, detail))
  }
  t.strictSame((await deliveries(webhookEndpointId)).items, items)
  await call(`PATCH ${path}`, { json: { status: 'enabled' } })
  t.equal((await retry()).status, 202)
  t.equal((await replay()).status, 202)
})

t.test('404: a deleted endpoint and an unknown delivery are not found', async (t) => {
  const { call, create } = await openEndpoints()
  const kept = await create()
  const deleted = await create()
  await call(`DELETE ${ENDPOINTS}/${deleted.webhookEndpointId}`)
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const { status, json } = await call(`${method} ${ENDPOINTS}/${deleted.webhookEndpointId}`, { json: {} })
    t.match({ status, json }, { status: 404, json: { code: 'webhook_endpoint_not_found' } }, method)
  }
  const unknown = `${ENDPOINTS}/${kept.webhookEndpointId}/deliveries/event_x`
  for (const operation of [`GET ${unknown}`, `POST ${unknown}/retry`])
    t.match(await call(operation), { status: 404, json: { code: 'delivery_not_found' } }, operation)
})
