import t from 'tap'
import { mcpRoute } from '../../../src/adapters/http/mcp/route.ts'
import { openScene } from '../../support/api.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const HOOK = { source: 'site', verify: { token: true } }
const VALID = `00-${TRACE}-${PARENT}-01`

t.test('a valid X-Request-Id is returned, logged, and the instance of a problem', async (t) => {
  const { call, answered } = await openScene()
  for (const requestId of ['a', 'A.b_c-9', '0b9e5a52-6c0f-4b0b-9d6f-2f2f6f1f9a11', 'x'.repeat(128)]) {
    const { headers, json } = await call('GET /nowhere', { headers: { 'x-request-id': requestId } })
    t.equal(headers['x-request-id'], requestId)
    t.equal(json['instance'], requestId)
    t.equal(answered.at(-1)?.requestId, requestId)
  }
})

t.test('an invalid X-Request-Id is ignored', async (t) => {
  const { call } = await openScene()
  const invalid = ['', ' ', 'a b', 'a, b', 'x'.repeat(129), 'ada@example.com', 'a\tb', '"', 'é', '{}', 'a/b']
  for (const requestId of [...invalid, ['a', 'b']]) {
    const { headers, json } = await call('GET /nowhere', { headers: { 'x-request-id': requestId } })
    t.match(headers['x-request-id'], /^request-\d+$/, String(requestId))
    t.equal(json['instance'], headers['x-request-id'])
  }
})

t.test('the trace id of a valid traceparent is reported with the request', async (t) => {
  const { call, answered } = await openScene()
  for (const traceparent of [
    VALID,
    `00-${TRACE}-${PARENT}-00`,
    `cc-${TRACE}-${PARENT}-09-what-comes-later`,
  ]) {
    await call('GET /v0/page_groups', { headers: { traceparent } })
    t.equal(answered.at(-1)?.traceId, TRACE, traceparent)
  }
})

t.test('an invalid traceparent is ignored', async (t) => {
  const { call, answered } = await openScene()
  const wrong = [
    '',
    VALID.toUpperCase(),
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `${VALID}-more`,
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `${VALID}, ${VALID}`,
    ` ${VALID}`,
    `cc-${TRACE}-${PARENT}-01more`,
  ]
  for (const traceparent of wrong) {
    t.equal((await call('GET /v0/page_groups', { headers: { traceparent } })).status, 200)
    t.notHas(answered.at(-1), { traceId: String }, traceparent)
  }
})

t.test('an internal error is reported with its trace id', async (t) => {
  const reported: unknown[] = []
  const why = new Error('a bug')
  const { call, owner } = await openScene({
    storeAs: (store) => ({ ...store, pageGroups: { ...store.pageGroups, list: () => Promise.reject(why) } }),
    onError: (_error, requestId, known) => reported.push({ requestId, ...known }),
  })
  await call('GET /v0/page_groups', { headers: { traceparent: VALID, 'x-request-id': 'one' } })
  const { tenantId, apiKeyId } = owner
  // Beside other work it may also have waited for its turn.
  t.match(reported, [{ requestId: 'one', traceId: TRACE, tenantId, apiKeyId }])
  t.equal(reported.length, 1)
})

t.test(
  'an instrumentation’s trace takes precedence over the header, and it receives the route template',
  async (t) => {
    const routes: string[] = []
    const span = '11111111111111111111111111111111'
    const tracing = {
      traceId: () => span,
      onRoute: (route: string) => routes.push(route),
    }
    const { call, answered } = await openScene({ tracing, rawRoutes: [mcpRoute(null)] })
    await call('GET /v0/page_groups/some/pages', { headers: { traceparent: VALID } })
    await call('GET /nowhere')
    t.equal(answered[0]?.traceId, span)
    t.strictSame(routes, ['/v0/page_groups/{page_group_id}/pages'])
    const read = async () => {
      t.equal(routes.at(-1), '/hooks/{hook_id}/{token}', 'before the sender can leave')
      return Buffer.from('{}')
    }
    const path = (await call('POST /v0/hooks', { json: HOOK })).json['path']
    await call(`POST ${path}`, { key: null, body: '{}', read })
    await call('POST /mcp', { json: { jsonrpc: '2.0', id: 1, method: 'ping' } })
    t.equal(routes.at(-1), '/mcp', 'what it calls does not rename it')
  },
)
