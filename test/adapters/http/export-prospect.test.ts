import t from 'tap'
import { isWhole } from '../../../src/adapters/http/requests.ts'
import { eraseProspects } from '../../../src/core/erasures/erase-prospects.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { revokeApiKey } from '../../../src/core/tenants/revoke-api-key.ts'
import { suspendTenant } from '../../../src/core/tenants/suspend-tenant.ts'
import { DATABASE_AWAY, openScene } from '../../support/api.ts'
import { recordAll, someProspect } from '../../support/rows.ts'

const LOG = 'POST /v0/prospect_logs'
/** Two slices, by the bytes of their payloads. */
const LARGE = 'x'.repeat(400_000)

/** A scene with three large activities of Ada, whose timeline can fail or wait. */
const setUp = async (options: Parameters<typeof openScene>[0] = {}) => {
  const before = { slice: async () => {} }
  let slices = 0
  const storeAs = (store: Store): Store => ({
    ...store,
    prospectLogs: {
      ...store.prospectLogs,
      timeline: async (want) => {
        slices++
        await before.slice()
        return store.prospectLogs.timeline(want)
      },
    },
  })
  const scene = await openScene({ storeAs, ...options })
  const { call } = scene
  const log = async (fields: object, key?: string) =>
    (await call(LOG, { json: { source: 'crm', payload: {}, ...fields }, ...(key && { key }) })).json
  const { prospectId } = await log({ email: 'ada@x', name: 'Ada', payload: { LARGE, n: 0 } })
  for (const n of [1, 2]) await log({ email: 'ada@x', payload: { LARGE, n } })
  const path = `/v0/prospects/${prospectId}/export`
  const open = async (key = scene.owner.apiKey) => {
    const answer = await scene.api({ method: 'GET', target: path, headers: { 'x-api-key': key } })
    if (isWhole(answer.body)) throw new Error('an answer in parts was expected')
    const { parts } = answer.body
    return { ...answer, parts, next: () => parts.next() }
  }
  return { ...scene, log, prospectId, path, open, before, slices: () => slices }
}
type Scene = Awaited<ReturnType<typeof setUp>>
const linesIn = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

t.test('200: the prospect, its activities newest first, and a last line', async (t) => {
  const { call, path, prospectId, log } = await setUp()
  await log({ email: 'bob@x' })
  const answer = await call(`GET ${path}`)
  t.match(answer, {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
  })
  t.notOk('content-length' in answer.headers || 'etag' in answer.headers)
  const [first, ...rest] = linesIn(answer.body)
  t.strictSame(first, { prospect: (await call(`GET /v0/prospects/${prospectId}`)).json })
  t.strictSame(
    rest.map(({ prospectLog }) => prospectLog?.payload.n),
    [2, 1, 0, undefined],
  )
  const { items } = (await call(`GET /v0/prospects/${prospectId}/prospect_logs?limit=1`)).json as {
    items: object[]
  }
  t.strictSame(rest[0], { prospectLog: items[0] })
  t.strictSame(rest.at(-1), { done: true, logs: 3 })
})

t.test('200: a payload is on one line and otherwise unchanged; one activity gives three lines', async (t) => {
  const { call } = await openScene()
  const body = '{"source":"crm","payload":{ "n":12345678901234567890,\n"a":1,"a":2 }}'
  const { prospectId } = (await call(LOG, { body })).json
  const { body: text } = await call(`GET /v0/prospects/${prospectId}/export`)
  t.ok(text.includes('"payload":{ "n":12345678901234567890, "a":1,"a":2 },'))
  t.equal(linesIn(text).length, 3)
})

t.test('HEAD reads no activity', async (t) => {
  const { call, path, slices } = await setUp()
  t.match(await call(`HEAD ${path}`), {
    status: 200,
    body: '',
    headers: { 'content-type': 'application/x-ndjson' },
  })
  t.equal(slices(), 0)
})

t.test('200: an erased person’s export has the erasure, before and after it is completed', async (t) => {
  const { call, path, prospectId, store, clock } = await setUp()
  const { erasureId } = (await call('POST /v0/erasures', { json: { prospectId } })).json
  const shown = async () => [
    { erasure: (await call(`GET /v0/erasures/${erasureId}`)).json },
    { done: true, logs: 0 },
  ]
  t.match((await shown())[0], { erasure: { status: 'processing' } })
  t.strictSame(linesIn((await call(`GET ${path}`)).body), await shown())
  const step = eraseProspects({ store, clock })
  while (await step(new AbortController().signal));
  t.match((await shown())[0], { erasure: { status: 'completed' } })
  t.strictSame(linesIn((await call(`GET ${path}`)).body), await shown())
})

t.test('a slice is read when its first line is requested, and holds no slot before', async (t) => {
  const { call, open, slices } = await setUp({ requestsAtOnceMax: 1 })
  const { next } = await open()
  t.equal(slices(), 0)
  await next()
  t.equal(slices(), 1)
  t.equal((await call('GET /v0/prospects')).status, 200, 'the only place is free for others')
  await next()
  await next()
  t.equal(slices(), 3, 'the rest of a slice is not kept, but read again')
})

t.test('200: the export has the data of merged prospects', async (t) => {
  const { call, path, prospectId, log } = await setUp()
  const merged = (await log({ email: 'lovelace@x', externalId: 'crm-1' })).prospectId
  await call(`POST /v0/prospects/${merged}/merge`, { json: { into: prospectId } })
  const [first, second, third] = linesIn((await call(`GET ${path}`)).body)
  t.match(first, { prospect: { prospectId } })
  t.match(second, { merged: { prospectId: merged, email: 'lovelace@x' } })
  t.strictSame(Object.keys(second.merged), ['prospectId', 'email', 'externalId'])
  t.ok(third.prospectLog)
})

t.test('merged prospects are read one at a time, when their turn comes', async (t) => {
  let reads = 0
  let reading = 0
  const storeAs = (store: Store): Store => ({
    ...store,
    prospects: {
      ...store.prospects,
      find: async (want) => {
        reads++
        t.equal(++reading, 1)
        const found = await store.prospects.find(want)
        reading--
        return found
      },
      // No identifier is that long today.
      identifiers: async () => [],
    },
  })
  const { call, open, prospectId, owner, store } = await setUp({ storeAs })
  for (let i = 0; i < 3; i++) {
    // As an older version stored it.
    const email = `${i}${LARGE}@x`
    const old = someProspect(owner.tenantId, { email })
    await recordAll(store.activities, [old])
    await call(`POST /v0/prospects/${old.prospectId}/merge`, { json: { into: prospectId } })
  }
  const want = { tenantId: owner.tenantId, prospectId: String(prospectId) }
  const found = await store.prospects.findWithMerged(want)
  t.strictSame(
    found.map(({ email }) => email),
    ['ada@x', null, null, null],
  )
  const { next } = await open()
  reads = 0
  const { value = '' } = await next()
  t.equal(linesIn(value).length, 2, 'a part ends with the first large line')
  t.equal(reads, 2)
})

t.test('an answer ends early if another tenant needs its slot', async (t) => {
  const { open, call, newTenant, errors } = await setUp({ requestsWaitingMax: 3, requestsAtOnceMax: 1 })
  const answers = await Promise.all([open(), open(), open()])
  for (const { next } of answers) await next()
  const { apiKey: key } = await newTenant()
  t.equal((await call('GET /v0/prospects', { key })).status, 200)
  const outcomes = await Promise.allSettled(answers.map(({ next }) => next()))
  t.equal(outcomes.filter(({ status }) => status === 'rejected').length, 1)
  t.match(errors, [{ error: { kind: 'unavailable' } }])
})

t.test('each activity is exported once, for any number and length, even with equal times', async (t) => {
  const { call, path, log } = await setUp()
  const occurredAt = '2026-01-01T00:00:00Z'
  for (let n = 3; n < 60; n++)
    await log({ email: 'ada@x', occurredAt, payload: { n, LARGE: 'x'.repeat(n % 7 ? 10 : 20_000) } })
  const lines = linesIn((await call(`GET ${path}`)).body)
  const numbers = lines.flatMap(({ prospectLog }) => prospectLog?.payload.n ?? [])
  t.strictSame(new Set(numbers).size, 60)
  t.strictSame(lines.at(-1), { done: true, logs: 60 })
})

t.test('a slice waits for its turn like any request', async (t) => {
  const { before, call, open } = await setUp({ requestsAtOnceMax: 1 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = await open()
  const second = await open()
  before.slice = () => promise
  const parts = [first.next(), second.next()]
  await new Promise(setImmediate)
  let isAnswered = false
  const other = call('GET /v0/prospects').then(() => {
    isAnswered = true
  })
  await new Promise((resolve) => setTimeout(resolve, 0))
  t.notOk(isAnswered)
  resolve()
  await Promise.all([...parts, other])
})

const ENDS: Readonly<Record<string, [why: string, end: (scene: Scene) => unknown]>> = {
  'the key is revoked': [
    'invalid_api_key',
    ({ store, clock, owner }) => revokeApiKey({ store, clock })(owner.apiKeyId),
  ],
  'the tenant is suspended': [
    'tenant_suspended',
    ({ store, clock, owner }) => suspendTenant({ store, clock })(owner.tenantId),
  ],
  'the person is erased': [
    'prospect_erased',
    ({ call, prospectId }) => call('POST /v0/erasures', { json: { prospectId } }),
  ],
  'the database goes away': [
    'unavailable',
    ({ before }) => {
      before.slice = async () => {
        throw DATABASE_AWAY
      }
    },
  ],
}
for (const [what, [kind, end]] of Object.entries(ENDS))
  t.test(`when ${what}, the answer ends without its last line, and the failure is reported`, async (t) => {
    const scene = await setUp()
    const { parts, status, headers } = await scene.open()
    t.equal(status, 200)
    await parts.next()
    await end(scene)
    let text = ''
    const rest = async () => {
      for (let part = await parts.next(); !part.done; part = await parts.next()) text += part.value
    }
    await t.rejects(rest())
    t.notMatch(text, /"done":true/)
    t.match(scene.errors, [{ error: { kind }, requestId: headers['x-request-id'] }])
  })

t.test('one answer is one request in the log and for the rate limit', async (t) => {
  const { call, path, answered } = await setUp({ rateLimitPerMinute: 4 })
  t.match((await call(`GET ${path}`)).headers, { ratelimit: /r=0/ })
  t.match(answered.at(-1), { route: '/v0/prospects/{prospect_id}/export', status: 200, code: null })
})
