import t from 'tap'
import { DomainFailure } from '../../../src/core/engine/failures.ts'
import { LIST_LENGTH_MAX } from '../../../src/core/engine/run-in-waves.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { DATABASE_AWAY, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { idOf } from '../../support/setting.ts'

const LOG = 'POST /v0/prospect_logs'
const BATCH = 'POST /v0/prospect_logs/batch'
const activity = { source: 'crm', payload: {} }
const by = (email: string, more: object = {}) => ({ ...activity, email, ...more })
type Item = { status: number; prospectLog: Record<string, unknown>; problem: Record<string, unknown> }
const itemsOf = ({ json }: { json: Readonly<Record<string, unknown>> }) => json['items'] as Item[]
const many = (count: number, of: (n: number) => object = () => activity) =>
  Array.from({ length: count }, (_, n) => of(n))

t.test('201: a batch returns the receipt of each item, in order', async (t) => {
  const { call, store } = await openScene()
  const items = [by('ada@example.com', { name: 'Ada' }), by('bob@example.com', { type: 'called' }), activity]
  const answer = await call(BATCH, { json: { items } })
  t.match(answer, { status: 201, headers: { 'items-refused': '0' } })
  t.notOk(answer.headers['retry-after'])
  t.match(answer.json, { accepted: 3, refused: 0, items: many(3, () => ({ status: 201, replayed: false })) })
  const logs = store.kept.logs()
  t.strictSame(
    itemsOf(answer).map(({ prospectLog }) => prospectLog['prospectLogId']),
    logs.map(({ prospectLogId }) => prospectLogId),
  )
  t.strictSame(
    logs.map(({ type, email }) => [type, email]),
    [
      ['webhook', 'ada@example.com'],
      ['called', 'bob@example.com'],
      ['webhook', null],
    ],
  )
})

t.test('an item finds the prospect that an item before it created', async (t) => {
  const { call, store } = await openScene()
  const items = many(450, (n) =>
    by(n % 2 === 0 ? ' Ada@example.com' : 'ada@example.com', { name: `Name ${n}` }),
  )
  // Others write meanwhile, and the prospect is remembered half way.
  const [answer] = await Promise.all([
    call(BATCH, { json: { items } }),
    ...many(300, (n) => by(`${n}@example.com`)).map((json) => call(LOG, { json })),
  ])
  t.equal(answer?.status, 201)
  const created = itemsOf(answer as never).map(({ prospectLog }) => prospectLog['createdProspect'])
  t.strictSame(created, [true, ...Array(449).fill(false)])
  const ids = itemsOf(answer as never).map(({ prospectLog }) => String(prospectLog['prospectLogId']))
  t.strictSame(ids, ids.toSorted(), 'they are stored in their order')
  t.match(
    store.kept.prospects().find(({ email }) => email === 'ada@example.com'),
    { name: 'Name 0' },
  )
})

t.test('each payload is stored byte for byte', async (t) => {
  const { call, store } = await openScene()
  const payloads = [
    '{"n":12345678901234567890.10,"huge":1e400}',
    '{"a":1,"a":2, "__proto__" :{"a":3}}',
    String.raw`{"nul":"\u0000","half":"\ud800","text":"]},{\"","slash":"\/"}`,
    '{ "blank" : [ ]\n}',
    `{"deep":${'['.repeat(510)}${']'.repeat(510)}}`,
    '{"items":[{"payload":{}}]}',
  ]
  const items = payloads.map(
    (payload) => ` {"source":"crm","payload":{"lost":1},"pay\\u006coad": ${payload} }\r\n`,
  )
  const answer = await call(BATCH, { body: `{"items":[0],"other":[], "\\u0069tems" : [${items}]}` })
  t.equal(answer.status, 201)
  t.strictSame(
    store.kept.logs().map(({ payload }) => payload.rawJson),
    payloads,
  )
})

t.test('207: a refused item has the problem of a single request, and the rest is stored', async (t) => {
  const { call, store } = await openScene()
  const bytesMax = 1_100
  const deep = `{"source":"crm","payload":{"deep":${'['.repeat(512)}${']'.repeat(512)}}}`
  const refused = [
    '{"source":"","payload":[],"name":"\\ud83d"}',
    `{"source":"crm","payload":{},"prospectId":"${idOf('prospect', 9_999)}"}`,
    '{"source":"crm","payload":{},"idempotencyKey":"one","type":"another"}',
    `{"source":"crm","payload":{"text":"${'é'.repeat(540)}"}}`,
    '{"source":"crm","payload":{},"occurredAt":"2099-01-01T00:00:00Z"}',
    '[]',
    'null',
    '7',
    deep,
  ]
  const first = await call(LOG, { json: { ...activity, idempotencyKey: 'one' } })
  const good = '{"source":"crm","payload":{}}'
  const answer = await call(BATCH, { body: `{"items":[${good},${refused},${good}]}`, bytesMax })
  t.match(answer, { status: 207, headers: { 'items-refused': '9' }, json: { accepted: 2, refused: 9 } })
  const items = itemsOf(answer)
  t.strictSame(
    items.map(({ status }) => status),
    [201, 400, 404, 422, 413, 400, 400, 400, 400, 400, 201],
  )
  t.match(items[3]?.problem, { code: 'idempotency_key_reused', prospectLogId: first.json['prospectLogId'] })
  for (const [i, body] of refused.entries()) {
    const single = await call(LOG, { body, bytesMax })
    const problem = { ...items[i + 1]?.problem, instance: single.json['instance'] }
    t.strictSame(problem, single.json, body.slice(0, 60))
  }
  t.equal(items[1]?.problem['instance'], answer.headers['x-request-id'])
  t.equal(store.kept.logs().length, 3)
})

t.test('idempotency is per item: within a batch, across batches and with single requests', async (t) => {
  const { call, store } = await openScene()
  const keyed = (n: number, more: object = {}) =>
    by('ada@example.com', { idempotencyKey: `crm-${n}`, ...more })
  const single = await call(LOG, { json: keyed(1) })
  const items = [keyed(1), keyed(2), keyed(2), keyed(2, { type: 'other' }), keyed(3)]
  const answer = await call(BATCH, { json: { items } })
  t.equal(answer.status, 207)
  const [replayedSingle, stored, replayedItem, changed, last] = itemsOf(answer)
  t.match(replayedSingle, { status: 201, replayed: true, prospectLog: single.json })
  t.match(stored, { status: 201, replayed: false })
  t.match(replayedItem, { status: 201, replayed: true, prospectLog: stored?.prospectLog })
  t.match(changed, { status: 422, problem: { prospectLogId: stored?.prospectLog['prospectLogId'] } })
  t.match(last, { status: 201, replayed: false })
  const repeated = await call(BATCH, { json: { items } })
  t.strictSame(
    itemsOf(repeated).map(({ prospectLog }) => prospectLog?.['prospectLogId']),
    itemsOf(answer).map(({ prospectLog }) => prospectLog?.['prospectLogId']),
  )
  t.notOk(repeated.headers['idempotent-replayed'])
  t.equal(store.kept.logs().length, 3)
})

const refusedEnvelopes: [fault: string, sent: object, status: number, code: string, errors?: object[]][] = [
  ['no items', { json: {} }, 400, 'invalid_request', [{ detail: 'is required', pointer: '/items' }]],
  ['a list', { json: [activity] }, 400, 'invalid_request', [{ detail: 'must be an object', pointer: '' }]],
  ['items of another kind', { json: { items: activity } }, 400, 'invalid_request'],
  [
    'an empty batch',
    { json: { items: [] } },
    400,
    'invalid_request',
    [{ detail: 'must have 1 to 1,000 items', pointer: '/items' }],
  ],
  ['1,001 items', { json: { items: many(1_001) } }, 400, 'invalid_request'],
  [
    'an item that is not JSON',
    { body: '{"items":[{"source":"crm","payload":{}},{]}]}' },
    400,
    'invalid_json',
  ],
  [
    'millions of items, which are not even parsed',
    { body: `{"items":[${'{},'.repeat(1_000_000)}{]}` },
    400,
    'invalid_request',
    [{ detail: 'must have 1 to 1,000 items', pointer: '/items' }],
  ],
  [
    'more members than are parsed',
    { body: `{"items":[1]${Array.from({ length: 1_001 }, (_, i) => `,"a${i}":1`)}}` },
    400,
    'invalid_json',
  ],
  [
    'more besides its items than one of them may have',
    { body: `{"items":[1],"other":[${'{},'.repeat(1_000)}{}]}`, bytesMax: 1_000 },
    413,
    'payload_too_large',
  ],
  ['JSON that ends early', { body: '{"items":[{"source":"crm","payload":{}}' }, 400, 'invalid_json'],
  ['bytes that are not UTF-8', { read: async () => Buffer.from([0x7b, 0xff]), json: 1 }, 400, 'invalid_json'],
  [
    'another content type',
    { json: { items: [activity] }, headers: { 'content-type': 'text/plain' } },
    415,
    'unsupported_media_type',
  ],
  ['16 MiB and more', { json: 1, headers: { 'content-length': '16777217' } }, 413, 'payload_too_large'],
  [
    'an Idempotency-Key',
    { json: { items: [activity] }, headers: { 'idempotency-key': 'one' } },
    400,
    'invalid_request',
    [{ detail: 'must not be sent: each item has its own idempotencyKey', parameter: 'Idempotency-Key' }],
  ],
]
for (const [fault, sent, status, code, errors] of refusedEnvelopes)
  t.test(`${status}: a batch with ${fault} is refused as a whole`, async (t) => {
    const { call, store } = await openScene()
    const answer = await call(BATCH, sent)
    t.match(answer, { status, json: { code } })
    if (errors) t.strictSame(answer.json, problemFor(answer, code as never, status, SEE_ERRORS, { errors }))
    t.notOk(answer.headers['items-refused'])
    t.strictSame(store.kept.logs(), [])
  })

t.test('1,000 items may nest deeper in total than one item may', async (t) => {
  const { call } = await openScene()
  t.match(await call(BATCH, { json: { items: many(1_000) } }), { status: 201, json: { accepted: 1_000 } })
})

t.test('no item of a batch finds another tenant’s prospect', async (t) => {
  const { call, newTenant } = await openScene()
  const { json } = await call(LOG, { json: by('ada@example.com', { idempotencyKey: 'one' }) })
  const { apiKey: key } = await newTenant()
  const items = [
    { ...activity, prospectId: json['prospectId'] },
    by('ada@example.com', { idempotencyKey: 'one' }),
  ]
  const [byId, byEmail] = itemsOf(await call(BATCH, { key, json: { items } }))
  t.match(byId, { status: 404, problem: { code: 'prospect_not_found' } })
  t.match(byEmail, { status: 201, replayed: false, prospectLog: { createdProspect: true } })
})

t.test('429: a batch counts as its items, and is refused before anything is stored', async (t) => {
  const { call, store, clock } = await openScene({ rateLimitPerMinute: 10 })
  const batch = (count: number) => call(BATCH, { json: { items: many(count) } })
  t.match(await batch(6), { status: 201, headers: { ratelimit: '"per-minute";r=4;t=0' } })
  const refused = await batch(5)
  t.match(refused, { status: 429, headers: { 'retry-after': '6' }, json: { code: 'rate_limited' } })
  t.match(
    await batch(3),
    { status: 201, headers: { ratelimit: '"per-minute";r=0;t=6' } },
    'a refused one counts as one',
  )
  clock.advance(60_000)
  const errors = [{ detail: 'must have at most 10 items: each counts as a request', pointer: '/items' }]
  t.match(await batch(11), { status: 400, json: { errors } }, 'it could never be taken')
  t.equal(store.kept.logs().length, 9)
})

t.test('503: if the database goes away in between, the remaining items are not tried', async (t) => {
  let writes = 0
  // Writes that arrive together fail together.
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
  const { call, store, errors } = await openScene({ storeAs })
  const answer = await call(BATCH, { json: { items: many(1_000, (n) => by(`${n}@example.com`)) } })
  t.match(answer, {
    status: 207,
    headers: { 'items-refused': '998', 'retry-after': '5' },
    json: { accepted: 2 },
  })
  t.strictSame(
    itemsOf(answer).map(({ status }) => status),
    [...Array(2).fill(201), ...Array(998).fill(503)],
  )
  t.match(itemsOf(answer)[999]?.problem, { code: 'unavailable', detail: 'Away.', status: 503 })
  t.equal(writes, LIST_LENGTH_MAX, 'the second list was not tried')
  t.equal(errors.length, 1, 'the reason is reported once')
  t.equal(store.kept.logs().length, 2)
})

t.test('only the item that the store cannot accept is refused', async (t) => {
  const storeAs = (store: Store): Store => ({
    ...store,
    activities: {
      ...store.activities,
      record: async (change, events) => {
        if (change.log?.source === 'faulty') throw new Error('no such thing')
        return store.activities.record(change, events)
      },
    },
  })
  const { call, errors } = await openScene({ storeAs })
  const items = [activity, { ...activity, source: 'faulty' }, activity]
  const answer = await call(BATCH, { json: { items } })
  t.strictSame(
    itemsOf(answer).map(({ status }) => status),
    [201, 500, 201],
  )
  t.match(itemsOf(answer)[1]?.problem, { code: 'internal_error' })
  t.equal(errors.length, 1)
})

t.test('a batch takes one turn for each part, so that others write in between', async (t) => {
  const storeAs = (store: Store): Store => ({
    ...store,
    activities: {
      ...store.activities,
      // Like a database, it answers in a later turn of the event loop.
      record: async (change, events) => {
        await new Promise(setImmediate)
        return store.activities.record(change, events)
      },
    },
  })
  const { call, newTenant, answered } = await openScene({ requestsAtOnceMax: 8, storeAs })
  const { apiKey: key } = await newTenant()
  const batches = many(5).map(() => call(BATCH, { json: { items: many(1_000) } }))
  const singles = many(20).map(async () => (await call(LOG, { key, json: activity })).status)
  t.strictSame(await Promise.all(singles), Array(20).fill(201))
  const before = answered.filter(({ route }) => route?.endsWith('batch')).length
  t.ok(before < 3, `before most of the batches: ${before}`)
  for (const { status } of await Promise.all(batches)) t.equal(status, 201)
})
