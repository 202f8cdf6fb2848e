import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { revokeApiKey } from '../../../src/core/tenants/revoke-api-key.ts'
import { DATABASE_AWAY, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { until } from '../../support/program.ts'
import { passTime } from '../../support/setting.ts'

t.setTimeout(0)

/** A feed whose waiting readers and looks can be counted. */
const openFeed = async (options: Parameters<typeof openScene>[0] = {}) => {
  let listens = false
  let isAway = false
  const looks: string[] = []
  let lastSeen = 0
  const storeAs = (store: Store): Store => ({
    ...store,
    events: {
      ...store.events,
      list: async (want) => {
        looks.push(want.tenantId)
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
  const scene = await openScene({ everyEvent: true, storeAs, ...options })
  const { store, clock, owner, call } = scene
  const log = async (tenant = owner) => {
    await call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {} }, key: tenant.apiKey })
    const now = new Date(clock()).toISOString()
    await store.events.number({ tenantId: tenant.tenantId, now, max: 1_000 })
  }
  /** Readers who wait until they are let go. */
  const ended = new AbortController()
  const wait = async (query = '', key = owner.apiKey, signal = ended.signal) => {
    const headers = { 'x-api-key': key }
    const target = `/v0/events?wait=25${query}`
    const answer = await scene.api({ method: 'GET', target, headers, untilEnd: () => signal })
    return { ...answer, json: JSON.parse(String(answer.body)) }
  }
  const someoneWaits = () => until('someone waits', () => listens)
  const nobodyWaits = () => until('nobody waits', () => !listens)
  /** Lets a second pass as soon as someone waits, after what happens meanwhile was seen. */
  const passSecond = async (t: Test, meanwhile?: () => Promise<void>) => {
    while (!listens) await new Promise(setImmediate)
    const before = lastSeen
    await meanwhile?.()
    // Not just any look: the one at the beginning may have begun before the event.
    while (meanwhile && lastSeen === before) await new Promise(setImmediate)
    await new Promise(setImmediate)
    passTime(t, 1_000)
    mock.timers.tick(1_000)
  }
  const setAway = (away: boolean) => {
    isAway = away
  }
  const letGo = () => ended.abort()
  return { ...scene, log, wait, looks, setAway, passSecond, someoneWaits, nobodyWaits, letGo }
}

t.test('200: events after the cursor are returned at once', async (t) => {
  const { call, log, nobodyWaits } = await openFeed()
  await log()
  t.match((await call('GET /v0/events?wait=25&limit=1')).json, { items: [{ sequence: 1 }], hasMore: true })
  await nobodyWaits()
})

t.test('200: a reader waits for the next event of its types, and its cursor skips the others', async (t) => {
  const { log, wait, newGroup, someoneWaits, nobodyWaits } = await openFeed()
  const any = wait()
  const groups = wait('&types=page_group.created')
  await someoneWaits()
  await log()
  t.match((await any).json, { items: [{ sequence: 1 }, { sequence: 2 }], hasMore: false })
  await newGroup()
  await log()
  t.match((await groups).json, { items: [{ sequence: 3, type: 'page_group.created' }] })
  await nobodyWaits()
})

/** Timers that fire when they are told to. */
const stopTimers = (t: Test) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
}

t.test('200: an empty slice after the wait; HEAD and If-None-Match wait like GET', async (t) => {
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
  t.equal(waited.length, 4, 'the log tells how long')
})

t.test('400: a wait that is not 0 to 25 whole seconds', async (t) => {
  const { call } = await openFeed()
  const errors = [{ detail: 'must be a whole number from 0 to 25', parameter: 'wait' }]
  for (const wait of ['26', '-1', '1.5', '', 'x']) {
    const answer = await call(`GET /v0/events?wait=${wait}`)
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }), wait)
  }
})

t.test('503: at most 100 readers of a tenant wait, and they hold no slot', async (t) => {
  const { call, log, wait, newTenant, nobodyWaits } = await openFeed({
    requestsAtOnceMax: 2,
    requestsWaitingMax: 110,
  })
  const readers = Array.from({ length: 101 }, () => wait())
  const refused = await Promise.race(readers)
  t.match(refused, { status: 503, headers: { 'retry-after': '1' }, json: { code: 'unavailable' } })
  const other = await newTenant()
  const theirs = wait('', other.apiKey)
  const groups = await Promise.all(Array.from({ length: 110 }, () => call('GET /v0/page_groups')))
  t.ok(groups.every(({ status }) => status === 200))
  await log()
  const answers = await Promise.all(readers)
  t.equal(answers.filter(({ json }) => json.items?.length === 2).length, 100)
  await log(other)
  t.match((await theirs).json, { items: [{ sequence: 1 }, { sequence: 2 }] })
  await nobodyWaits()
})

t.test('readers who wait for the same events share a query and a read', async (t) => {
  const { log, wait, looks, someoneWaits, nobodyWaits } = await openFeed()
  const readers = Array.from({ length: 50 }, () => wait())
  await someoneWaits()
  await log()
  for (const { json } of await Promise.all(readers)) t.equal(json.items.length, 2)
  t.ok(looks.length < 10, `${looks.length} looks`)
  await nobodyWaits()
})

t.test('503: at most 1,000 readers wait in a process', async (t) => {
  const { wait, newTenant, letGo, nobodyWaits } = await openFeed()
  const tenants = await Promise.all(Array.from({ length: 11 }, newTenant))
  const readers = tenants.flatMap(({ apiKey }) => Array.from({ length: 91 }, () => wait('', apiKey)))
  t.equal((await Promise.race(readers)).status, 503)
  letGo()
  const answers = await Promise.all(readers)
  t.equal(answers.filter(({ status }) => status === 503).length, 1)
  t.match(answers.find(({ status }) => status === 200)?.json, { items: [], hasMore: false })
  await nobodyWaits()
})

t.test('429 and 403: the limit and the scope are checked before the wait', async (t) => {
  const { wait, keyWith, letGo } = await openFeed({ rateLimitPerMinute: 1 })
  t.equal((await wait('', await keyWith('pages:read'))).status, 403)
  letGo()
  t.equal((await wait()).status, 200)
  t.equal((await wait()).status, 429)
})

t.test('401: a key that was revoked during the wait gets no event', async (t) => {
  const { wait, log, keyFor, store, clock, someoneWaits, nobodyWaits } = await openFeed()
  const { apiKey, apiKeyId } = await keyFor(3_600_000)
  const reader = wait('', apiKey)
  await someoneWaits()
  await revokeApiKey({ store, clock })(apiKeyId)
  passTime(t, 1_100)
  await log()
  t.match(await reader, { status: 401, json: { code: 'invalid_api_key', items: undefined } })
  await nobodyWaits()
})

t.test('503: the database went away during the wait', async (t) => {
  const { wait, log, setAway, someoneWaits, nobodyWaits } = await openFeed()
  const first = wait()
  await someoneWaits()
  setAway(true)
  await log()
  t.match(await first, { status: 503, json: { detail: 'The database is away.' } })
  await nobodyWaits()
  setAway(false)
  const second = wait('&cursor=latest')
  await someoneWaits()
  await log()
  t.match((await second).json, { items: [{ sequence: 3 }, { sequence: 4 }] })
})

t.test('the wait does not count in the duration of a request', async (t) => {
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
