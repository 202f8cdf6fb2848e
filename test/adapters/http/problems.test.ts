import t from 'tap'
import { createHttpServer } from '../../../src/adapters/http/node/server.ts'
import openapi from '../../../src/adapters/http/openapi.json' with { type: 'json' }
import { PROBLEMS } from '../../../src/adapters/http/problems.ts'
import { createLog } from '../../../src/adapters/log.ts'
import { compose, createRuntime } from '../../../src/compose/service.ts'
import { readConfig } from '../../../src/config/config.ts'
import type { ProblemCode } from '../../../src/core/engine/failures.ts'
import { newApiKeyText } from '../../../src/core/tenants/api-key-text.ts'
import {
  type Answer,
  caller,
  DATABASE_AWAY,
  failing,
  openScene,
  SECURITY_HEADERS,
} from '../../support/api.ts'
import { documented } from '../../support/documented.ts'
import { idOf } from '../../support/setting.ts'

const LOG = 'POST /v0/prospect_logs'
const GROUPS = 'GET /v0/page_groups'
const activity = { source: 'crm', payload: {} }

type Scene = Awaited<ReturnType<typeof openScene>>
type Row = [condition: string, status: number, code: ProblemCode, provoke: (scene: Scene) => Promise<Answer>]

/** Through a real socket, with a limit of 1 KiB for bodies. */
const throughSocket = async (
  { api, newRequestId, owner }: Scene,
  headers: Readonly<Record<string, string>>,
  payload: object = {},
): Promise<Answer> => {
  const ms = 10_000
  const limits = {
    bodyBytesMax: 1_024,
    batchBytesMax: 8_192,
    headersMsMax: ms,
    requestMsMax: ms,
    keepAliveMs: 1,
    connectionsMax: 9,
    unsentBytesMax: 1e6,
  }
  const http = createHttpServer({ api, limits, newRequestId, onMalformed: () => {} })
  const port = await http.listen('127.0.0.1', 0)
  const response = await fetch(`http://127.0.0.1:${port}/v0/prospect_logs`, {
    method: 'POST',
    headers: { 'x-api-key': owner.apiKey, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...activity, payload }),
  })
  const body = await response.text()
  await http.drain(0)
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body,
    json: JSON.parse(body),
  }
}

/** The whole service over an empty memory store, not started yet. */
const serviceNotStarted = async () => {
  const config = readConfig({ DATABASE_URL: 'memory:', LOG_LEVEL: 'silent' })
  const service = compose(config, await createRuntime(config, createLog('silent')))
  return { ...service, call: caller(documented(service.api), newApiKeyText()) }
}

const pathOfPage = async ({ newGroup, newPage }: Scene): Promise<string> => {
  const { pageGroupId } = await newGroup()
  return `/v0/page_groups/${pageGroupId}/pages/${(await newPage(pageGroupId)).pageId}`
}

const TABLE: Row[] = [
  ['the body is not JSON', 400, 'invalid_json', ({ call }) => call(LOG, { body: '{"source":' })],
  [
    'the version is unknown',
    404,
    'version_not_found',
    async (scene) => scene.call(`GET ${await pathOfPage(scene)}/versions/x`),
  ],
  [
    'the version is still processing',
    409,
    'version_not_ready',
    async (scene) => {
      const page = await pathOfPage(scene)
      const { versionId } = (await scene.call(`GET ${page}`)).json.latestVersion as { versionId: string }
      return scene.call(`POST ${page}/versions/${versionId}/publish`)
    },
  ],
  [
    'the page has changed',
    412,
    'precondition_failed',
    async (scene) => scene.call(`DELETE ${await pathOfPage(scene)}`, { headers: { 'if-match': '"r2"' } }),
  ],
  ['the shape is wrong', 400, 'invalid_request', ({ call }) => call(LOG, { json: {} })],
  ['the cursor is wrong', 400, 'invalid_cursor', ({ call }) => call(`${GROUPS}?cursor=x`)],
  ['the key is missing', 401, 'missing_api_key', ({ call }) => call(GROUPS, { key: null })],
  ['the key is no key', 401, 'invalid_api_key', ({ call }) => call(GROUPS, { key: 'secret' })],
  [
    'the key came twice',
    401,
    'invalid_api_key',
    ({ call, owner }) => call(GROUPS, { headers: { 'x-api-key': [owner.apiKey, owner.apiKey] } }),
  ],
  [
    'the scope is lacking',
    403,
    'insufficient_scope',
    async ({ call, keyWith }) => call(GROUPS, { key: await keyWith('pages:read') }),
  ],
  ['the path is unknown', 404, 'not_found', ({ call }) => call('GET /v1/page_groups')],
  [
    'the group is unknown',
    404,
    'page_group_not_found',
    ({ call }) => call(`${GROUPS}/${idOf('pagegroup', 999)}/pages`),
  ],
  [
    'the page is unknown',
    404,
    'page_not_found',
    async ({ call, newGroup }) =>
      call(`${GROUPS}/${(await newGroup()).pageGroupId}/pages/${idOf('page', 999)}`),
  ],
  [
    'the activity is unknown',
    404,
    'prospect_log_not_found',
    ({ call }) => call(`GET /v0/prospect_logs/${idOf('prospectlog', 999)}`),
  ],
  [
    'the email belongs to another prospect',
    409,
    'email_taken',
    async ({ call }) => {
      await call(LOG, { json: { ...activity, email: 'ada@example.com' } })
      const { prospectId } = (await call(LOG, { json: activity })).json
      return call(`PATCH /v0/prospects/${prospectId}`, { json: { email: 'Ada@example.com' } })
    },
  ],
  [
    'the prospect is unknown',
    404,
    'prospect_not_found',
    ({ call }) => call(LOG, { json: { ...activity, prospectId: idOf('prospect', 999) } }),
  ],
  ['the path has other methods', 405, 'method_not_allowed', ({ call }) => call('DELETE /v0/page_groups')],
  [
    'the group is archived',
    409,
    'page_group_not_active',
    async ({ call, newGroup }) =>
      call(`POST /v0/page_groups/${(await newGroup({ status: 'archived' })).pageGroupId}/pages`),
  ],
  [
    'the body is over the limit',
    413,
    'payload_too_large',
    (scene) => throughSocket(scene, {}, { text: 'x'.repeat(1_024) }),
  ],
  [
    'the headers are too large',
    431,
    'headers_too_large',
    (scene) => throughSocket(scene, { 'x-large': 'x'.repeat(20_000) }),
  ],
  [
    'the body is not application/json',
    415,
    'unsupported_media_type',
    ({ call }) => call(LOG, { json: activity, headers: { 'content-type': 'text/json' } }),
  ],
  [
    "an activity's idempotency key is reused",
    422,
    'idempotency_key_reused',
    async ({ call }) => {
      const log = (type: string) => call(LOG, { json: { ...activity, idempotencyKey: 'k', type } })
      await log('a')
      return log('b')
    },
  ],
  [
    'the key has reached its rate',
    429,
    'rate_limited',
    async () => {
      const { call } = await openScene({ rateLimitPerMinute: 1 })
      await call(GROUPS)
      return call(GROUPS)
    },
  ],
  [
    'the service is overloaded',
    503,
    'unavailable',
    async () => {
      const busy = Promise.withResolvers<never[]>()
      const { call } = await openScene({
        requestsAtOnceMax: 1,
        requestsWaitingMax: 1,
        storeAs: (store) => ({ ...store, pageGroups: { ...store.pageGroups, list: () => busy.promise } }),
      })
      const inFlight = [call(GROUPS), call(GROUPS)]
      const answer = await call(GROUPS)
      busy.resolve([])
      await Promise.all(inFlight)
      return answer
    },
  ],
  [
    'the database is away',
    503,
    'unavailable',
    async () =>
      (
        await openScene({
          storeAs: (store) => ({ ...store, apiKeys: failing(store.apiKeys, DATABASE_AWAY) }),
        })
      ).call(GROUPS),
  ],
  [
    'other writers were faster each time',
    503,
    'unavailable',
    async () => {
      const record = async () => 'overtaken' as const
      const { call } = await openScene({
        storeAs: (store) => ({ ...store, activities: { ...store.activities, record } }),
      })
      return call(LOG, { json: activity })
    },
  ],
  ['the service is starting', 503, 'unavailable', async () => (await serviceNotStarted()).call(GROUPS)],
  [
    'the service is shutting down',
    503,
    'unavailable',
    async () => {
      const { start, close, call } = await serviceNotStarted()
      await start()
      await close()
      return call('GET /readyz')
    },
  ],
  [
    'the fault is ours',
    500,
    'internal_error',
    async () => {
      const why = new TypeError('undefined is not a function')
      return (
        await openScene({ storeAs: (store) => ({ ...store, apiKeys: failing(store.apiKeys, why) }) })
      ).call(GROUPS)
    },
  ],
]

const DOCUMENTED = Object.keys(openapi.components.schemas.Problem.properties)

for (const [condition, status, code, provoke] of TABLE)
  t.test(`${status} ${code}: ${condition}`, async (t) => {
    const scene = await openScene()
    const { call, owner } = scene
    const answer = await provoke(scene)
    t.equal(answer.status, status)
    t.match(answer.headers, { ...SECURITY_HEADERS, 'content-type': 'application/problem+json' })
    const { detail, instance, title, ...rest } = answer.json
    t.match(rest, { type: `/problems/${code}`, status, code })
    t.equal(instance, answer.headers['x-request-id'])
    t.match(detail, /^[A-Z`].+\.$/, 'a sentence')
    t.equal(title, PROBLEMS[code].title)
    t.notOk(answer.body.includes(owner.apiKey), 'the key is never told')
    const undocumented = Object.keys(answer.json).filter((name) => !DOCUMENTED.includes(name))
    t.strictSame(undocumented, [], 'only documented members')
    t.equal('www-authenticate' in answer.headers, status === 401)
    t.equal('retry-after' in answer.headers, status === 429 || status === 503)
    t.equal('allow' in answer.headers, status === 405)
    const explained = await call(`GET ${answer.json.type}`, { key: null })
    t.match(explained, { status: 200, json: { type: answer.json.type, code, title, status } })
    t.match(explained.json.explanation, /^[A-Z`].+\.$/)
  })

/** Problems that the tests of their operations provoke. */
const ELSEWHERE = [
  'erasure_not_found',
  'external_id_taken',
  'slug_taken',
  'schedule_taken',
  'prospect_erased',
  'limit_reached',
  'cursor_expired',
  'event_not_found',
  'webhook_endpoint_not_found',
  'delivery_not_found',
  'webhook_endpoint_disabled',
  'hook_not_found',
  'invalid_signature',
  'loop_detected',
  'tenant_suspended',
]

t.test('every problem is in the table', async (t) => {
  t.strictSame(new Set([...TABLE.map(([, , code]) => code), ...ELSEWHERE]), new Set(Object.keys(PROBLEMS)))
  for (const [, status, code] of TABLE) t.equal(PROBLEMS[code].status, status, code)
})

t.test('all errors of a request are listed at once', async (t) => {
  const { call } = await openScene()
  const answer = await call(LOG, {
    json: { source: '', type: 1, payload: [], prospectId: 'x', email: {}, idempotencyKey: false, name: null },
    headers: { 'idempotency-key': 'x'.repeat(256) },
    repeatedHeaders: ['content-type'],
  })
  t.strictSame(answer.json.errors, [
    { detail: 'must not be given more than once', parameter: 'content-type' },
    { detail: 'must be 1 to 255 characters of UTF-8', parameter: 'Idempotency-Key' },
    { detail: 'must be 1 to 100 characters long', pointer: '/source' },
    { detail: 'must be a string', pointer: '/type' },
    { detail: 'must be an object', pointer: '/payload' },
    { detail: 'must be prospect_ followed by 26 characters a-z or 0-9', pointer: '/prospectId' },
    { detail: 'must be a string', pointer: '/email' },
    { detail: 'must be a string', pointer: '/idempotencyKey' },
    { detail: 'must be a string', pointer: '/name' },
  ])
})

t.test('at most 20 errors are listed', async (t) => {
  const { call } = await openScene()
  const answer = await call(`${GROUPS}?${'limit=5&'.repeat(30)}`)
  t.equal(answer.status, 400)
  t.equal((answer.json.errors as unknown[]).length, 20)
})

t.test('no answer repeats the values of a request', async (t) => {
  const { call, newGroup } = await openScene()
  const { pageGroupId } = await newGroup({ status: 'archived' })
  const secret = 'ada@example.com'
  const reused = { ...activity, idempotencyKey: secret, email: secret }
  await call(LOG, { json: reused })
  const answers = [
    await call(LOG, { body: `{"source": ${secret}}` }),
    await call(LOG, { body: secret }),
    await call(LOG, { json: { source: [secret], type: { secret }, payload: secret, prospectId: secret } }),
    await call(LOG, { json: { ...reused, type: secret } }),
    await call(LOG, {
      json: { ...activity, prospectId: idOf('prospect', 999), email: secret, name: secret },
    }),
    await call(LOG, {
      json: { ...activity, idempotencyKey: secret },
      headers: { 'idempotency-key': 'other' },
    }),
    await call(LOG, { json: activity, headers: { 'content-type': secret } }),
    await call(LOG, { json: activity, headers: { 'content-encoding': secret } }),
    await call(LOG, { json: activity, headers: { 'idempotency-key': secret.repeat(20) } }),
    await call(GROUPS, { key: secret }),
    await call(`${GROUPS}?limit=${secret}&status=${secret}`),
    await call(`${GROUPS}?cursor=${secret}`),
    await call(`${GROUPS}/${secret}/pages/${secret}`),
    await call(`POST /v0/page_groups/${pageGroupId}/pages`, { json: { customName: secret } }),
    await call(`GET /${secret}`),
    await call(`${secret} /v0/page_groups`),
    await call(`GET /problems/${secret}`),
  ]
  for (const answer of answers) {
    t.ok(answer.status >= 400)
    t.notMatch(answer.body + JSON.stringify(answer.headers), /ada@/, answer.body)
  }
})

t.test(
  'of several errors the first is returned, in the order path, method, key, rate, scope, body',
  async (t) => {
    const { call, keyWith } = await openScene()
    const unread = async () => t.fail('a body that is not wanted yet was read') as never
    const worst = { key: 'wrong', body: '{', read: unread, headers: { 'content-type': 'text/plain' } }
    const codeOf = async (operation: string, sent: object) =>
      (await call(operation, { ...worst, ...sent })).json.code
    t.equal(await codeOf('PUT /v0/nowhere?limit=0', {}), 'not_found')
    t.equal(await codeOf('PUT /v0/prospect_logs', {}), 'method_not_allowed')
    t.equal(await codeOf(LOG, { key: null }), 'missing_api_key')
    t.equal(await codeOf(LOG, {}), 'invalid_api_key')
    t.equal(await codeOf(LOG, { key: await keyWith('pages:read') }), 'insufficient_scope')
    t.equal(await codeOf(LOG, { key: await keyWith('prospect_logs:write') }), 'unsupported_media_type')
    t.equal((await call(LOG, { body: '{', headers: { 'idempotency-key': '' } })).json.code, 'invalid_json')
    const unknownGroup = 'POST /v0/page_groups/x/pages'
    t.equal((await call(unknownGroup, { json: { customName: 1 } })).json.code, 'invalid_request')
  },
)

t.test('the rate of a key is counted before its scope is checked', async (t) => {
  const { call, keyWith } = await openScene({ rateLimitPerMinute: 1 })
  const key = await keyWith('pages:read')
  t.equal((await call(GROUPS, { key })).status, 403)
  t.equal((await call(GROUPS, { key })).status, 429)
  t.equal((await call(GROUPS, { key: 'wrong' })).status, 401)
})

t.test('HEAD returns the status and headers of GET without a body, also for problems', async (t) => {
  const { call, newGroup, newPage } = await openScene()
  const { pageGroupId } = await newGroup()
  const { pageId } = await newPage(pageGroupId)
  const statuses = {
    '/v0/page_groups': 200,
    [`/v0/page_groups/${pageGroupId}/pages`]: 200,
    [`/v0/page_groups/${pageGroupId}/pages/${pageId}`]: 200,
    '/v0/page_groups?limit=0': 400,
    '/v0/page_groups/x/pages': 404,
    '/v0/nowhere': 404,
    '/healthz': 200,
    '/readyz': 200,
    '/openapi.json': 200,
    '/problems/not_found': 200,
    '/v0/prospect_logs': 200,
    '/v0/prospects': 200,
  }
  for (const [target, status] of Object.entries(statuses)) {
    const get = await call(`GET ${target}`)
    const head = await call(`HEAD ${target}`)
    t.equal(head.status, status, target)
    t.equal(head.body, '', target)
    for (const name of ['content-type', 'content-length', 'allow'])
      t.equal(head.headers[name], get.headers[name], `${name} of ${target}`)
    t.equal(get.headers['content-length'], String(Buffer.byteLength(get.body)))
  }
})

t.test('OPTIONS answers 204 with the methods of the path, and needs no key', async (t) => {
  const { call } = await openScene()
  const methods = {
    '/v0/prospect_logs': 'POST, GET, HEAD, OPTIONS',
    '/v0/prospects/x': 'GET, HEAD, PATCH, OPTIONS',
    '/v0/page_groups': 'GET, HEAD, POST, OPTIONS',
    '/v0/page_groups/x': 'GET, HEAD, PATCH, DELETE, OPTIONS',
    '/v0/page_groups/x/pages': 'GET, HEAD, POST, OPTIONS',
    '/v0/page_groups/x/pages/y': 'GET, HEAD, PATCH, DELETE, OPTIONS',
    '/v0/page_groups/x/pages/y/versions/z/publish': 'POST, OPTIONS',
    '/healthz': 'GET, HEAD, OPTIONS',
    '/problems/not_found': 'GET, HEAD, OPTIONS',
  }
  for (const [target, allow] of Object.entries(methods)) {
    const { status, body, headers } = await call(`OPTIONS ${target}`, { key: null })
    t.strictSame({ status, body, allow: headers['allow'] }, { status: 204, body: '', allow }, target)
    t.notOk('content-length' in headers)
    t.notOk('content-type' in headers)
  }
  t.match(await call('OPTIONS /v0/nowhere'), { status: 404 })
})

t.test('every answer forbids sniffing and limits caching, and none allows other origins', async (t) => {
  const { call, newGroup } = await openScene()
  await newGroup()
  const headers = { origin: 'https://example.com', 'access-control-request-method': 'POST' }
  const cacheControls = {
    [GROUPS]: 'private, no-cache',
    'HEAD /v0/page_groups': 'private, no-cache',
    'OPTIONS /v0/page_groups': 'no-store',
    'PUT /v0/page_groups': 'no-store',
    'GET /v0/nowhere': 'no-store',
    'GET /openapi.json': 'no-cache',
    'GET /healthz': 'no-store',
  }
  for (const [operation, cacheControl] of Object.entries(cacheControls)) {
    const answer = await call(operation, { headers })
    t.match(answer.headers, { ...SECURITY_HEADERS, 'cache-control': cacheControl }, operation)
    t.notMatch(Object.keys(answer.headers).join(), /access-control/, operation)
    t.ok(answer.headers['x-request-id'])
  }
})

t.test('a 401 names the authentication scheme', async (t) => {
  const { call } = await openScene()
  const scheme = 'ApiKey realm="prospect-pages", header="x-api-key"'
  t.equal((await call(GROUPS, { key: null })).headers['www-authenticate'], scheme)
  t.equal((await call(GROUPS, { key: 'wrong' })).headers['www-authenticate'], scheme)
})

t.test('a 500 shows nothing of the error, which is logged completely', async (t) => {
  const why = new Error('duplicate key (ada@example.com) in insert into prospects', {
    cause: new Error('deep'),
  })
  const { call, errors, answered } = await openScene({
    storeAs: (store) => ({ ...store, activities: failing(store.activities, why) }),
  })
  const answer = await call(LOG, { json: activity })
  t.strictSame(Object.keys(answer.json), ['type', 'title', 'status', 'detail', 'instance', 'code'])
  t.notMatch(answer.body, /duplicate|ada|insert|deep|\.ts|node:/)
  t.strictSame(errors, [{ error: why, requestId: answer.json.instance }])
  t.match(answered, [{ requestId: answer.json.instance, status: 500, code: 'internal_error' }])
})

t.test('the report of a request contains neither the caller nor the sent values', async (t) => {
  const { call, answered, newGroup, newPage } = await openScene()
  const { pageGroupId } = await newGroup()
  const { pageId } = await newPage(pageGroupId)
  await call(`GET /v0/page_groups/${pageGroupId}/pages/${pageId}?email=ada@example.com`)
  await call('GET /ada@example.com')
  t.match(answered.slice(1), [
    {
      requestId: 'request-2',
      method: 'GET',
      route: '/v0/page_groups/{page_group_id}/pages/{page_id}',
      status: 400,
      code: 'invalid_request',
    },
    { requestId: 'request-3', method: 'GET', route: null, status: 404, code: 'not_found' },
  ])
  t.notMatch(JSON.stringify(answered), /ada@|pagegroup_|pp_/)
})

t.test('every JSON answer ends with a newline that its length counts, for HEAD too', async (t) => {
  const { call, newGroup } = await openScene()
  const pages = `/v0/page_groups/${(await newGroup()).pageGroupId}/pages`
  for (const path of ['/', '/healthz', '/readyz', '/openapi.json', '/problems/not_found', '/v0', pages]) {
    const { body, headers } = await call(`GET ${path}`)
    t.match(body, /\}\n$/, path)
    t.equal(headers['content-length'], String(Buffer.byteLength(body)), path)
    t.equal((await call(`HEAD ${path}`)).headers['content-length'], headers['content-length'], path)
  }
  t.match((await call(`POST ${pages}`, { json: {} })).body, /\}\n$/)
})

t.test('readiness needs no key, and its failure is a problem', async (t) => {
  const ready = async () => {
    throw DATABASE_AWAY
  }
  const { call } = await openScene({ ready })
  const healthy = await call('GET /healthz', { key: null })
  t.strictSame([healthy.status, healthy.body], [200, '{"status":"ok"}\n'])
  t.match(await call('GET /readyz', { key: null }), { status: 503, json: { code: 'unavailable' } })
  const fine = await (await openScene()).call('GET /readyz', { key: null })
  t.strictSame([fine.status, fine.body], [200, '{"status":"ready"}\n'])
})
