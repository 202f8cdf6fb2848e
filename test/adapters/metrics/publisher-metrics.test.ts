import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import { cachedBacklog } from '../../../src/adapters/metrics/publisher-metrics.ts'
import { createVersion } from '../../../src/core/pages/create-version.ts'
import { namePatiently } from '../../../src/core/pages/name-patiently.ts'
import { ATTEMPTS_MAX } from '../../../src/core/pages/name-version.ts'
import { publishVersions } from '../../../src/core/pages/publish-versions.ts'
import type { NewPageRow } from '../../../src/core/ports/pages.ts'
import type { Namer } from '../../../src/core/ports/versions.ts'
import { addTenant, at, someClaim, someGroup, somePage } from '../../support/rows.ts'
import { scrapeOf } from '../../support/scrape.ts'
import { countedIds, stoppedClock } from '../../support/setting.ts'

const PATIENCE_MS = 10_000

/** A measured store with this many unpublished pages, and their publisher. */
const setUp = async (pages: number, namer: Namer | null = null) => {
  const metrics = createMetrics()
  const store = metrics.measured(memoryStore())
  const group = someGroup(await addTenant(store))
  await store.pageGroups.add(group)
  const rows = Array.from({ length: pages }, () => somePage(group))
  for (const row of rows) await store.pages.record(row)
  const clock = stoppedClock(Date.now())
  /** Retries at once, but never ends a call. */
  const sleep = (ms: number) => (ms < PATIENCE_MS ? Promise.resolve() : new Promise<void>(() => {}))
  const patient = (namer: Namer) =>
    namePatiently({ namer, patienceMs: PATIENCE_MS, sleep, onFailedAttempt: metrics.namingFailed })
  const publish = publishVersions({
    store,
    clock,
    newId: countedIds(),
    namer: namer && patient(metrics.timedNamer(namer)),
    claimMax: 100,
    leaseMs: 1_000,
  })
  const stopping = new AbortController()
  return {
    store,
    rows,
    clock,
    stopping,
    publish: () => publish(stopping.signal),
    scraped: async () => scrapeOf(await metrics.text()),
  }
}
const OUTCOMES = 'prospect_pages_publisher_attempts_total'
const READY = 'prospect_pages_database_ready'
const PROCESSING = 'prospect_pages_versions_processing'

t.test('versions are counted when they are created and when they are published', async (t) => {
  const { store, rows, clock, publish, scraped } = await setUp(3)
  const before = await scraped()
  t.equal(before.value('prospect_pages_versions_created_total'), 3)
  t.equal(before.value(PROCESSING), 3)
  t.equal(before.value(OUTCOMES, { outcome: 'published' }), 0)
  await publish()
  const after = await scraped()
  t.equal(after.value(OUTCOMES, { outcome: 'published' }), 3)
  t.equal(after.value(OUTCOMES), 3)
  const { tenantId, pageGroupId, pageId } = rows[0] as NewPageRow
  const want = { tenantId, pageGroupId, pageId, publish: true }
  await createVersion({ store, clock, newId: countedIds() })(want)
  t.equal((await scraped()).value('prospect_pages_versions_created_total'), 4)
})

t.test('each failed call to the namer is counted', async (t) => {
  const { publish, scraped } = await setUp(1, async () => {
    throw new Error('no name')
  })
  await publish()
  const { value } = await scraped()
  t.equal(value(OUTCOMES, { outcome: 'published' }), 1)
  t.equal(value('prospect_pages_naming_failures_total'), 5)
  t.equal(value('prospect_pages_naming_duration_seconds_count'), 5)
})

t.test('an attempt that was stopped is counted, but is no failure', async (t) => {
  const { publish, stopping, scraped } = await setUp(1, async () => {
    stopping.abort()
    throw new Error('stopped')
  })
  await publish()
  const { value } = await scraped()
  t.equal(value(OUTCOMES, { outcome: 'stopped' }), 1)
  t.equal(value('prospect_pages_naming_failures_total'), 0)
})

t.test('what a publisher saves too late is not counted', async (t) => {
  const { store, publish, clock, scraped } = await setUp(1, async () => {
    const now = new Date(clock() + 60_000).toISOString()
    await store.versions.claim(someClaim({ now }))
    return 'Too late'
  })
  await publish()
  t.equal((await scraped()).value(OUTCOMES), 0)
})

t.test('a version whose attempts were all abandoned is counted as failed', async (t) => {
  const { store, clock, publish, scraped } = await setUp(1)
  const now = new Date(clock()).toISOString()
  const claim = someClaim({ now, until: now })
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) await store.versions.claim(claim)
  await publish()
  t.equal((await scraped()).value(OUTCOMES, { outcome: 'failed' }), 1)
})

t.test('the backlog is left out while it is not known', async (t) => {
  const metrics = createMetrics()
  const store = memoryStore()
  const backlog = () => Promise.reject(new Error('away'))
  metrics.measured({ ...store, versions: { ...store.versions, backlog } })
  const { all, types } = scrapeOf(await metrics.text())
  t.strictSame(all(PROCESSING), [])
  t.equal(types.get(PROCESSING), 'gauge')
})

/** The backlog of a database that answers like this, and the bounds that it was asked with. */
const backlogSetting = (answer: () => Promise<{ count: number; oldest: string | null }>) => {
  const clock = stoppedClock()
  const stopwatch = stoppedClock(0)
  const bounds: number[] = []
  const read = (countMax: number) => {
    bounds.push(countMax)
    return answer()
  }
  return { clock, stopwatch, bounds, backlog: cachedBacklog(read, clock, stopwatch) }
}

t.test('the database is asked for the backlog once in five seconds, up to a bound', async (t) => {
  const { clock, stopwatch, bounds, backlog } = backlogSetting(async () => ({ count: 3, oldest: at(-7_000) }))
  t.strictSame(await backlog(), { count: 3, oldestAgeS: 7 })
  clock.advance(2_000)
  stopwatch.advance(4_999)
  t.strictSame(await Promise.all([backlog(), backlog()]), Array(2).fill({ count: 3, oldestAgeS: 9 }))
  t.strictSame(bounds, [1_000])
  stopwatch.advance(1)
  await backlog()
  t.strictSame(bounds, [1_000, 1_000])
})

t.test('without a backlog its age is 0, and it is never negative', async (t) => {
  const empty = backlogSetting(async () => ({ count: 0, oldest: null }))
  t.strictSame(await empty.backlog(), { count: 0, oldestAgeS: 0 })
  const fromTheFuture = backlogSetting(async () => ({ count: 1, oldest: at(60_000) }))
  t.strictSame(await fromTheFuture.backlog(), { count: 1, oldestAgeS: 0 })
})

t.test('a database that cannot answer is asked again after five seconds', async (t) => {
  let isAway = true
  const { stopwatch, bounds, backlog } = backlogSetting(() =>
    isAway ? Promise.reject(new Error('away')) : Promise.resolve({ count: 0, oldest: null }),
  )
  t.equal(await backlog(), null)
  t.equal(await backlog(), null)
  t.equal(bounds.length, 1)
  isAway = false
  stopwatch.advance(5_000)
  t.strictSame(await backlog(), { count: 0, oldestAgeS: 0 })
})

t.test('a database that never answers is not asked again, and does not delay a scrape', async (t) => {
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  const { stopwatch, bounds, backlog } = backlogSetting(() => new Promise(() => {}))
  const first = backlog()
  stopwatch.advance(5_000)
  t.strictSame(await Promise.all([first, backlog()]), [null, null])
  t.equal(bounds.length, 1)
})

t.test('whether the database can be used is known without traffic, even if it hangs', async (t) => {
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  const answers = [async () => {}, () => Promise.reject(new Error('away')), () => new Promise<void>(() => {})]
  const scrapes = answers.map((ready) => {
    const metrics = createMetrics()
    metrics.measured({ ...memoryStore(), ready })
    return metrics.text()
  })
  const values = (await Promise.all(scrapes)).map((text) => scrapeOf(text).value(READY))
  t.strictSame(values, [1, 0, 0])
})

t.test('a pause of deleting shows until a round that deletes', async (t) => {
  const metrics = createMetrics()
  const { erasures } = metrics.measured(memoryStore())
  for (const pausedAt of [null, at(1), null]) {
    await erasures.saveClock({ servedAt: at(0), pausedAt })
    const { value } = scrapeOf(await metrics.text())
    t.equal(value('prospect_pages_retention_paused'), pausedAt === null ? 0 : 1)
  }
})
