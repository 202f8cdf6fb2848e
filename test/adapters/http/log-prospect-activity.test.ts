import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
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

t.test('201: every text may be as long as its bound, counted in code points', async (t) => {
  const { call } = await openScene()
  const json = {
    source: '😀'.repeat(100),
    type: '😀'.repeat(100),
    payload: {},
    email: '',
    idempotencyKey: '😀'.repeat(255),
    name: '😀'.repeat(255),
  }
  t.match(await call(LOG, { json }), { status: 201, json: { source: json.source, type: json.type } })
  const shortest = { source: 'x', type: 'x', payload: {}, idempotencyKey: 'x', name: 'x' }
  t.equal((await call(LOG, { json: shortest })).status, 201)
})

t.test('400: what is no activity is refused, and nothing is stored', async (t) => {
  const { call, store } = await openScene()
  const upTo = (max: number) => `must be 1 to ${max} characters long`
  const id = 'must be prospect_ followed by 26 characters a-z or 0-9'
  const storable = 'must not contain a NUL character or an unpaired surrogate'
  for (const [fields, detail, pointer] of [
    [{ source: undefined }, 'is required', '/source'],
    [{ payload: undefined }, 'is required', '/payload'],
    [{ source: '' }, upTo(100), '/source'],
    [{ source: '😀'.repeat(101) }, upTo(100), '/source'],
    [{ type: '' }, upTo(100), '/type'],
    [{ type: 'x'.repeat(101) }, upTo(100), '/type'],
    [{ idempotencyKey: '' }, upTo(255), '/idempotencyKey'],
    [{ idempotencyKey: 'x'.repeat(256) }, upTo(255), '/idempotencyKey'],
    [{ name: '' }, upTo(255), '/name'],
    [{ name: 'x'.repeat(256) }, upTo(255), '/name'],
    [{ prospectId: `prospect_${'A'.repeat(26)}` }, id, '/prospectId'],
    [{ prospectId: `prospect_${'a'.repeat(26)}\n` }, id, '/prospectId'],
    [{ email: 'a\0@example.com' }, storable, '/email'],
    [{ name: '\ud83d' }, storable, '/name'],
    [{ payload: [] }, 'must be an object', '/payload'],
    [{ payload: '{}' }, 'must be an object', '/payload'],
    [[], 'must be an object', ''],
  ] as const) {
    const answer = await call(LOG, { json: Array.isArray(fields) ? fields : { ...activity, ...fields } })
    const errors = [{ detail, pointer }]
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }))
  }
  t.strictSame(store.kept.logs(), [])
})

t.test('occurredAt is stored in UTC, and is when the entry is stored if not sent', async (t) => {
  const { call, store } = await openScene()
  for (const [occurredAt, stored] of [
    ['2025-12-31T23:30:00.5+02:00', '2025-12-31T21:30:00.500Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['2026-01-02t00:00:00z', '2026-01-02T00:00:00.000Z'],
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

t.test('422: the same request at another time is another request', async (t) => {
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

t.test('400: a body must be there', async (t) => {
  const { call } = await openScene()
  const answer = await call(LOG)
  t.strictSame(
    answer.json,
    problemFor(answer, 'invalid_json', 400, 'The body is missing. Send a JSON object.'),
  )
})

t.test('400: where identity is required, an activity must identify its prospect', async (t) => {
  const { call } = await openScene({ requireIdentity: true })
  const answer = await call(LOG, { json: { ...activity, email: 'n/a' } })
  const errors = [{ detail: 'is not an email address', pointer: '/email' }]
  t.strictSame(
    answer.json,
    problemFor(answer, 'invalid_request', 400, 'An activity must identify its prospect.', { errors }),
  )
  t.equal((await call(LOG, { json: { ...activity, email: 'ada@example.com' } })).status, 201)
})
