import t from 'tap'
import { metricsRoute } from '../../../src/adapters/http/metrics-route.ts'
import { heldLists, openScene } from '../../support/api.ts'

const LOG = 'POST /v0/prospect_logs'
const GROUPS = 'GET /v0/page_groups'
const activity = { source: 'crm', payload: {} }

/** A scene whose lists of page groups wait until they are let go. */
const heldScene = async (limits: { requestsWaitingMax?: number; requestsAtOnceMax?: number }) => {
  const { storeAs, letGo } = heldLists()
  return { ...(await openScene({ ...limits, storeAs })), letGo }
}

t.test('a tenant that floods is refused when the waiting room is full, and another is served', async (t) => {
  const { call, newTenant, letGo, answered } = await heldScene({
    requestsAtOnceMax: 2,
    requestsWaitingMax: 4,
  })
  const other = await newTenant()
  const flood = Array.from({ length: 20 }, () => call(GROUPS))
  const refused = await Promise.race(flood)
  t.match(refused, { status: 503, headers: { 'retry-after': '1' } })
  const quiet = call(LOG, { json: activity, key: other.apiKey })
  letGo()
  t.equal((await quiet).status, 201)
  const statuses = (await Promise.all(flood)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, 5, 'one made room for the other tenant')
  t.equal(statuses.filter((status) => status === 503).length, 15)
  const admissions = answered.map(({ status, admission }) => `${status} ${admission}`)
  t.equal(admissions.filter((told) => told === '503 refused').length, 15)
  t.ok(admissions.includes('200 waited'))
  t.equal((await call(GROUPS)).status, 200)
})

t.test('requests that wait are answered later, in turns with other tenants', async (t) => {
  const { call, newTenant, letGo, answered } = await heldScene({ requestsAtOnceMax: 4 })
  const other = await newTenant()
  const flood = Array.from({ length: 20 }, () => call(GROUPS))
  const quiet = call(GROUPS, { key: other.apiKey })
  t.equal((await call('GET /healthz')).status, 200, 'what needs no key waits for nobody')
  letGo()
  for (const { status } of await Promise.all([quiet, ...flood])) t.equal(status, 200)
  const place = answered.findIndex(({ tenantId }) => tenantId === other.tenantId)
  t.ok(place > 0 && place < 10, `before most of the flood: ${place}`)
})

t.test('routes without a key wait together; probes do not wait', async (t) => {
  const { promise, resolve: letGo } = Promise.withResolvers<void>()
  let scrapes = 0
  const scrape = async () => {
    scrapes++
    await promise
    return '# EOF'
  }
  const rawRoutes = [metricsRoute(scrape)]
  const { call } = await openScene({ rawRoutes, requestsAtOnceMax: 2, requestsWaitingMax: 4 })
  const flood = Array.from({ length: 10 }, () => call('HEAD /metrics', { key: null }))
  t.match(await flood[9], { status: 503, headers: { 'retry-after': '1' } })
  for (const probe of ['HEAD /healthz', 'HEAD /readyz']) t.equal((await call(probe)).status, 200)
  t.equal((await call(LOG, { json: activity })).status, 201, 'they take no place where others are worked on')
  letGo()
  const statuses = (await Promise.all(flood)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, 4)
  t.ok(scrapes < 4, `${scrapes} scrapes are shared`)
})

t.test('a slow sender does not block other requests', async (t) => {
  const { call } = await openScene({ requestsAtOnceMax: 2 })
  const sent = Promise.withResolvers<Uint8Array>()
  const slow = Array.from({ length: 5 }, () => call(LOG, { json: activity, read: () => sent.promise }))
  t.equal((await call(LOG, { json: activity })).status, 201)
  t.equal((await call(GROUPS)).status, 200)
  sent.resolve(Buffer.from(JSON.stringify(activity)))
  for (const { status } of await Promise.all(slow)) t.equal(status, 201)
})

t.test(
  'all bodies together are bounded, and the tenant that holds most makes room for another',
  async (t) => {
    const { call, newTenant } = await openScene({ bodyBytesHeldMax: 4_500 })
    const other = await newTenant()
    const sent = Promise.withResolvers<Uint8Array>()
    const large = { json: { ...activity, payload: { text: 'x'.repeat(950) } } }
    const flood = Array.from({ length: 5 }, () => call(LOG, { ...large, read: () => sent.promise }))
    t.match(await flood[4], { status: 503, headers: { 'retry-after': '1' }, json: { code: 'unavailable' } })
    t.equal((await call(LOG, { ...large, key: other.apiKey })).status, 201)
    sent.resolve(Buffer.from(JSON.stringify(large.json)))
    const statuses = (await Promise.all(flood)).map(({ status }) => status)
    t.strictSame(statuses, [503, 201, 201, 201, 503])
    t.equal((await call(LOG, large)).status, 201, 'an answered request holds nothing')
  },
)

t.test('a body without a length counts as the largest until it is read', async (t) => {
  const { call } = await openScene({ bodyBytesHeldMax: 25_000_000 })
  const sent = Promise.withResolvers<Uint8Array>()
  const first = call(LOG, { json: activity, chunked: true, read: () => sent.promise })
  t.equal((await call(LOG, { json: activity, chunked: true })).status, 503)
  sent.resolve(Buffer.from(JSON.stringify(activity)))
  t.equal((await first).status, 201)
  t.equal((await call(LOG, { json: activity, chunked: true })).status, 201)
})

t.test('a refused body is released', async (t) => {
  const { call } = await openScene({ bodyBytesHeldMax: 2_000 })
  const large = { body: `{"source":"crm","payload":{"text":"${'x'.repeat(1_500)}"` }
  for (let i = 0; i < 5; i++) t.equal((await call(LOG, large)).status, 400)
})
