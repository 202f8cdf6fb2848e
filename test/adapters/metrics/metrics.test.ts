import t from 'tap'
import type { Api } from '../../../src/adapters/http/requests.ts'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import { createTogether } from '../../../src/adapters/stores/together.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { openScene } from '../../support/api.ts'
import { hooksOver } from '../../support/hooks.ts'
import { scrapeOf } from '../../support/scrape.ts'

const COUNT = 'prospect_pages_http_request_duration_seconds_count'
const RECEIVED = 'prospect_pages_hooks_received_total'
const WARNED = 'prospect_pages_hooks_warned_total'
const PAGES = '/v0/page_groups/{page_group_id}/pages'

t.test('/metrics answers in the text format of Prometheus, without a key', async (t) => {
  const { api } = await openScene({ metrics: createMetrics() })
  const { status, headers, body } = await scraped(api)
  t.equal(status, 200)
  t.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  t.equal(headers['content-length'], String(Buffer.byteLength(body)))
  const { types, value } = scrapeOf(body)
  t.equal(types.get('prospect_pages_http_request_duration_seconds'), 'histogram')
  for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes'])
    t.type(value(name), 'number', name)
  t.equal(types.get('nodejs_gc_duration_seconds'), 'histogram')
})

t.test('without metrics the path is not found', async (t) => {
  const { call } = await openScene()
  const { status, json } = await call('GET /metrics', { key: null })
  t.match({ status, json }, { status: 404, json: { code: 'not_found' } })
})

t.test('requests are counted by method, template and status', async (t) => {
  const { api, call, newGroup } = await openScene({ metrics: createMetrics() })
  const { pageGroupId } = await newGroup()
  for (let times = 0; times < 3; times++)
    await call(`POST /v0/page_groups/${pageGroupId}/pages`, { json: {} })
  await call(`GET /v0/page_groups/${pageGroupId}/pages?limit=5`)
  await call('GET /v0/page_groups/nothing/pages')
  await call('HEAD /healthz')
  const { value } = scrapeOf((await scraped(api)).body)
  t.equal(value(COUNT, { method: 'POST', route: PAGES, status: '201' }), 3)
  t.equal(value(COUNT, { method: 'GET', route: PAGES, status: '200' }), 1)
  t.equal(value(COUNT, { method: 'GET', route: PAGES, status: '404' }), 1)
  t.equal(value(COUNT, { method: 'HEAD', route: '/healthz', status: '200' }), 1)
  t.equal(value(COUNT), 6)
})

t.test('what a hook is sent by GET is counted, unless it only checks the address', async (t) => {
  const { api, owner } = await openScene({ metrics: createMetrics() })
  const { create, send } = hooksOver(api, owner.apiKey)
  const { path } = await create({ verify: { token: true }, map: { email: ['/email'] }, trap: 'website' })
  const get = (query: string) => send(path + query, '', {}, 'GET')
  await send(path, '{"email":"ada@example.com"}')
  await get('?email=ada%40example.com')
  await get('?email=ada%40example.com&website=x')
  await get('?utm_source=mail')
  await get('')
  await send(`${path}x?email=ada%40example.com`, '', {}, 'GET')
  const { value } = scrapeOf((await scraped(api)).body)
  t.equal(value(RECEIVED, { outcome: 'logged' }), 2)
  t.equal(value(RECEIVED, { outcome: 'trapped' }), 1)
  t.equal(value(RECEIVED, { outcome: 'invalid_request' }), 1)
  t.equal(value(RECEIVED), 4)
})

t.test('deliveries with a warning are counted, too', async (t) => {
  const { api, owner } = await openScene({ metrics: createMetrics() })
  const { create, send } = hooksOver(api, owner.apiKey)
  const { path } = await create({ verify: { token: true }, map: { email: ['/email'] } })
  const warnings = async () => scrapeOf((await scraped(api)).body).value(WARNED)
  t.equal(await warnings(), 0)
  for (const body of ['{"email":"ada@example.com"}', '{"mail":"ada@example.com"}', '{}'])
    await send(path, body)
  t.equal(await warnings(), 2)
})

t.test('callers cannot create labels: unknown paths share one, and unknown methods', async (t) => {
  const { api, call, owner } = await openScene({ metrics: createMetrics() })
  for (let n = 0; n < 50; n++) {
    await call(`GET /nowhere/${n}`)
    await call(`M${n} /v0/page_groups`)
    await call(`GET /v0/page_groups/${owner.tenantId}/pages/page_${n}?cursor=${n}`)
  }
  const { all, value, samples } = scrapeOf((await scraped(api)).body)
  t.equal(value(COUNT, { route: 'unknown', status: '404' }), 50)
  t.equal(value(COUNT, { method: 'other', route: '/v0/page_groups', status: '405' }), 50)
  t.equal(all(COUNT).length, 3)
  const names = new Set(samples.flatMap(({ labels }) => Object.keys(labels)))
  const ours = ['method', 'route', 'status', 'operation', 'verb', 'outcome', 'le']
  const ofNode = ['type', 'kind', 'space', 'version', 'major', 'minor', 'patch']
  t.strictSame(
    [...names].filter((name) => ![...ours, ...ofNode].includes(name)),
    [],
  )
})

t.test('a scrape shows requests in flight, queued calls and the length of the lists', async (t) => {
  const { promise, resolve: letGo } = Promise.withResolvers<void>()
  const metrics = createMetrics()
  const operation = 'activities.record'
  let arrived = 0
  const { write } = createTogether({ listsInFlightMax: 1, observerOf: metrics.gathering })
  const storeAs = (store: Store): Store => {
    type Recording = Parameters<Store['activities']['record']>
    const recordAll = async (list: readonly Recording[]) => {
      await promise
      return Promise.all(list.map((recording) => store.activities.record(...recording)))
    }
    const tenantOf = ([{ lookup }]: Recording) => lookup.tenantId
    const together = write(operation, recordAll, { tenantOf, weightOf: () => 0 })
    const record = (...recording: Recording) => {
      arrived++
      return together(recording)
    }
    return { ...store, activities: { ...store.activities, record } }
  }
  const { api, call } = await openScene({ metrics, storeAs })
  const log = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {} } }),
      ),
    )
  /** Calls arrive in turns of the event loop, on a busy machine in several. */
  const arrival = async (count: number) => {
    while (arrived < count) await someTurns()
    await someTurns()
  }
  const held = log(1)
  await arrival(1)
  // While the first list is in flight, later calls wait for the next.
  const later = log(2)
  await arrival(3)
  const during = scrapeOf((await scraped(api)).body)
  t.equal(during.value('prospect_pages_http_requests_in_flight'), 4, 'those three and the scrape')
  t.equal(during.value('prospect_pages_list_queued_calls', { operation }), 2)
  t.equal(during.value('prospect_pages_list_length_sum', { operation }), 1)
  letGo()
  await Promise.all([held, later])
  const after = scrapeOf((await scraped(api)).body)
  t.equal(after.value('prospect_pages_http_requests_in_flight'), 1)
  t.equal(after.value('prospect_pages_list_queued_calls', { operation }), 0)
  t.equal(after.value('prospect_pages_list_length_sum', { operation }), 3)
  t.equal(after.value('prospect_pages_list_length_count', { operation }), 2)
})

t.test('every verb of the store is timed, and fails as it failed', async (t) => {
  const metrics = createMetrics()
  const inner = memoryStore()
  const why = new Error('away')
  const brands = (_tenantId: string) => Promise.reject(why)
  const store = metrics.measured({ ...inner, tenants: { ...inner.tenants, brands } })
  await t.rejects(store.tenants.brands('tenant_x'), why)
  t.equal(await store.apiKeys.isEmpty(), true)
  const { value } = scrapeOf(await metrics.text())
  const CALLS = 'prospect_pages_store_call_duration_seconds_count'
  t.equal(value(CALLS, { verb: 'tenants.brands' }), 1)
  t.equal(value(CALLS, { verb: 'apiKeys.isEmpty' }), 1)
  t.equal(value(CALLS), 2)
})

t.test('malformed messages are counted from 0', async (t) => {
  const { malformed, text } = createMetrics()
  const COUNT = 'prospect_pages_http_malformed_messages_total'
  for (const status of ['400', '431', '503']) t.equal(scrapeOf(await text()).value(COUNT, { status }), 0)
  malformed(400)
  t.equal(scrapeOf(await text()).value(COUNT, { status: '400' }), 1)
})

t.test('connections and statements of PostgreSQL', async (t) => {
  const { database, text } = createMetrics()
  database.pool(() => ({ inFlight: 7, waiting: 3 }))
  database.statement(4, 'answered')
  database.statement(6_000, 'failed')
  const { value } = scrapeOf(await text())
  t.equal(value('prospect_pages_database_statements_in_flight'), 7)
  t.equal(value('prospect_pages_database_statements_waiting'), 3)
  const SECONDS = 'prospect_pages_database_statement_duration_seconds'
  t.equal(value(`${SECONDS}_sum`, { outcome: 'failed' }), 6)
  t.equal(value(`${SECONDS}_bucket`, { outcome: 'answered', le: '0.0025' }), 0)
  t.equal(value(`${SECONDS}_bucket`, { outcome: 'answered', le: '0.005' }), 1)
})

/** Enough turns of the event loop for a call to reach its list. */
const someTurns = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** `call` would parse the body as JSON. */
const scraped = async (api: Api) => {
  const { body, ...answer } = await api({ method: 'GET', target: '/metrics', headers: {} })
  return { ...answer, body: String(body) }
}
