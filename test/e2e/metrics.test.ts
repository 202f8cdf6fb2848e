import t, { type Test } from 'tap'
import { type DatabaseKind, databaseKinds, openServer, startServer, until } from '../support/program.ts'
import { scraped } from '../support/scrape.ts'

t.setTimeout(0)
const COUNT = 'prospect_pages_http_request_duration_seconds_count'
const PAGES = '/v0/page_groups/{page_group_id}/pages'
const setting = async (t: Test, kind: DatabaseKind, more = {}) => openServer(t, await kind.open(t), more)

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)

    t.test('a scrape counts requests, lists, store calls and published versions', async (t) => {
      const { server, call, pagesPath, tenantId, pageGroupId, apiKeyId } = await setting(t, kind)
      for (let page = 0; page < 5; page++) t.equal((await call('POST', pagesPath, {})).status, 201)
      const { value, samples } = await until('they are published', async () => {
        const scrape = await scraped(server)
        return (
          scrape.value('prospect_pages_publisher_attempts_total', { outcome: 'published' }) === 5 && scrape
        )
      })
      t.equal(value(COUNT, { method: 'POST', route: PAGES, status: '201' }), 5)
      t.equal(value('prospect_pages_versions_created_total'), 5)
      t.equal(value('prospect_pages_list_length_sum', { operation: 'pages.record' }), 5)
      t.equal(value('prospect_pages_store_call_duration_seconds_count', { verb: 'pages.record' }), 5)
      const statements = value('prospect_pages_database_statement_duration_seconds_count') ?? 0
      if (kind.name === 'postgres') t.ok(statements > 10)
      else t.equal(statements, 0)
      t.equal(value('prospect_pages_database_statements_waiting'), 0)
      t.equal(value('prospect_pages_naming_failures_total'), 0)
      const labels = JSON.stringify(samples.map(({ labels }) => labels))
      for (const id of [tenantId, pageGroupId, apiKeyId, 'pp_', 'page_0']) t.notOk(labels.includes(id), id)
      t.equal(await server.stop(), 0)
    })
  })

t.test('with METRICS=off the path is not found', async (t) => {
  const server = await startServer(t, { DATABASE_URL: 'memory:', METRICS: 'off' })
  t.equal((await fetch(`${server.url}/metrics`)).status, 404)
})
