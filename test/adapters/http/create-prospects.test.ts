import t from 'tap'
import { DomainFailure } from '../../../src/core/engine/failures.ts'
import { LIST_LENGTH_MAX } from '../../../src/core/engine/run-in-waves.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { DATABASE_AWAY, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'

const CREATE = 'POST /v0/prospects'
const BATCH = 'POST /v0/prospects/batch'
type Item = { status: number; prospect: Record<string, unknown>; problem: Record<string, unknown> }
const itemsOf = ({ json }: { json: Readonly<Record<string, unknown>> }) => json['items'] as Item[]
const statusesOf = (answer: { json: Readonly<Record<string, unknown>> }) =>
  itemsOf(answer).map(({ status }) => status)
const people = (count: number) => Array.from({ length: count }, (_, n) => ({ externalId: `crm-${n}` }))

t.test('200: a batch creates or finds the prospect of each item, in order', async (t) => {
  const { call, store } = await openScene()
  const { json: known } = await call(CREATE, { json: { externalId: '1' } })
  const items = [{ externalId: '1', email: 'ada@x' }, { email: 'ADA@x', name: 'Ada' }, { externalId: '2' }]
  const answer = await call(BATCH, { json: { items } })
  t.match(answer, {
    status: 200,
    headers: { 'items-refused': '0' },
    json: {
      accepted: 3,
      refused: 0,
      items: [
        { status: 200, prospect: { prospectId: known['prospectId'], email: 'ada@x', conflicts: [] } },
        { status: 200, prospect: { prospectId: known['prospectId'], name: 'Ada' } },
        { status: 201, prospect: { externalId: '2' } },
      ],
    },
  })
  t.equal(store.kept.prospects().length, 2)
})

t.test('an item finds the prospect that an item before it created', async (t) => {
  const { call, store } = await openScene()
  const items = Array.from({ length: 450 }, (_, n) => ({
    email: n % 2 ? 'ada@x' : ' ADA@x',
    name: `Name ${n}`,
  }))
  const answer = await call(BATCH, { json: { items } })
  t.strictSame(statusesOf(answer), [201, ...Array(449).fill(200)])
  t.match(store.kept.prospects(), [{ email: 'ada@x', name: 'Name 0' }])
  t.equal(store.kept.prospects().length, 1)
})

t.test('the conflicts of each item are named', async (t) => {
  const { call } = await openScene()
  const items = [
    { externalId: '1', email: 'ada@x' },
    { externalId: '1', email: 'new@x' },
    { externalId: '2', email: 'ada@x' },
    { externalId: '2', email: '4.1E+11' },
  ]
  const [first, ...others] = itemsOf(await call(BATCH, { json: { items } }))
  t.strictSame(first?.prospect['conflicts'], [])
  t.strictSame(
    others.map(({ prospect }) => prospect['conflicts']),
    [
      [{ field: 'email', reason: 'different' }],
      [{ field: 'email', reason: 'taken', prospectId: first?.prospect['prospectId'] }],
      [{ field: 'email', reason: 'unusable' }],
    ],
  )
})

t.test('a repeated batch changes nothing, and has the same answers but for what was created', async (t) => {
  const { call, clock, store } = await openScene()
  const items = [
    { externalId: '1', email: 'ada@x', name: 'Ada' },
    { externalId: '1', email: 'new@x' },
    { externalId: '2', email: 'ada@x' },
    { email: 'Berlin' },
  ]
  const first = await call(BATCH, { json: { items } })
  t.strictSame(statusesOf(first), [201, 200, 201, 400])
  const before = store.kept.prospects()
  clock.advance(5)
  const repeated = await call(BATCH, { json: { items }, headers: { 'idempotency-key': 'one' } })
  t.strictSame(statusesOf(repeated), [200, 200, 200, 400])
  t.strictSame(
    itemsOf(repeated).map(({ prospect }) => prospect),
    itemsOf(first).map(({ prospect }) => prospect),
  )
  t.strictSame(store.kept.prospects(), before)
})

t.test('207: a refused item has the problem of a single request, and the others are stored', async (t) => {
  const bytesMax = 1_000
  const { call, store, newTenant } = await openScene()
  const { apiKey: other } = await newTenant()
  await call('POST /v0/erasures', { json: { email: 'erased@x', blockDays: 1 } })
  await call(CREATE, { key: other, json: { email: 'ada@x' } })
  const refused = [
    '{"name":"Ada"}',
    '{"email":"n/a"}',
    '{"externalId":"1","emial":"ada@x"}',
    '{"externalId":7}',
    '{"email":"erased@x"}',
    '[]',
    '{"email":"a\\u0000@x"}',
    `{"externalId":"1","name":"${'x'.repeat(bytesMax)}"}`,
  ]
  const body = `{"items":[{"email":"ada@x"},${refused},{"externalId":"crm-9"}]}`
  const answer = await call(BATCH, { body, bytesMax })
  t.match(answer, { status: 207, headers: { 'items-refused': '8' }, json: { accepted: 2, refused: 8 } })
  t.strictSame(statusesOf(answer), [201, 400, 400, 400, 400, 410, 400, 400, 413, 201])
  for (const [i, body] of refused.entries()) {
    const single = await call(CREATE, { body, bytesMax })
    const problem = { ...itemsOf(answer)[i + 1]?.problem, instance: single.json['instance'] }
    t.strictSame(problem, single.json, body.slice(0, 60))
  }
  const named = store.kept.prospects().map(({ email, externalId }) => email ?? externalId)
  t.strictSame(
    named.filter((name) => name !== null),
    ['ada@x', 'ada@x', 'crm-9'],
  )
})

for (const { fault, json, detail, pointer } of [
  { fault: 'no items', json: {}, detail: 'is required', pointer: '/items' },
  { fault: 'an empty list', json: { items: [] }, detail: 'must have 1 to 1,000 items', pointer: '/items' },
  {
    fault: '1,001 items',
    json: { items: people(1_001) },
    detail: 'must have 1 to 1,000 items',
    pointer: '/items',
  },
  {
    fault: 'an unknown member',
    json: { items: people(1), itmes: [] },
    detail: 'is not a known member; did you mean `items`?',
    pointer: '/itmes',
  },
])
  t.test(`400: a batch with ${fault} is refused as a whole`, async (t) => {
    const { call, store } = await openScene()
    const answer = await call(BATCH, { json })
    const errors = [{ detail, pointer }]
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }))
    t.strictSame(store.kept.prospects(), [])
  })

t.test('429: a batch counts as its items, and is refused before anything is stored', async (t) => {
  const { call, store } = await openScene({ rateLimitPerMinute: 10 })
  const batch = (count: number) => call(BATCH, { json: { items: people(count) } })
  t.match(await batch(6), { status: 200, headers: { ratelimit: '"per-minute";r=4;t=0' } })
  t.match(await batch(5), { status: 429, json: { code: 'rate_limited' } })
  t.equal(store.kept.prospects().length, 6)
})

t.test('503: if the database goes away in between, the remaining items are not tried', async (t) => {
  let writes = 0
  const away = Object.assign(new DomainFailure('unavailable', 'Away.', { retryAfterS: 5 }), {
    cause: DATABASE_AWAY,
  })
  const storeAs = (store: Store): Store => ({
    ...store,
    activities: {
      ...store.activities,
      record: async (change, events) => {
        if (++writes > 2) throw away
        return store.activities.record(change, events)
      },
    },
  })
  const { call, store } = await openScene({ storeAs })
  const answer = await call(BATCH, { json: { items: people(1_000) } })
  t.match(answer, { status: 207, headers: { 'items-refused': '998', 'retry-after': '5' } })
  t.strictSame(statusesOf(answer), [...Array(2).fill(201), ...Array(998).fill(503)])
  t.equal(writes, LIST_LENGTH_MAX, 'the second list was not tried')
  t.equal(store.kept.prospects().length, 2)
})

t.test('no item of a batch finds another tenant’s prospect', async (t) => {
  const { call, newTenant } = await openScene()
  await call(CREATE, { json: { email: 'ada@x', name: 'Ada' } })
  const { apiKey: key } = await newTenant()
  const answer = await call(BATCH, { key, json: { items: [{ email: 'ada@x' }] } })
  t.match(itemsOf(answer), [{ status: 201, prospect: { name: null } }])
})
