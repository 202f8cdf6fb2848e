import t from 'tap'
import { heldLists, openScene } from '../../support/api.ts'

const LOG = 'POST /v0/prospect_logs'
const GROUPS = 'GET /v0/page_groups'
const activity = { source: 'crm', payload: {} }

/** A scene whose lists of page groups wait until they are let go. */
const heldScene = async (limits: { requestsInFlightMax?: number; requestsAtOnceMax?: number }) => {
  const { storeAs, letGo } = heldLists()
  return { ...(await openScene({ ...limits, storeAs })), letGo }
}

t.test('a tenant that floods is refused past its share, and another is served', async (t) => {
  const { call, newTenant, letGo } = await heldScene({ requestsInFlightMax: 8 })
  const other = await newTenant()
  const flood = Array.from({ length: 20 }, () => call(GROUPS))
  const refused = await Promise.race(flood)
  t.match(refused, { status: 503, headers: { 'retry-after': '1' } })
  const quiet = call(GROUPS, { key: other.apiKey })
  t.equal((await call(LOG, { json: activity, key: other.apiKey })).status, 201)
  letGo()
  t.equal((await quiet).status, 200)
  const statuses = (await Promise.all(flood)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, 4)
  t.equal(statuses.filter((status) => status === 503).length, 16)
  t.equal((await call(GROUPS)).status, 200)
})

t.test('what is not worked on yet waits, is answered later, and nobody else waits for it', async (t) => {
  const { call, newTenant, letGo } = await heldScene({ requestsAtOnceMax: 4 })
  const other = await newTenant()
  const flood = Array.from({ length: 20 }, () => call(GROUPS))
  t.equal((await call(LOG, { json: activity, key: other.apiKey })).status, 201)
  t.equal((await call('GET /healthz')).status, 200)
  letGo()
  for (const { status } of await Promise.all(flood)) t.equal(status, 200)
})

t.test('who sends a body slowly keeps nobody from being worked on', async (t) => {
  const { call } = await openScene({ requestsAtOnceMax: 2 })
  const sent = Promise.withResolvers<Uint8Array>()
  const slow = Array.from({ length: 5 }, () => call(LOG, { json: activity, readBody: () => sent.promise }))
  t.equal((await call(LOG, { json: activity })).status, 201)
  t.equal((await call(GROUPS)).status, 200)
  sent.resolve(Buffer.from(JSON.stringify(activity)))
  for (const { status } of await Promise.all(slow)) t.equal(status, 201)
})

t.test('bodies are held up to a bound, divided between the tenants', async (t) => {
  const { call, newTenant } = await openScene({ bodyBytesHeldMax: 4_000 })
  const other = await newTenant()
  const large = { json: { ...activity, payload: { text: 'x'.repeat(1_000) } } }
  const answers = await Promise.all([
    ...Array.from({ length: 5 }, () => call(LOG, large)),
    call(LOG, { ...large, key: other.apiKey }),
  ])
  t.strictSame(
    answers.map(({ status }) => status),
    [201, 201, 503, 503, 503, 201],
  )
  t.match(answers[2], { headers: { 'retry-after': '1' }, json: { code: 'unavailable' } })
  t.equal((await call(LOG, large)).status, 201, 'what is answered is held no more')
})

t.test('what was read of a body that is refused is held no more', async (t) => {
  const { call } = await openScene({ bodyBytesHeldMax: 2_000 })
  const large = { body: `{"source":"crm","payload":{"text":"${'x'.repeat(1_500)}"` }
  for (let i = 0; i < 5; i++) t.equal((await call(LOG, large)).status, 400)
})
