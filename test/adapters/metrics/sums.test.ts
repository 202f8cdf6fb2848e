import t from 'tap'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import { createSums } from '../../../src/adapters/metrics/sums.ts'
import { scrapeOf } from '../../support/scrape.ts'

const COUNT = 'prospect_pages_http_request_duration_seconds_count'
const BUCKET = 'prospect_pages_http_request_duration_seconds_bucket'
const IN_FLIGHT = 'prospect_pages_http_requests_in_flight'
const PROCESSING = 'prospect_pages_versions_processing'

/** The figures of a process that has answered so many requests and works on one more; as they come by a message. */
const figuresOf = async (requests: number) => {
  const metrics = createMetrics()
  for (let asked = 0; asked <= requests; asked++) metrics.asked()
  const answered = { method: 'GET', route: '/healthz', status: 200, ms: 3 }
  for (let count = 0; count < requests; count++) metrics.answered(answered)
  return JSON.parse(JSON.stringify(await metrics.figures()))
}
const scraped = async ({ text }: ReturnType<typeof createSums>) => scrapeOf(await text())

t.test('several processes are one: counters, histograms and what is under way are added up', async (t) => {
  const sums = createSums()
  sums.told(1, await figuresOf(2))
  sums.told(2, await figuresOf(5))
  const { value, types } = await scraped(sums)
  t.equal(value(COUNT, { route: '/healthz' }), 7)
  t.equal(value(BUCKET, { le: '0.0025' }), 0)
  t.equal(value(BUCKET, { le: '0.005' }), 7)
  t.equal(value(IN_FLIGHT), 2)
  t.equal(value('prospect_pages_processes'), 2)
  t.equal(types.get('prospect_pages_http_request_duration_seconds'), 'histogram')
})

t.test('what is told later takes the place of what was told before', async (t) => {
  const sums = createSums()
  sums.told(1, await figuresOf(2))
  sums.told(1, await figuresOf(3))
  t.equal((await scraped(sums)).value(COUNT), 3)
})

t.test('what waits in the database is the same for all, and not added up', async (t) => {
  const sums = createSums()
  const waiting = (value: number) => [
    { name: PROCESSING, help: 'Waiting.', type: 'gauge', aggregator: 'max', values: [{ value, labels: {} }] },
  ]
  sums.told(1, waiting(3))
  sums.told(2, waiting(4))
  t.equal((await scraped(sums)).value(PROCESSING), 4)
})

t.test('of a process that has ended the counters stay, and what it held goes', async (t) => {
  const sums = createSums()
  sums.told(1, await figuresOf(2))
  for (const process of [2, 3, 4]) {
    sums.told(process, await figuresOf(5))
    sums.ended(process)
  }
  const { value } = await scraped(sums)
  t.equal(value(COUNT), 17)
  t.equal(value(BUCKET, { le: '+Inf' }), 17)
  t.equal(value(IN_FLIGHT), 1)
  t.equal(value('prospect_pages_processes'), 1)
})

t.test('a process that ended before it told anything is none', async (t) => {
  const sums = createSums()
  sums.ended(7)
  t.strictSame((await scraped(sums)).samples, [])
})

t.test('a report that arrives after the exit of its process is ignored', async (t) => {
  const sums = createSums()
  sums.told(1, await figuresOf(2))
  sums.ended(1)
  sums.told(1, await figuresOf(3))
  t.equal((await scraped(sums)).value(COUNT), 2)
})
