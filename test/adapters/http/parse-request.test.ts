import t from 'tap'
import { type Answer, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'

const LOG = 'POST /v0/prospect_logs'
const GROUPS = 'GET /v0/page_groups'
const activity = { source: 'crm', payload: {} }

/** Sends a body as it is; what was stored of it, if anything, comes along. */
const send = async (body: string | Uint8Array) => {
  const { call, store } = await openScene()
  const answer = await call(LOG, { body })
  return { answer, stored: store.kept.logs()[0] }
}
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

for (const [what, payload] of [
  ['blanks and line breaks', '{ "a" :\t1 ,\r\n  "b": [ ] }'],
  ['numbers beyond a double', '{"a":12345678901234567890,"b":1e131071,"c":1.10,"d":-0,"e":0.1e-7}'],
  ['a NUL escape', '{"a":"\\u0000","\\u0000":1}'],
  ['half of a surrogate pair as an escape', '{"a":"\\ud83d","\\udc00":"\\uD83D\\uDE00"}'],
  ['duplicate members', '{"a":1,"a":{"a":2},"a":3}'],
  ['prototype names', '{"__proto__":{"admin":true},"constructor":{"prototype":{}},"toString":null}'],
  ['our own words', '{"rawJson":"[]","payload":{"payload":1},"source":"x"}'],
  ['quotes, brackets and backslashes in texts', '{"a\\"}":"}]\\\\","b":"\\\\\\"{","c":"\\/"}'],
  ['characters beyond ASCII', '{"é":"😀","\u2028":"\u2029"}'],
  ['nothing', '{}'],
] as const)
  t.test(`a payload is stored exactly as sent: ${what}`, async (t) => {
    const { answer, stored } = await send(`\n{ "source":"crm", "payload" :\t${payload}\n, "more":1}\r\n`)
    t.equal(answer.status, 201)
    t.equal(stored?.payload.rawJson, payload)
  })

t.test('the last of duplicate members counts, including its text', async (t) => {
  const { answer, stored } = await send('{"payload":{"a":1},"source":"x","payload":{ "b":2 },"source":"y"}')
  t.match(answer, { status: 201, json: { source: 'y' } })
  t.equal(stored?.payload.rawJson, '{ "b":2 }')
  const { answer: wrong } = await send('{"source":"x","payload":{},"payload":5}')
  t.strictSame(wrong.json.errors, [{ detail: 'must be an object', pointer: '/payload' }])
})

t.test('values may nest 512 deep, and no deeper', async (t) => {
  const { answer, stored } = await send(`{"source":"crm","payload":{"a":${nested(511)}}}`)
  t.equal(answer.status, 201)
  t.equal(stored?.payload.rawJson, `{"a":${nested(511)}}`)
  for (const body of [
    `{"source":"crm","payload":{"a":${nested(512)}}}`,
    `{"source":"crm","payload":{},"more":${nested(513)}}`,
    `{"source":"crm","payload":{"a":${nested(200_000)}}}`,
  ]) {
    const { answer, stored } = await send(body)
    t.equal(answer.status, 400)
    const detail = 'The body is nested deeper than 512 levels.'
    t.strictSame(answer.json, problemFor(answer, 'invalid_json', 400, detail))
    t.equal(stored, undefined)
  }
})

for (const [what, body] of [
  ['a lone continuation byte', Buffer.from('{"source":"\x80","payload":{}}', 'latin1')],
  ['Latin-1', Buffer.from('{"source":"é","payload":{}}', 'latin1')],
  ['half of a surrogate pair in bytes', Buffer.from('{"source":"\xed\xa0\xbd","payload":{}}', 'latin1')],
  ['an overlong slash', Buffer.from('{"source":"\xc0\xaf","payload":{}}', 'latin1')],
  ['UTF-16', Buffer.from('{"source":"é","payload":{}}', 'utf16le')],
] as const)
  t.test(`a body that is not UTF-8 is refused: ${what}`, async (t) => {
    const { answer, stored } = await send(body)
    t.equal(answer.status, 400)
    t.match(answer.json, { code: 'invalid_json' })
    t.equal(stored, undefined)
  })

for (const body of [
  '{"source":"crm","payload":{}} x',
  "{'source':'crm'}",
  '{"source":"crm","payload":{},}',
  '{"source":"crm","payload":{"a":01}}',
  '{"source":"crm","payload":{"a":NaN}}',
  '{"source":"a\nb","payload":{}}',
  ' ',
])
  t.test(`a body that is not JSON is refused: ${JSON.stringify(body)}`, async (t) => {
    const { answer, stored } = await send(body)
    t.equal(answer.status, 400)
    t.match(answer.json, {
      code: 'invalid_json',
      detail: /^The body is not well-formed JSON( at position \d+)?\.$/,
    })
    t.equal(stored, undefined)
  })

t.test('a byte order mark before the body is skipped', async (t) => {
  const { answer, stored } = await send('\ufeff{"source":"crm","payload":{"a":"\ufeff"}}')
  t.equal(answer.status, 201)
  t.equal(stored?.payload.rawJson, '{"a":"\ufeff"}')
})

t.test('prototype names in a body set nothing', async (t) => {
  const { answer } = await send('{"__proto__":{"source":"crm","payload":{}},"constructor":{"name":"x"}}')
  t.strictSame(answer.json.errors, [
    { detail: 'is required', pointer: '/source' },
    { detail: 'is required', pointer: '/payload' },
  ])
  const { answer: fine, stored } = await send('{"source":"crm","payload":{},"__proto__":{"name":"x"}}')
  t.equal(fine.status, 201)
  t.equal(stored?.name, null)
  t.notOk('source' in {}, 'no object has got a source')
})

t.test('prototype names in a query or a path are ordinary names', async (t) => {
  const { call } = await openScene()
  const unknown = await call(`${GROUPS}?__proto__=1&constructor=2&toString=4`)
  t.match(unknown.json.errors, [
    { parameter: '__proto__' },
    { parameter: 'constructor' },
    { parameter: 'toString' },
  ])
  for (const id of ['__proto__', 'constructor', 'hasOwnProperty'])
    t.match(await call(`${GROUPS}/${id}/pages`), { status: 404, json: { code: 'page_group_not_found' } })
  t.match(await call('GET /__proto__'), { status: 404, json: { code: 'not_found' } })
  t.match(await call('GET /problems/__proto__'), { status: 404, json: { code: 'not_found' } })
})

t.test('an unknown member is refused by name, except in activities, whose receipt names it', async (t) => {
  const { call, newGroup } = await openScene()
  const { pageGroupId } = await newGroup()
  const near = { emial: 'ada@example.com', playload: {}, idempotency_key: 'k', Source: 'x' }
  const ignored = ['emial', 'playload', 'idempotency_key', 'Source']
  t.match(await call(LOG, { json: { ...activity, ...near } }), { status: 201, json: { ignored } })
  t.notOk('ignored' in (await call(LOG, { json: activity })).json)
  const batch = { items: [{ ...activity, ...near }], item: [] }
  t.match((await call(`${LOG}/batch`, { json: batch })).json, {
    items: [{ status: 201, prospectLog: { ignored } }],
    ignored: ['item'],
  })
  const content = { long: 'x'.repeat(100_000) }
  t.match(await call(`POST /v0/page_groups/${pageGroupId}/pages`, { json: { publsh: false, content } }), {
    status: 400,
    json: {
      code: 'invalid_request',
      errors: [{ detail: 'is not a known member; did you mean `publish`?', pointer: '/publsh' }],
    },
  })
})

t.test('application/json is read, even with a charset of UTF-8', async (t) => {
  const { call } = await openScene()
  for (const type of [
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json ; charset="utf-8"',
    'application/json; profile=x',
  ])
    t.equal((await call(LOG, { json: activity, headers: { 'content-type': type } })).status, 201, type)
})

t.test('any other type, character set or encoding is refused', async (t) => {
  const { call, store } = await openScene()
  for (const headers of [
    { 'content-type': undefined },
    { 'content-type': '' },
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/jsonx' },
    { 'content-type': 'application/json-patch+json' },
    { 'content-type': 'application/vnd.api+json' },
    { 'content-type': 'application/json, text/plain' },
    { 'content-type': 'multipart/form-data; boundary=application/json' },
    { 'content-type': 'application/json; charset=latin1' },
    { 'content-type': 'application/json; charset="utf-16"' },
    { 'content-encoding': 'gzip' },
    { 'content-encoding': 'br' },
    { 'content-encoding': 'identity, gzip' },
    { 'transfer-encoding': 'gzip, chunked' },
  ]) {
    const answer = await call(LOG, { json: activity, headers })
    t.match(answer, { status: 415, json: { code: 'unsupported_media_type' } }, JSON.stringify(headers))
  }
  t.strictSame(store.kept.logs(), [])
})

t.test('a page is created without a body, however its absence is expressed', async (t) => {
  const { call, newGroup } = await openScene()
  const { pageGroupId } = await newGroup()
  for (const headers of [
    {},
    { 'content-length': '0' },
    { 'content-length': '0', 'content-type': 'text/plain' },
    { 'content-type': 'application/json' },
    { 'transfer-encoding': 'chunked', 'content-type': 'application/json' },
  ])
    t.equal(
      (await call(`POST /v0/page_groups/${pageGroupId}/pages`, { headers })).status,
      201,
      JSON.stringify(headers),
    )
})

/** Header values come from the socket byte by byte. */
const asHeader = (text: string) => Buffer.from(text).toString('latin1')

t.test('the header Idempotency-Key replaces the field of the body', async (t) => {
  const { call, store } = await openScene()
  const headers = { 'idempotency-key': asHeader('clé 😀') }
  const first = await call(LOG, { json: activity, headers })
  const same = await call(LOG, { json: { ...activity, idempotencyKey: 'clé 😀' } })
  const both = await call(LOG, { json: { ...activity, idempotencyKey: 'clé 😀' }, headers })
  t.equal(first.status, 201)
  for (const again of [same, both]) {
    t.equal(again.body, first.body)
    t.equal(again.headers['idempotent-replayed'], 'true')
  }
  t.strictSame(
    store.kept.logs().map(({ idempotencyKey }) => idempotencyKey),
    ['clé 😀'],
  )
})

t.test('two different idempotency keys for one request are refused', async (t) => {
  const { call, store } = await openScene()
  const answer = await call(LOG, {
    json: { ...activity, idempotencyKey: 'a' },
    headers: { 'idempotency-key': 'b' },
  })
  const detail = 'must be the same in the body and in the Idempotency-Key header'
  const errors = [
    { detail, pointer: '/idempotencyKey' },
    { detail, parameter: 'Idempotency-Key' },
  ]
  t.equal(answer.status, 400)
  t.strictSame(
    answer.json,
    problemFor(
      answer,
      'invalid_request',
      400,
      'The body and the Idempotency-Key header contain different idempotency keys.',
      { errors },
    ),
  )
  t.strictSame(store.kept.logs(), [])
})

t.test('the header Idempotency-Key is 1 to 255 code points of UTF-8', async (t) => {
  const { call, newGroup } = await openScene()
  const { pageGroupId } = await newGroup()
  const errors = [{ detail: 'must be 1 to 255 characters of UTF-8', parameter: 'Idempotency-Key' }]
  for (const [operation, json] of [
    [LOG, activity],
    [`POST /v0/page_groups/${pageGroupId}/pages`, {}],
  ] as const) {
    for (const key of ['x', '😀'.repeat(255), '\ufffd'])
      t.equal((await call(operation, { json, headers: { 'idempotency-key': asHeader(key) } })).status, 201)
    for (const key of ['', 'x'.repeat(256), asHeader('😀'.repeat(256)), 'cl\xe9', '\xed\xa0\xbd']) {
      const answer = await call(operation, { json, headers: { 'idempotency-key': key } })
      t.equal(answer.status, 400)
      t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }))
    }
  }
})

t.test('a limit is decoded before it is read, and is 20 by default', async (t) => {
  const { call } = await openScene()
  const limits = { 'limit=1': 1, 'limit=100': 100, 'limit=007': 7, '%6Cimit=%35': 5, '': 20, '&&': 20 }
  for (const [query, limit] of Object.entries(limits))
    t.match(await call(`${GROUPS}?${query}`), { status: 200, json: { limit } }, query)
})

t.test('a limit that has no digits after decoding is refused', async (t) => {
  const { call } = await openScene()
  for (const limit of ['', '101', '+5', '%2B5', '5%20', '%D9%A5', '99999999999999999999']) {
    const { status, json } = await call(`${GROUPS}?limit=${limit}`)
    const errors = [{ detail: 'must be a whole number from 1 to 100', parameter: 'limit' }]
    t.strictSame([status, json.errors], [400, errors], limit)
  }
})

t.test('a known parameter may be sent only once', async (t) => {
  const { call } = await openScene()
  for (const [query, parameter] of [
    ['limit=5&limit=5', 'limit'],
    ['limit=5&%6cimit=6', 'limit'],
    ['status=active&status=archived', 'status'],
    ['cursor=&cursor=', 'cursor'],
  ] as const) {
    const answer = await call(`${GROUPS}?${query}`)
    t.equal(answer.status, 400)
    t.strictSame(answer.json.errors, [{ detail: 'must not be given more than once', parameter }], query)
  }
})

t.test('an unknown parameter is refused, and the refusal names the known ones', async (t) => {
  const { call } = await openScene()
  const detail = 'unknown parameter; the parameters are: cursor, limit, status'
  for (const [query, parameter] of [
    ['limits=0', 'limits'],
    ['Limit=0', 'Limit'],
    ['x=%C3%28', 'x'],
    ['%=1', '%'],
    ['=', ''],
  ] as const) {
    const { status, json } = await call(`${GROUPS}?${query}`)
    t.strictSame(
      [status, json['code'], json['errors']],
      [400, 'invalid_request', [{ detail, parameter }]],
      query,
    )
  }
  const none = [{ detail: 'this operation has no query parameters', parameter: 'limit' }]
  const first = ({ json }: Answer) => [json['errors']].flat().slice(0, 1)
  for (const target of [LOG, 'POST /v0/erasures', 'GET /v0/page_groups/x', 'DELETE /v0/page_groups/x'])
    t.strictSame(first(await call(`${target}?limit=1`, { json: {} })), none, target)
  for (const target of ['GET /', 'GET /healthz', 'GET /openapi.json'])
    t.equal((await call(`${target}?x=1`)).status, 200, target)
})

t.test('a parameter that cannot be decoded is refused', async (t) => {
  const { call } = await openScene()
  const answer = await call(`${GROUPS}?cursor=%C3%28`)
  t.equal(answer.status, 400)
  t.strictSame(answer.json.errors, [{ detail: 'must be well-formed percent-encoding', parameter: 'cursor' }])
})

t.test('a path matches exactly, with nothing added', async (t) => {
  const { call } = await openScene()
  for (const target of ['//', '/v0', '/v0/', '//v0/page_groups', '/v0/page_groups/', '/V0/page_groups', '*'])
    t.match(await call(`GET ${target}`), { status: 404, json: { code: 'not_found' } }, target)
  for (const target of ['/v0/page_groups//pages', '/v0/page_groups/x/pages/', '/v0/page_groups/x'])
    t.match(await call(`GET ${target}`), { status: 404, json: { code: 'not_found' } }, target)
  t.equal((await call('GET /v0/page_groups#limit=0')).status, 200)
})

t.test('every answer to a key with a rate limit has the remaining requests', async (t) => {
  const { call } = await openScene({ rateLimitPerMinute: 2 })
  const limitsShown = async (query: string) => {
    const { status, headers } = await call(`${GROUPS}?${query}`)
    t.equal(headers['ratelimit-policy'], '"per-minute";q=2;w=60')
    return { status, limit: headers['ratelimit'], retryAfter: headers['retry-after'] }
  }
  const first = { status: 200, limit: '"per-minute";r=1;t=0', retryAfter: undefined }
  t.strictSame(await limitsShown(''), first)
  const invalid = { status: 400, limit: '"per-minute";r=0;t=30', retryAfter: undefined }
  t.strictSame(await limitsShown('limit=0'), invalid)
  const refused = { status: 429, limit: '"per-minute";r=0;t=30', retryAfter: '30' }
  t.strictSame(await limitsShown(''), refused)
})

t.test('without a rate limit no answer mentions one', async (t) => {
  const { call } = await openScene()
  const { headers } = await call(GROUPS)
  t.notMatch(Object.keys(headers).join(), /ratelimit|retry-after/)
})
