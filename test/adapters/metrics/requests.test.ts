import t from 'tap'
import type { Api } from '../../../src/adapters/http/api.ts'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import { heldLists, openScene } from '../../support/api.ts'
import { scrapeOf } from '../../support/scrape.ts'

const COUNT = 'prospect_pages_http_request_duration_seconds_count'
const PAGES = '/v0/page_groups/{page_group_id}/pages'

t.test('/metrics answers in the text format of Prometheus, without a key', async (t) => {
  const { api } = await openScene({ metrics: createMetrics() })
  const { status, headers, body } = await scraped(api)
  t.equal(status, 200)
  t.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  t.equal(headers['content-length'], String(Buffer.byteLength(body)))
  const { types, value } = scrapeOf(body)
  t.equal(types.get('prospect_pages_http_request_duration_seconds'), 'histogram')
  t.equal(value('prospect_pages_processes'), 1)
  for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes'])
    t.type(value(name), 'number', name)
  t.equal(types.get('nodejs_gc_duration_seconds'), 'histogram')
})

t.test('where nothing is measured the path is as unknown as any', async (t) => {
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

t.test('no caller can make a label: paths and methods that nobody knows share one', async (t) => {
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

t.test('what is under way, what waits, and how long the lists are', async (t) => {
  const { storeAs, letGo } = heldLists()
  const { api, call } = await openScene({ metrics: createMetrics(), storeAs })
  const held = Promise.all(
    ['?limit=1', '?limit=2', '?limit=3'].map((query) => call(`GET /v0/page_groups${query}`)),
  )
  // Once the first list is under way, those that come later wait for the next.
  await someTurns()
  const later = Promise.all(['?limit=4', '?limit=5'].map((query) => call(`GET /v0/page_groups${query}`)))
  await someTurns()
  const operation = 'listPageGroups'
  const during = scrapeOf((await scraped(api)).body)
  t.equal(during.value('prospect_pages_http_requests_in_flight'), 6, 'those five and the scrape')
  t.equal(during.value('prospect_pages_list_queued_calls', { operation }), 2)
  t.equal(during.value('prospect_pages_list_length_sum', { operation }), 3)
  letGo()
  await Promise.all([held, later])
  const after = scrapeOf((await scraped(api)).body)
  t.equal(after.value('prospect_pages_http_requests_in_flight'), 1)
  t.equal(after.value('prospect_pages_list_queued_calls', { operation }), 0)
  t.equal(after.value('prospect_pages_list_length_sum', { operation }), 5)
  t.equal(after.value('prospect_pages_list_length_count', { operation }), 2)
})

/** So many that a call has come to its list. */
const someTurns = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Its body is no JSON, as `call` would have it. */
const scraped = async (api: Api) => {
  const { body, ...answer } = await api({ method: 'GET', target: '/metrics', headers: {} })
  return { ...answer, body: String(body) }
}
