import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { openScene, problemFor } from '../../support/api.ts'
import { idOf } from '../../support/setting.ts'

const LOG = 'POST /v0/prospect_logs'
const activity = { source: 'crm', payload: { form: 'contact' } }

t.test('201: the first activity of an email creates its prospect', async (t) => {
  const { call } = await openScene()
  const answer = await call(LOG, { json: { ...activity, email: 'ada@example.com', name: 'Ada' } })
  t.equal(answer.status, 201)
  t.equal(answer.headers['content-type'], 'application/json')
  t.equal(
    answer.body,
    jsonLine({
      prospectId: idOf('prospect', 4),
      prospectLogId: idOf('prospectlog', 5),
      createdAt: '2026-01-01T00:00:00.000Z',
      createdProspect: true,
      source: 'crm',
      type: 'webhook',
    }),
  )
})

t.test('occurredAt is stored in UTC, and defaults to the time of storing', async (t) => {
  const { call, store } = await openScene()
  for (const [occurredAt, stored] of [
    ['2025-12-31T23:30:00.5+02:00', '2025-12-31T21:30:00.500Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['2026-01-02t00:00:00z', '2026-01-02T00:00:00.000Z'],
    ['2024-05-01T10:00:00+0000', '2024-05-01T10:00:00.000Z'],
    ['2024-05-01 10:00:00Z', '2024-05-01T10:00:00.000Z'],
    ['2024-05-01 10:00:00.25+02', '2024-05-01T08:00:00.250Z'],
    ['2024-05-01 10:00:00 UTC', '2024-05-01T10:00:00.000Z'],
    ['2024-05-01T10:00:00,5 -0130', '2024-05-01T11:30:00.500Z'],
    ['2024-05-01T10:00Z', '2024-05-01T10:00:00.000Z'],
    [undefined, '2026-01-01T00:00:00.000Z'],
  ]) {
    t.equal((await call(LOG, { json: { ...activity, occurredAt } })).status, 201)
    t.match(store.kept.logs().at(-1), { occurredAt: stored })
  }
})

t.test('400: a time without an offset, before 1970, impossible or too far ahead', async (t) => {
  const { call, store } = await openScene()
  const errorsFor = async (occurredAt: unknown) =>
    (await call(LOG, { json: { ...activity, occurredAt } })).json['errors']
  const detail = 'must be an RFC 3339 date-time with an offset, from 1970 to 9999'
  for (const occurredAt of [
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00 00:00',
    '2026-01-01T00:00:00+1',
    '2026-01-01T00:00:00 CET',
    '01/02/2026 00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2025-12-31T24:00:00Z',
    '2025-12-31t24:00:00+01:00',
    '1969-12-31T23:59:59Z',
    '9999-12-31T23:59:59-01:00',
    '',
  ])
    t.strictSame(await errorsFor(occurredAt), [{ detail, pointer: '/occurredAt' }], String(occurredAt))
  t.strictSame(await errorsFor('2026-01-02T00:00:00.001Z'), [
    { detail: 'must be at most 24 hours ahead', pointer: '/occurredAt' },
  ])
  t.strictSame([store.kept.logs(), store.kept.prospects()], [[], []])
})

t.test(
  'a retry may serialize its JSON again, one by one and in a batch, but writes numbers as before',
  async (t) => {
    const { call, store } = await openScene()
    const bodyOf = (payload: string) => `{"source":"crm","idempotencyKey":"key","payload":${payload}}`
    const post = (payload: string) => call(LOG, { body: bodyOf(payload) })
    t.equal((await post('{"n":1,"to":["é"]}')).status, 201)
    const again = await post('{ "to": ["\\u00E9"], "n": 1 }')
    t.match(again, { status: 201, headers: { 'idempotent-replayed': 'true' } })
    t.equal((await post('{"n":1.0,"to":["é"]}')).status, 422)
    t.equal((await post('{"n":1,"to":["e","é"]}')).status, 422)
    const items = [bodyOf('{"to":["é"],"n":1}'), bodyOf('{"to":["é"],"n":1e0}')]
    const batch = await call(`${LOG}/batch`, { body: `{"items":[${items}]}` })
    t.match(batch.json, { items: [{ replayed: true }, { problem: { code: 'idempotency_key_reused' } }] })
    t.equal(store.kept.logs().length, 1)
  },
)

t.test('422: the same request with a different time is a different request', async (t) => {
  const { call } = await openScene()
  const keyed = { ...activity, idempotencyKey: 'key', occurredAt: '2025-12-31T00:00:00Z' }
  t.equal((await call(LOG, { json: keyed })).status, 201)
  t.equal((await call(LOG, { json: { ...keyed, occurredAt: '2025-12-31T01:00:00+01:00' } })).status, 201)
  t.equal((await call(LOG, { json: { ...keyed, occurredAt: '2025-12-31T00:00:01Z' } })).status, 422)
})

t.test('400: unknown members are ignored, but not more than 5,000 of them', async (t) => {
  const { call } = await openScene()
  const bodyOf = (count: number, value: string) => {
    const unknown = Array.from({ length: count }, (_, i) => `"m${i}":${value}`)
    return `{"source":"crm","payload":{"a":1},${unknown}}`
  }
  for (const value of ['1', '{"long":"member"}']) {
    t.equal((await call('POST /v0/prospect_logs', { body: bodyOf(4_998, value) })).status, 201)
    const answer = await call('POST /v0/prospect_logs', { body: bodyOf(4_999, value) })
    t.match(answer.json, { code: 'invalid_request', detail: 'The body has more than 5000 members.' })
  }
})

t.test('400: a body is required', async (t) => {
  const { call } = await openScene()
  const answer = await call(LOG)
  t.strictSame(
    answer.json,
    problemFor(answer, 'invalid_json', 400, 'The body is missing. Send a JSON object.'),
  )
})

t.test('400: if identity is required, an activity must identify its prospect', async (t) => {
  const { call } = await openScene({ requireIdentity: true })
  const answer = await call(LOG, { json: { ...activity, email: 'n/a' } })
  const errors = [{ detail: 'is not an email address', pointer: '/email' }]
  t.strictSame(
    answer.json,
    problemFor(answer, 'invalid_request', 400, 'An activity must identify its prospect.', { errors }),
  )
  t.equal((await call(LOG, { json: { ...activity, email: 'ada@example.com' } })).status, 201)
})
