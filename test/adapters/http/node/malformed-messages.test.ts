import { once } from 'node:events'
import t from 'tap'
import { heldLists } from '../../../support/api.ts'
import { codesOf, requestOf } from '../../../support/dial.ts'
import { ACTIVITY, serve, TOO_LARGE_HEADER } from './serve.ts'

t.setTimeout(0)

for (const { title, text } of [
  { title: 'not HTTP', text: 'HELLO\r\n\r\n' },
  { title: 'a target with a blank', text: requestOf('GET /v0/page groups', []) },
  { title: 'a header without a name', text: requestOf('GET /healthz', [': x']) },
  { title: 'a header with a line break', text: requestOf('GET /healthz', ['x-api-key: a\n b\rc']) },
  { title: 'a negative length', text: requestOf('POST /v0/prospect_logs', ['Content-Length: -1']) },
  {
    title: 'a chunk without a size',
    text: requestOf('GET /healthz', ['Transfer-Encoding: chunked'], 'x\r\n'),
  },
  { title: 'no version', text: 'GET /healthz\r\n\r\n' },
])
  t.test(`a malformed message gets one problem, and its connection is closed: ${title}`, async (t) => {
    const { dial } = await serve(t)
    const answers = await dial().send(text).closed()
    t.equal(answers.length, 1)
    const [answer] = answers
    t.equal(answer?.status, 400)
    t.equal(answer?.headers['content-type'], 'application/problem+json')
    t.equal(answer?.headers['connection'], 'close')
    t.match(answer?.json, { type: '/problems/invalid_request', status: 400, code: 'invalid_request' })
    t.equal(answer?.json.instance, answer?.headers['x-request-id'])
  })

t.test('headers that are too large are refused as such', async (t) => {
  const { dial } = await serve(t)
  const answers = await dial()
    .send(requestOf('GET /healthz', [TOO_LARGE_HEADER]))
    .closed()
  t.match(answers[0], { status: 431, json: { status: 431, code: 'headers_too_large' } })
})

for (const { title, header, replacement } of [
  { title: 'without a host', header: 'Host: localhost\r\n', replacement: '' },
  { title: 'with two hosts', header: 'Host', replacement: 'Host: other\r\nHost' },
])
  t.test(`a request ${title} is refused with a problem`, async (t) => {
    const { ask, textOf } = await serve(t)
    const answer = await ask(textOf('GET /v0/page_groups').replace(header, replacement))
    t.equal(answer.status, 400)
    t.equal(answer.json.code, 'invalid_request')
    t.equal(answer.json.instance, answer.headers['x-request-id'])
    t.equal(answer.headers['connection'], 'close')
  })

t.test('a request of HTTP/1.0 with a Transfer-Encoding is refused, and its connection ends', async (t) => {
  const { ask } = await serve(t)
  const text = 'POST /v0/prospect_logs HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'
  const detail = 'HTTP/1.0 has no Transfer-Encoding.'
  t.match(await ask(text), { status: 400, headers: { connection: 'close' }, json: { detail } })
})

t.test('a request of HTTP/1.0 needs no host', async (t) => {
  const { dial } = await serve(t)
  const answers = await dial().send('GET /healthz HTTP/1.0\r\n\r\n').closed()
  t.strictSame(codesOf(answers), [200])
})

t.test('a request with two lengths is refused', async (t) => {
  const { ask, logOf, store } = await serve(t)
  for (const header of ['Content-Length: 29', 'Content-Length: 5', 'Transfer-Encoding: chunked'])
    t.match(await ask(logOf(ACTIVITY, [header])), { status: 400, json: { code: 'invalid_request' } }, header)
  t.strictSame(store.kept.logs(), [])
})

t.test('bytes that are not HTTP are refused after the earlier requests are answered', async (t) => {
  const { storeAs, letGo } = heldLists()
  const { dial, textOf, http } = await serve(t, { storeAs })
  const malformed = once(http.server, 'clientError')
  const connection = dial().send(textOf('GET /v0/page_groups'), textOf('GET /healthz'), 'HELLO\r\n\r\n')
  await malformed
  letGo()
  t.strictSame(codesOf(await connection.closed()), [200, 200, 'invalid_request'])
})
