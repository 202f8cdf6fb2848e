import t from 'tap'
import { createAggregate } from '../../../src/adapters/metrics/aggregate.ts'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import { scrapeOf } from '../../support/scrape.ts'

const COUNT = 'prospect_pages_http_request_duration_seconds_count'
const BUCKET = 'prospect_pages_http_request_duration_seconds_bucket'
const IN_FLIGHT = 'prospect_pages_http_requests_in_flight'
const PROCESSING = 'prospect_pages_versions_processing'

/** The report, as a message carries it, of a process that has answered so many requests and works on one more. */
const reportOf = async (requests: number) => {
  const metrics = createMetrics()
  for (let asked = 0; asked <= requests; asked++) metrics.asked()
  const answered = { method: 'GET', route: '/healthz', status: 200, ms: 3 }
  for (let count = 0; count < requests; count++) metrics.answered(answered)
  return JSON.parse(JSON.stringify(await metrics.report()))
}
const scraped = async ({ text }: ReturnType<typeof createAggregate>) => scrapeOf(await text())

t.test('counters, histograms and gauges of several processes are added up', async (t) => {
  const aggregate = createAggregate()
  aggregate.report(1, await reportOf(2))
  aggregate.report(2, await reportOf(5))
  const { value, types } = await scraped(aggregate)
  t.equal(value(COUNT, { route: '/healthz' }), 7)
  t.equal(value(BUCKET, { le: '0.0025' }), 0)
  t.equal(value(BUCKET, { le: '0.005' }), 7)
  t.equal(value(IN_FLIGHT), 2)
  t.equal(value('prospect_pages_processes'), 2)
  t.equal(types.get('prospect_pages_http_request_duration_seconds'), 'histogram')
})

t.test('a report replaces the last one of its process', async (t) => {
  const aggregate = createAggregate()
  aggregate.report(1, await reportOf(2))
  aggregate.report(1, await reportOf(3))
  t.equal((await scraped(aggregate)).value(COUNT), 3)
})

t.test('the backlog of the database is the same for all, and not added up', async (t) => {
  const aggregate = createAggregate()
  const backlog = (value: number) => [
    { name: PROCESSING, help: 'Backlog.', type: 'gauge', aggregator: 'max', values: [{ value, labels: {} }] },
  ]
  aggregate.report(1, backlog(3))
  aggregate.report(2, backlog(4))
  t.equal((await scraped(aggregate)).value(PROCESSING), 4)
})

t.test('the counters of a process that exits are kept, its gauges dropped', async (t) => {
  const aggregate = createAggregate()
  aggregate.report(1, await reportOf(2))
  for (const processId of [2, 3, 4]) {
    aggregate.report(processId, await reportOf(5))
    aggregate.exit(processId)
  }
  const { value } = await scraped(aggregate)
  t.equal(value(COUNT), 17)
  t.equal(value(BUCKET, { le: '+Inf' }), 17)
  t.equal(value(IN_FLIGHT), 1)
  t.equal(value('prospect_pages_processes'), 1)
})

t.test('a process that does not respond is not counted until it responds again', async (t) => {
  const aggregate = createAggregate()
  for (const processId of [1, 2]) aggregate.report(processId, await reportOf(2))
  aggregate.silent(2)
  const { value } = await scraped(aggregate)
  t.equal(value(COUNT), 4)
  t.equal(value('prospect_pages_processes'), 1)
  aggregate.report(2, await reportOf(3))
  t.equal((await scraped(aggregate)).value('prospect_pages_processes'), 2)
})

t.test('a process that exits before its first report adds nothing', async (t) => {
  const aggregate = createAggregate()
  aggregate.exit(7)
  t.strictSame((await scraped(aggregate)).samples, [])
})

t.test('a report that arrives after the exit of its process is ignored', async (t) => {
  const aggregate = createAggregate()
  aggregate.report(1, await reportOf(2))
  aggregate.exit(1)
  aggregate.report(1, await reportOf(3))
  t.equal((await scraped(aggregate)).value(COUNT), 2)
})
