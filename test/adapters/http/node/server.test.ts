import t from 'tap'
import { SECURITY_HEADERS } from '../../../support/api.ts'
import { codesOf, requestOf } from '../../../support/dial.ts'
import { ACTIVITY, awaitUnreadBodies, JSON_TYPE, LIMITS, serve, TOO_LARGE_HEADER } from './serve.ts'

t.setTimeout(0)

t.test('a connection serves one request after another', async (t) => {
  const { dial, textOf, logOf } = await serve(t)
  const connection = dial()
  const [first] = await connection.send(textOf('GET /v0/page_groups')).answers(1)
  const [, second] = await connection.send(logOf(ACTIVITY)).answers(2)
  const [, , third] = await connection.send(textOf('GET /v0/nowhere')).answers(3)
  t.strictSame([first?.status, second?.status, third?.status], [200, 201, 404])
  t.equal(third?.headers['connection'], 'keep-alive')
})

t.test('pipelined requests are answered in order', async (t) => {
  const { dial, textOf, logOf, owner } = await serve(t)
  const refused = textOf('GET /v0/page_groups').replace(owner.apiKey, 'wrong')
  const sent = [logOf(ACTIVITY), textOf('GET /healthz'), refused, textOf('HEAD /healthz'), logOf('{}')]
  const answers = await dial().send(sent.join('')).answers(5)
  t.strictSame(codesOf(answers), [201, 200, 'invalid_api_key', 200, 'invalid_request'])
})

t.test('a body may arrive in pieces, cut anywhere', async (t) => {
  const { dial, textOf, store } = await serve(t)
  const connection = dial()
  const chunks = ['{"source":"crm","payl', 'oad":{"a":"\xc3', '\xa9"}}']
  connection.send(textOf('POST /v0/prospect_logs', [JSON_TYPE, 'Transfer-Encoding: chunked']))
  for (const chunk of chunks) connection.send(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  const [answer] = await connection.send('0\r\n\r\n').answers(1)
  t.equal(answer?.status, 201)
  t.equal(store.kept.logs()[0]?.payload.rawJson, '{"a":"é"}')
})

t.test('a body may be as large as the limit, and not a byte larger', async (t) => {
  const { ask, logOf } = await serve(t)
  const largest = ACTIVITY.padEnd(LIMITS.bodyBytesMax)
  t.equal((await ask(logOf(largest))).status, 201)
  t.match(await ask(logOf(`${largest} `)), { status: 413, json: { code: 'payload_too_large' } })
})

const MIB = 1_048_576
const CHUNK_BYTES = 65_536
const CHUNK = `${CHUNK_BYTES.toString(16)}\r\n${' '.repeat(CHUNK_BYTES)}\r\n`
const LAST_CHUNK = '0\r\n\r\n'

t.test('413: a sender of far too much by Content-Length can read the answer', async (t) => {
  awaitUnreadBodies(t)
  const { dial, logOf, store } = await serve(t)
  const answers = await dial()
    .send(logOf(ACTIVITY.padEnd(8 * MIB)))
    .closed()
  t.strictSame(codesOf(answers), ['payload_too_large'])
  t.equal(answers[0]?.headers['connection'], 'close')
  t.equal(answers[0]?.json.detail, 'The body is larger than 1024 bytes.')
  t.strictSame(store.kept.logs(), [])
})

t.test('413: a sender of far too much in chunks can read the answer', async (t) => {
  awaitUnreadBodies(t)
  const { dial, textOf, store } = await serve(t)
  const connection = dial().send(textOf('POST /v0/prospect_logs', [JSON_TYPE, 'Transfer-Encoding: chunked']))
  for (let bytes = 0; bytes < 8 * MIB; bytes += CHUNK_BYTES) connection.send(CHUNK)
  const answers = await connection.send(LAST_CHUNK).closed()
  t.strictSame(codesOf(answers), ['payload_too_large'])
  t.equal(answers[0]?.headers['connection'], 'close')
  t.strictSame(store.kept.logs(), [])
})

t.test('an unread body is not mistaken for the next request', async (t) => {
  const { dial, logOf } = await serve(t, { limits: { keepAliveMs: 1 } })
  const hidden = requestOf('GET /healthz', []).padEnd(64 * 1_024)
  const answers = await dial().send(logOf(hidden).replace('x-api-key', 'x-other')).closed()
  t.strictSame(codesOf(answers), ['missing_api_key'])
})

t.test('100: the body is requested after every other check has passed', async (t) => {
  const { dial, textOf, store } = await serve(t)
  const headers = [JSON_TYPE, `Content-Length: ${ACTIVITY.length}`, 'Expect: 100-continue']
  const connection = dial().send(textOf('POST /v0/prospect_logs', headers))
  t.strictSame(codesOf(await connection.answers(1)), [100])
  t.strictSame(store.kept.logs(), [])
  t.strictSame(codesOf(await connection.send(ACTIVITY).answers(2)), [100, 201])
})

for (const { status, header, replacement } of [
  { status: 401, header: /x-api-key: .*/, replacement: 'x-api-key: wrong' },
  { status: 413, header: /Content-Length: .*/, replacement: 'Content-Length: 1025' },
  { status: 415, header: /Content-Type: .*/, replacement: 'Content-Type: text/plain' },
])
  t.test(`${status} is sent before the body is requested`, async (t) => {
    const { dial, textOf } = await serve(t)
    const headers = [JSON_TYPE, 'Content-Length: 30', 'Expect: 100-continue']
    const text = textOf('POST /v0/prospect_logs', headers).replace(header, replacement)
    const [first] = await dial().send(text).answers(1)
    t.equal(first?.status, status)
    t.equal(first?.headers['connection'], 'close')
  })

t.test('503 is sent before the body is requested', async (t) => {
  const { dial, textOf } = await serve(t, { bodyBytesHeldMax: 10 })
  const headers = [JSON_TYPE, 'Content-Length: 30', 'Expect: 100-continue']
  const [first] = await dial().send(textOf('POST /v0/prospect_logs', headers)).answers(1)
  t.match(first, { status: 503, headers: { connection: 'close' } })
})

t.test('a request without a body is accepted however many bytes others hold', async (t) => {
  const { ask, textOf, newGroup } = await serve(t, { bodyBytesHeldMax: LIMITS.bodyBytesMax - 1 })
  const { pageGroupId } = await newGroup()
  const create = `POST /v0/page_groups/${pageGroupId}/pages`
  t.equal((await ask(textOf(create))).status, 201)
  const chunked = textOf(create, [JSON_TYPE, 'Transfer-Encoding: chunked'])
  t.equal((await ask(`${chunked}0\r\n\r\n`)).status, 503)
})

for (const { method, status } of [
  { method: 'OPTIONS', status: 204 },
  { method: 'HEAD', status: 200 },
])
  t.test(`${method}: an answer without a body does not wait for the rest of the request's`, async (t) => {
    awaitUnreadBodies(t)
    const { dial, textOf } = await serve(t)
    const connection = dial().send(textOf(`${method} /v0/page_groups`, ['Content-Length: 5']))
    t.strictSame(codesOf(await connection.answers(1)), [status])
    connection.hangUp()
  })

t.test('a target may be an absolute URL', async (t) => {
  const { ask, textOf } = await serve(t)
  const answer = await ask(textOf('GET http://localhost/v0/page_groups?limit=7'))
  t.match(answer, { status: 200, json: { limit: 7 } })
  t.equal((await ask(textOf('GET http://localhost'))).status, 404)
})

t.test('401: a key that is sent twice is invalid, even if both are equal', async (t) => {
  const { ask, textOf, owner } = await serve(t)
  const detail = 'The header x-api-key must not be given more than once.'
  for (const header of [`x-api-key: ${owner.apiKey}`, 'X-API-Key:', 'x-api-key: other'])
    t.match(
      await ask(textOf('GET /v0/page_groups', [header])),
      { status: 401, json: { code: 'invalid_api_key', detail } },
      header,
    )
})

for (const { title, headers, parameter } of [
  {
    title: 'Idempotency-Key',
    headers: ['Idempotency-Key: a', 'Idempotency-Key: a'],
    parameter: 'Idempotency-Key',
  },
  // One of them is there already.
  { title: 'Content-Type', headers: [JSON_TYPE], parameter: 'content-type' },
])
  t.test(`400: ${title} may be sent only once`, async (t) => {
    const { ask, logOf, store } = await serve(t)
    const answer = await ask(logOf(ACTIVITY, headers))
    t.equal(answer.status, 400)
    t.match(answer.json.errors, [{ detail: 'must not be given more than once', parameter }])
    t.strictSame(store.kept.logs(), [])
  })

t.test('the header Idempotency-Key is read as UTF-8', async (t) => {
  const { ask, logOf, store } = await serve(t)
  t.equal((await ask(logOf(ACTIVITY, ['Idempotency-Key: cl\xc3\xa9']))).status, 201)
  t.equal(store.kept.logs()[0]?.idempotencyKey, 'clé')
  t.equal((await ask(logOf(ACTIVITY, ['Idempotency-Key: cl\xe9']))).status, 400)
})

/** Nothing else is sent: no permission for browsers of other sites, and no names of the server's parts. */
const HEADERS = [
  ...Object.keys(SECURITY_HEADERS),
  'x-request-id',
  'content-type',
  'content-length',
  'etag',
  'location',
  'allow',
  'date',
  'connection',
  'keep-alive',
  'www-authenticate',
]

t.test('every answer has the security headers, and no others', async (t) => {
  const { ask, textOf, logOf } = await serve(t)
  for (const text of [
    logOf(ACTIVITY),
    logOf('{}'),
    textOf('OPTIONS /v0/page_groups'),
    textOf('PUT /v0/page_groups'),
    textOf('GET /healthz'),
    requestOf('GET /v0/prospects', []),
    'GET /healthz HTTP/1.1\r\n\r\n',
    'HELLO\r\n\r\n',
    'OPTIONS * HTTP/9.9\r\nHost: a\r\n\r\n',
    requestOf('GET /healthz', [TOO_LARGE_HEADER]),
  ]) {
    const { headers } = await ask(text)
    t.match(headers, { ...SECURITY_HEADERS, 'x-request-id': /./ }, text.slice(0, 60))
    const others = Object.keys(headers).filter((name) => !HEADERS.includes(name))
    t.strictSame(others, [], 'no x-powered-by, server, access-control-* or set-cookie')
  }
})

t.test('HEAD has the length of the answer but no body', async (t) => {
  const { dial, textOf } = await serve(t)
  const connection = dial().send(textOf('HEAD /v0/page_groups')).send(textOf('GET /v0/page_groups'))
  const [head, get] = await connection.answers(2)
  t.equal(head?.status, 200)
  t.equal(head?.headers['content-length'], String(get?.body.length))
  t.equal(get?.body, '{"items":[],"hasMore":false,"limit":20}\n')
})
