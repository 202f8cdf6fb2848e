import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import type { Namer, Store } from '../../../src/core/ports.ts'
import { ATTEMPTS_MAX, publishVersions } from '../../../src/core/publish-versions.ts'
import { addTenant, someClaim, someGroup, somePage } from '../../support/rows.ts'
import { scrapeOf } from '../../support/scrape.ts'
import { stoppedClock } from '../../support/setting.ts'

/** A watched store with as many pages that wait, and their publisher. */
const setting = async (pages: number, namer: Namer | null = null) => {
  const metrics = createMetrics()
  const store = metrics.measured(metrics.counted(memoryStore()))
  const group = someGroup(await addTenant(store))
  await store.pageGroups.add(group)
  await store.pages.record(Array.from({ length: pages }, () => somePage(group)))
  const clock = stoppedClock(Date.now())
  const publish = publishVersions({
    store,
    clock,
    namer: namer && metrics.timed(namer),
    claimMax: 100,
    leaseMs: 1_000,
    onFailedAttempt: metrics.namingFailed,
  })
  const stopping = new AbortController()
  return {
    metrics,
    store,
    clock,
    stopping,
    publish: () => publish(stopping.signal),
    scraped: async () => scrapeOf(await metrics.text()),
  }
}
const OUTCOMES = 'prospect_pages_publisher_attempts_total'
const PROCESSING = 'prospect_pages_versions_processing'

t.test('versions are counted when they are created and when they are published', async (t) => {
  const { publish, scraped } = await setting(3)
  const before = await scraped()
  t.equal(before.value('prospect_pages_versions_created_total'), 3)
  t.equal(before.value(PROCESSING), 3)
  t.equal(before.value(OUTCOMES, { outcome: 'published' }), 0)
  await publish()
  const after = await scraped()
  t.equal(after.value(OUTCOMES, { outcome: 'published' }), 3)
  t.equal(after.value(OUTCOMES), 3)
})

t.test('naming that fails, and attempts that are made again or stopped', async (t) => {
  let failing = () => {}
  const { publish, clock, stopping, scraped } = await setting(1, async () => {
    failing()
    throw new Error('no name')
  })
  for (let attempt = 1; attempt < ATTEMPTS_MAX; attempt++) {
    await publish()
    clock.advance(60_000)
  }
  const failed = await scraped()
  t.equal(failed.value(OUTCOMES, { outcome: 'again' }), ATTEMPTS_MAX - 1)
  t.equal(failed.value('prospect_pages_naming_failures_total'), ATTEMPTS_MAX - 1)
  t.equal(failed.value('prospect_pages_naming_duration_seconds_count'), ATTEMPTS_MAX - 1)
  failing = () => stopping.abort()
  await publish()
  const stopped = await scraped()
  t.equal(stopped.value(OUTCOMES, { outcome: 'stopped' }), 1)
  t.equal(stopped.value('prospect_pages_naming_failures_total'), ATTEMPTS_MAX - 1, 'a stop is no failure')
})

t.test('what a publisher saves too late is not counted', async (t) => {
  const { store, publish, clock, scraped } = await setting(1, async () => {
    const now = new Date(clock() + 60_000).toISOString()
    await store.versions.claim(someClaim({ now }))
    return 'Too late'
  })
  await publish()
  t.equal((await scraped()).value(OUTCOMES), 0)
})

t.test('a version that no attempt came to an end of is counted as failed', async (t) => {
  const { store, publish, scraped } = await setting(1)
  const claim = someClaim({ now: new Date().toISOString(), until: new Date().toISOString() })
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) await store.versions.claim(claim)
  await publish()
  t.equal((await scraped()).value(OUTCOMES, { outcome: 'failed' }), 1)
})

t.test('each verb of the store tells how long it took, and fails as it failed', async (t) => {
  const metrics = createMetrics()
  const inner = memoryStore()
  const why = new Error('away')
  const broken: Store = {
    ...inner,
    tenants: { ...inner.tenants, brands: () => Promise.reject(why) },
  }
  const store = metrics.measured(broken)
  await t.rejects(store.tenants.brands('tenant_x'), why)
  t.equal(await store.apiKeys.isEmpty(), true)
  const { value } = scrapeOf(await metrics.text())
  const COUNT = 'prospect_pages_store_call_duration_seconds_count'
  t.equal(value(COUNT, { verb: 'tenants.brands' }), 1)
  t.equal(value(COUNT, { verb: 'apiKeys.isEmpty' }), 1)
  t.equal(value(COUNT), 2)
})

t.test('what waits is left out while nobody can tell it', async (t) => {
  const metrics = createMetrics()
  metrics.counted({ ...memoryStore(), backlog: () => Promise.reject(new Error('away')) })
  const { all, types } = scrapeOf(await metrics.text())
  t.strictSame(all(PROCESSING), [])
  t.equal(types.get(PROCESSING), 'gauge')
})

t.test('connections and statements of a database', async (t) => {
  const { database, text } = createMetrics()
  database.pool(() => ({ underWay: 7, waiting: 3 }))
  database.statement(4, 'answered')
  database.statement(6_000, 'failed')
  const { value } = scrapeOf(await text())
  t.equal(value('prospect_pages_database_statements_under_way'), 7)
  t.equal(value('prospect_pages_database_statements_waiting'), 3)
  const [SUM, BUCKET] = ['sum', 'bucket'].map(
    (part) => `prospect_pages_database_statement_duration_seconds_${part}`,
  )
  t.equal(value(String(SUM), { outcome: 'failed' }), 6)
  t.equal(value(String(BUCKET), { outcome: 'answered', le: '0.0025' }), 0)
  t.equal(value(String(BUCKET), { outcome: 'answered', le: '0.005' }), 1)
})
