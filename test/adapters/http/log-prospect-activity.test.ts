import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { refuse } from '../../../src/core/engine/failures.ts'
import { DATABASE_AWAY, failing, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
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

t.test('201: a later activity of that email, or of its prospect, creates nobody', async (t) => {
  const { call, clock } = await openScene()
  const { json: first } = await call(LOG, { json: { ...activity, email: 'ada@example.com' } })
  clock.advance(1)
  const byEmail = await call(LOG, { json: { ...activity, email: ' ADA@example.com ', type: 'form' } })
  const byId = await call(LOG, { json: { ...activity, prospectId: first.prospectId } })
  t.equal(
    byEmail.body,
    jsonLine({
      prospectId: first.prospectId,
      prospectLogId: idOf('prospectlog', 6),
      createdAt: '2026-01-01T00:00:00.001Z',
      createdProspect: false,
      source: 'crm',
      type: 'form',
    }),
  )
  t.match(byId, { status: 201, json: { prospectId: first.prospectId, createdProspect: false } })
})

t.test('201: an activity of nobody in particular creates a prospect each time', async (t) => {
  const { call } = await openScene()
  const first = await call(LOG, { json: activity })
  const second = await call(LOG, { json: activity })
  t.match(first, { status: 201, json: { createdProspect: true } })
  t.match(second, { status: 201, json: { createdProspect: true } })
  t.not(first.json.prospectId, second.json.prospectId)
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

t.test('201: a request repeated under its idempotency key is answered as the first time', async (t) => {
  const { call, clock, store } = await openScene()
  const json = { ...activity, email: 'ada@example.com', idempotencyKey: 'crm-4711' }
  const first = await call(LOG, { json })
  clock.advance(60_000)
  const again = await call(LOG, { json })
  t.equal(again.status, 201)
  t.equal(again.body, first.body)
  t.equal(first.headers['idempotent-replayed'], undefined)
  t.equal(again.headers['idempotent-replayed'], 'true')
  t.equal(store.kept.logs().length, 1)
})

const rejected: [fault: string, body: object, errors: object[]][] = [
  ['no source', { payload: {} }, [{ detail: 'is required', pointer: '/source' }]],
  ['no payload', { source: 'crm' }, [{ detail: 'is required', pointer: '/payload' }]],
  [
    'an empty source',
    { ...activity, source: '' },
    [{ detail: 'must be 1 to 100 characters long', pointer: '/source' }],
  ],
  [
    'a source of 101',
    { ...activity, source: '😀'.repeat(101) },
    [{ detail: 'must be 1 to 100 characters long', pointer: '/source' }],
  ],
  [
    'an empty type',
    { ...activity, type: '' },
    [{ detail: 'must be 1 to 100 characters long', pointer: '/type' }],
  ],
  [
    'a type of 101',
    { ...activity, type: 'x'.repeat(101) },
    [{ detail: 'must be 1 to 100 characters long', pointer: '/type' }],
  ],
  [
    'an empty idempotencyKey',
    { ...activity, idempotencyKey: '' },
    [{ detail: 'must be 1 to 255 characters long', pointer: '/idempotencyKey' }],
  ],
  [
    'an idempotencyKey of 256',
    { ...activity, idempotencyKey: 'x'.repeat(256) },
    [{ detail: 'must be 1 to 255 characters long', pointer: '/idempotencyKey' }],
  ],
  [
    'an empty name',
    { ...activity, name: '' },
    [{ detail: 'must be 1 to 255 characters long', pointer: '/name' }],
  ],
  [
    'a name of 256',
    { ...activity, name: 'x'.repeat(256) },
    [{ detail: 'must be 1 to 255 characters long', pointer: '/name' }],
  ],
  [
    'a prospectId in capitals',
    { ...activity, prospectId: `prospect_${'A'.repeat(26)}` },
    [{ detail: 'must be prospect_ followed by 26 characters a-z or 0-9', pointer: '/prospectId' }],
  ],
  [
    'a prospectId with a line break after it',
    { ...activity, prospectId: `prospect_${'a'.repeat(26)}\n` },
    [{ detail: 'must be prospect_ followed by 26 characters a-z or 0-9', pointer: '/prospectId' }],
  ],
  [
    'a NUL character in the email',
    { ...activity, email: 'a\0@example.com' },
    [{ detail: 'must not contain a NUL character or an unpaired surrogate', pointer: '/email' }],
  ],
  [
    'half of a surrogate pair in the name',
    { ...activity, name: '\ud83d' },
    [{ detail: 'must not contain a NUL character or an unpaired surrogate', pointer: '/name' }],
  ],
  [
    'a payload that is a list',
    { ...activity, payload: [] },
    [{ detail: 'must be an object', pointer: '/payload' }],
  ],
  [
    'a payload that is a text',
    { ...activity, payload: '{}' },
    [{ detail: 'must be an object', pointer: '/payload' }],
  ],
  ['a body that is a list', [activity], [{ detail: 'must be an object', pointer: '' }]],
]
for (const [fault, json, errors] of rejected)
  t.test(`400: ${fault} is refused and nothing is stored`, async (t) => {
    const { call, store } = await openScene()
    const answer = await call(LOG, { json })
    t.equal(answer.status, 400)
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }))
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

t.test('401: without a key nothing is logged', async (t) => {
  const { call, store } = await openScene()
  const answer = await call(LOG, { key: null, json: activity })
  t.equal(answer.status, 401)
  t.strictSame(answer.json, problemFor(answer, 'missing_api_key', 401, 'The header x-api-key is missing.'))
  t.strictSame(store.kept.logs(), [])
})

t.test('403: the key needs the scope prospect_logs:write', async (t) => {
  const { call, keyWith, store } = await openScene()
  const key = await keyWith('page_groups:read', 'pages:read', 'pages:write')
  const answer = await call(LOG, { key, json: activity })
  const detail = 'The API key lacks the scope prospect_logs:write.'
  const more = { requiredScope: 'prospect_logs:write' }
  t.equal(answer.status, 403)
  t.strictSame(answer.json, problemFor(answer, 'insufficient_scope', 403, detail, more))
  t.strictSame(store.kept.logs(), [])
  t.equal((await call(LOG, { key: await keyWith('prospect_logs:write'), json: activity })).status, 201)
})

t.test('404: an unknown prospect and one of another tenant are missing alike', async (t) => {
  const { call, newTenant, store } = await openScene()
  const stranger = await newTenant()
  const { json: theirs } = await call(LOG, { key: stranger.apiKey, json: activity })
  for (const prospectId of [theirs.prospectId, idOf('prospect', 999)]) {
    const answer = await call(LOG, { json: { ...activity, prospectId, email: 'ada@example.com' } })
    t.equal(answer.status, 404)
    t.strictSame(answer.json, problemFor(answer, 'prospect_not_found', 404, 'Prospect not found.'))
  }
  t.equal(store.kept.logs().length, 1)
  t.equal(store.kept.prospects().length, 1)
})

t.test('405: the path has POST and GET alone', async (t) => {
  const { call } = await openScene()
  const answer = await call('PUT /v0/prospect_logs')
  t.equal(answer.status, 405)
  t.equal(answer.headers['allow'], 'POST, GET, HEAD, OPTIONS')
  t.strictSame(
    answer.json,
    problemFor(
      answer,
      'method_not_allowed',
      405,
      'Method not allowed. Allowed methods: POST, GET, HEAD, OPTIONS.',
    ),
  )
})

t.test('413: a body over the limit is refused by its reader', async (t) => {
  const { call, store } = await openScene()
  const read = async () => refuse('payload_too_large', 'The body is larger than 9 bytes.')
  const answer = await call(LOG, { json: activity, read })
  t.equal(answer.status, 413)
  t.strictSame(answer.json, problemFor(answer, 'payload_too_large', 413, 'The body is larger than 9 bytes.'))
  t.strictSame(store.kept.logs(), [])
})

t.test('415: the body must be JSON', async (t) => {
  const { call } = await openScene()
  const answer = await call(LOG, { json: activity, headers: { 'content-type': 'text/plain' } })
  t.equal(answer.status, 415)
  t.strictSame(
    answer.json,
    problemFor(answer, 'unsupported_media_type', 415, 'Unsupported content type. Send application/json.'),
  )
})

t.test('422: an idempotency key does not serve a second request', async (t) => {
  const { call, store } = await openScene()
  const json = { ...activity, idempotencyKey: 'crm-4711', email: 'ada@example.com' }
  const { json: first } = await call(LOG, { json })
  const others = [
    { ...json, type: 'form' },
    { ...json, payload: { form: 'other' } },
    { ...json, email: 'bob@example.com' },
    { ...json, name: 'Ada' },
    { ...json, prospectId: first.prospectId },
  ]
  for (const other of others) {
    const answer = await call(LOG, { json: other })
    const detail = 'This idempotency key was already used with a different request.'
    const more = { prospectLogId: first.prospectLogId }
    t.equal(answer.status, 422)
    t.strictSame(answer.json, problemFor(answer, 'idempotency_key_reused', 422, detail, more))
  }
  t.equal(store.kept.logs().length, 1)
})

t.test('422 is no concern of another source or another tenant', async (t) => {
  const { call, newTenant } = await openScene()
  const json = { ...activity, idempotencyKey: 'crm-4711' }
  await call(LOG, { json })
  t.equal((await call(LOG, { json: { ...json, source: 'shop', type: 'x' } })).status, 201)
  t.equal((await call(LOG, { key: (await newTenant()).apiKey, json: { ...json, type: 'x' } })).status, 201)
})

t.test('429: past the rate of the key nothing is logged', async (t) => {
  const { call, store } = await openScene({ rateLimitPerMinute: 1 })
  t.equal((await call(LOG, { json: activity })).status, 201)
  const answer = await call(LOG, { json: activity })
  const detail = 'This API key has used up its requests per minute.'
  t.equal(answer.status, 429)
  t.equal(answer.headers['retry-after'], '60')
  t.strictSame(answer.json, problemFor(answer, 'rate_limited', 429, detail))
  t.equal(store.kept.logs().length, 1)
})

t.test('500: a fault of ours is not told to the caller', async (t) => {
  const why = new Error('ada@example.com broke it')
  const { call, errors } = await openScene({
    storeAs: (store) => ({ ...store, activities: failing(store.activities, why) }),
  })
  const answer = await call(LOG, { json: { ...activity, email: 'ada@example.com' } })
  const detail =
    'An unexpected error occurred in the service. `instance` is the id of the request in the server logs.'
  t.equal(answer.status, 500)
  t.strictSame(answer.json, problemFor(answer, 'internal_error', 500, detail))
  t.strictSame(errors, [{ error: why, requestId: answer.json.instance }])
})

t.test('503: without its database the service asks to come again', async (t) => {
  const { call, errors } = await openScene({
    storeAs: (store) => ({ ...store, activities: failing(store.activities, DATABASE_AWAY) }),
  })
  const answer = await call(LOG, { json: activity })
  t.equal(answer.status, 503)
  t.equal(answer.headers['retry-after'], '5')
  t.strictSame(answer.json, problemFor(answer, 'unavailable', 503, 'The database is away.'))
  t.strictSame(errors, [])
})
