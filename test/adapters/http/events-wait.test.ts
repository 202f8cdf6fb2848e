import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { revokeApiKey } from '../../../src/core/tenants/revoke-api-key.ts'
import { DATABASE_AWAY, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { until } from '../../support/program.ts'
import { passTime } from '../../support/setting.ts'

t.setTimeout(0)

/** A wrapper of a store that records the reads of its feed, and whether readers wait for events. */
const watchedFeed = () => {
  let listens = false
  let isAway = false
  let lastSeen = 0
  /** The tenant of each read. */
  const reads: string[] = []
  const storeAs = (store: Store): Store => ({
    ...store,
    events: {
      ...store.events,
      list: async (want) => {
        reads.push(want.tenantId)
        if (isAway) throw DATABASE_AWAY
        const slice = await store.events.list(want)
        lastSeen = Math.max(lastSeen, slice.rows.at(-1)?.sequence ?? 0)
        return slice
      },
    },
    watch: (listener) => {
      const remove = store.watch(listener)
      listens = true
      return () => {
        listens = false
        remove()
      }
    },
  })
  const setAway = (away: boolean) => {
    isAway = away
  }
  return { storeAs, reads, setAway, listens: () => listens, lastSeen: () => lastSeen }
}

const openFeed = async (options: Parameters<typeof openScene>[0] = {}) => {
  const { storeAs, reads, setAway, listens, lastSeen } = watchedFeed()
  const scene = await openScene({ everyEvent: true, storeAs, ...options })
  const { store, clock, owner, call } = scene
  const log = async (tenant = owner) => {
    await call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {} }, key: tenant.apiKey })
    const now = new Date(clock()).toISOString()
    await store.events.number({ tenantId: tenant.tenantId, now, max: 1_000 })
  }
  /** Ends the waits of all readers. */
  const ended = new AbortController()
  const wait = async (query = '', key = owner.apiKey, signal = ended.signal) => {
    const headers = { 'x-api-key': key }
    const target = `/v0/events?wait=25${query}`
    const answer = await scene.api({ method: 'GET', target, headers, untilEnd: () => signal })
    return { ...answer, json: JSON.parse(String(answer.body)) }
  }
  const readersWait = () => until('a reader waits', listens)
  const noReaderWaits = () => until('no reader waits', () => !listens())
  /** Lets a second pass once a reader waits and has seen what `meanwhile` does. */
  const passSecond = async (t: Test, meanwhile?: () => Promise<void>) => {
    while (!listens()) await new Promise(setImmediate)
    const before = lastSeen()
    await meanwhile?.()
    // A read that began before the event does not count, so wait until the event was seen.
    while (meanwhile && lastSeen() === before) await new Promise(setImmediate)
    await new Promise(setImmediate)
    passTime(t, 1_000)
    mock.timers.tick(1_000)
  }
  const endWaits = () => ended.abort()
  return { ...scene, log, wait, reads, setAway, passSecond, readersWait, noReaderWaits, endWaits }
}

t.test('200: events after the cursor are returned at once', async (t) => {
  const { call, log, noReaderWaits } = await openFeed()
  await log()
  t.match((await call('GET /v0/events?wait=25&limit=1')).json, { items: [{ sequence: 1 }], hasMore: true })
  await noReaderWaits()
})

t.test('200: a reader waits for the next event of its types, and its cursor skips the others', async (t) => {
  const { log, wait, newGroup, readersWait, noReaderWaits } = await openFeed()
  const any = wait()
  const groups = wait('&types=page_group.created')
  await readersWait()
  await log()
  t.match((await any).json, { items: [{ sequence: 1 }, { sequence: 2 }], hasMore: false })
  await newGroup()
  await log()
  t.match((await groups).json, { items: [{ sequence: 3, type: 'page_group.created' }] })
  await noReaderWaits()
})

/** Makes timers fire only when the test ticks. */
const stopTimers = (t: Test) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
}

t.test('200: a wait without events ends with an empty slice, also for HEAD and If-None-Match', async (t) => {
  stopTimers(t)
  const { call, log, answered, passSecond } = await openFeed()
  const cursor = async () => (await call('GET /v0/events?cursor=latest')).json['nextCursor']
  const before = await cursor()
  const query = `cursor=${before}&wait=1&types=page.deleted`
  const ask = async (operation: string, headers = {}, meanwhile?: () => Promise<void>) => {
    const answer = call(operation, { headers })
    await passSecond(t, meanwhile)
    return answer
  }
  const empty = await ask(`GET /v0/events?${query}`)
  t.match(empty.json, { items: [], hasMore: false, nextCursor: before })
  const head = await ask(`HEAD /v0/events?${query}`)
  t.match(head, { status: 200, body: '', headers: { 'content-length': /^\d+$/ } })
  const known = await ask(`GET /v0/events?${query}`, { 'if-none-match': `${empty.headers['etag']}` })
  t.match(known, { status: 304, body: '' })
  const later = await ask(`GET /v0/events?${query}`, {}, log)
  t.strictSame(later.json, { items: [], hasMore: false, nextCursor: await cursor() })
  const waited = answered.filter(({ waitedMs = 0, ms }) => waitedMs >= 1_000 && waitedMs <= ms)
  t.equal(waited.length, 4, 'the log has the time of each wait')
})

t.test('400: a wait must be 0 to 25 whole seconds', async (t) => {
  const { call } = await openFeed()
  const errors = [{ detail: 'must be a whole number from 0 to 25', parameter: 'wait' }]
  for (const wait of ['26', '-1', '1.5', '', 'x']) {
    const answer = await call(`GET /v0/events?wait=${wait}`)
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }), wait)
  }
})

t.test('503: at most 100 readers of a tenant wait, and they take no place from other requests', async (t) => {
  const { call, log, wait, newTenant, noReaderWaits } = await openFeed({
    requestsAtOnceMax: 2,
    requestsWaitingMax: 110,
  })
  const readers = Array.from({ length: 101 }, () => wait())
  const refused = await Promise.race(readers)
  t.match(refused, { status: 503, headers: { 'retry-after': '1' }, json: { code: 'unavailable' } })
  const other = await newTenant()
  const readerOfOther = wait('', other.apiKey)
  const groups = await Promise.all(Array.from({ length: 110 }, () => call('GET /v0/page_groups')))
  t.ok(groups.every(({ status }) => status === 200))
  await log()
  const answers = await Promise.all(readers)
  t.equal(answers.filter(({ json }) => json.items?.length === 2).length, 100)
  await log(other)
  t.match((await readerOfOther).json, { items: [{ sequence: 1 }, { sequence: 2 }] })
  await noReaderWaits()
})

t.test('readers that wait for the same events share their reads', async (t) => {
  const { log, wait, reads, readersWait, noReaderWaits } = await openFeed()
  const readers = Array.from({ length: 50 }, () => wait())
  await readersWait()
  await log()
  for (const { json } of await Promise.all(readers)) t.equal(json.items.length, 2)
  t.ok(reads.length < 10, `${reads.length} reads`)
  await noReaderWaits()
})

t.test('503: at most 1,000 readers wait in a process', async (t) => {
  const { wait, newTenant, endWaits, noReaderWaits } = await openFeed()
  const tenants = await Promise.all(Array.from({ length: 11 }, newTenant))
  const readers = tenants.flatMap(({ apiKey }) => Array.from({ length: 91 }, () => wait('', apiKey)))
  t.equal((await Promise.race(readers)).status, 503)
  endWaits()
  const answers = await Promise.all(readers)
  t.equal(answers.filter(({ status }) => status === 503).length, 1)
  t.match(answers.find(({ status }) => status === 200)?.json, { items: [], hasMore: false })
  await noReaderWaits()
})

t.test('429 and 403: the limit and the scope are checked before the wait', async (t) => {
  const { wait, keyWith, endWaits } = await openFeed({ rateLimitPerMinute: 1 })
  t.equal((await wait('', await keyWith('pages:read'))).status, 403)
  endWaits()
  t.equal((await wait()).status, 200)
  t.equal((await wait()).status, 429)
})

t.test('401: a key that is revoked during the wait gets no event', async (t) => {
  const { wait, log, keyFor, store, clock, readersWait, noReaderWaits } = await openFeed()
  const { apiKey, apiKeyId } = await keyFor(3_600_000)
  const reader = wait('', apiKey)
  await readersWait()
  await revokeApiKey({ store, clock })(apiKeyId)
  passTime(t, 1_100)
  await log()
  t.match(await reader, { status: 401, json: { code: 'invalid_api_key', items: undefined } })
  await noReaderWaits()
})

t.test('503: a reader is refused if the database goes away during the wait', async (t) => {
  const { wait, log, setAway, readersWait, noReaderWaits } = await openFeed()
  const first = wait()
  await readersWait()
  setAway(true)
  await log()
  t.match(await first, { status: 503, json: { detail: 'The database is away.' } })
  await noReaderWaits()
  setAway(false)
  const second = wait('&cursor=latest')
  await readersWait()
  await log()
  t.match((await second).json, { items: [{ sequence: 3 }, { sequence: 4 }] })
})

t.test('the wait is not part of the measured duration of a request', async (t) => {
  stopTimers(t)
  const metrics = createMetrics()
  const { call, answered, passSecond } = await openFeed({ metrics })
  const answer = call('GET /v0/events?wait=1')
  await passSecond(t)
  await answer
  const [{ ms = 0, waitedMs = 0 } = {}] = answered
  const line = /^prospect_pages_http_request_duration_seconds_sum\{.*route="\/v0\/events".*\} (.*)$/m
  t.equal(Number(line.exec(await metrics.text())?.[1]), (ms - waitedMs) / 1_000)
  t.ok(waitedMs >= 1_000)
})
