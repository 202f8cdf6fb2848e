import t from 'tap'
import { createHttpServer, type ServerLimits } from '../../../../src/adapters/http/node/server.ts'
import type { Store } from '../../../../src/core/ports/store.ts'
import { heldLists, openScene, SECURITY_HEADERS } from '../../../support/api.ts'
import { type Answer, codesOf, dial, requestOf } from '../../../support/dial.ts'
import { until } from '../../../support/program.ts'

t.setTimeout(0)

const LIMITS: ServerLimits = {
  bodyBytesMax: 1_024,
  batchBytesMax: 8_192,
  headersMsMax: 20_000,
  requestMsMax: 20_000,
  keepAliveMs: 20_000,
  connectionsMax: 100,
  unsentBytesMax: 1e6,
}
type Owner = { readonly teardown: (end: () => Promise<void>) => void }

/** The API of a scene on a free port of the loopback; ended with the test. */
const serve = async (
  t: Owner,
  { limits = {}, ...options }: Parameters<typeof openScene>[0] & { limits?: Partial<ServerLimits> } = {},
) => {
  const scene = await openScene(options)
  const { api, newRequestId, owner } = scene
  const badMessages: string[] = []
  const http = createHttpServer({
    api,
    limits: { ...LIMITS, ...limits },
    newRequestId,
    onMalformed: (requestId, { message }) => badMessages.push(`${requestId}: ${message}`),
  })
  const port = await http.listen('127.0.0.1', 0)
  t.teardown(() => http.drain(0))
  const call = (line: string, headers: readonly string[] = [], body = '') =>
    requestOf(line, [`x-api-key: ${owner.apiKey}`, ...headers], body)
  return {
    ...scene,
    http,
    badMessages,
    dial: () => dial(port),
    /** A request with Host and the owner's key, as text. */
    textOf: call,
    /** The text of an activity's request, with the length of its body. */
    logOf: (body: string, headers: readonly string[] = []) =>
      call('POST /v0/prospect_logs', [JSON_TYPE, `Content-Length: ${body.length}`, ...headers], body),
    /** Sends a text over a separate connection. Returns the first answer. */
    ask: async (text: string) => {
      const [answer] = await dial(port).send(text).answers(1)
      return answer as Answer
    },
  }
}

const JSON_TYPE = 'Content-Type: application/json'
const ACTIVITY = '{"source":"crm","payload":{}}'

t.test('a connection serves one request after another', async (t) => {
  const { dial, textOf, logOf } = await serve(t)
  const line = dial()
  const [first] = await line.send(textOf('GET /v0/page_groups')).answers(1)
  const [, second] = await line.send(logOf(ACTIVITY)).answers(2)
  const [, , third] = await line.send(textOf('GET /v0/nowhere')).answers(3)
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
  const line = dial()
  const chunks = ['{"source":"crm","payl', 'oad":{"a":"\xc3', '\xa9"}}']
  line.send(textOf('POST /v0/prospect_logs', [JSON_TYPE, 'Transfer-Encoding: chunked']))
  for (const chunk of chunks) line.send(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  const [answer] = await line.send('0\r\n\r\n').answers(1)
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
t.test('413: a sender of far too much by Content-Length can read the answer', async (t) => {
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
  const { dial, textOf, store } = await serve(t)
  const line = dial().send(textOf('POST /v0/prospect_logs', [JSON_TYPE, 'Transfer-Encoding: chunked']))
  for (let i = 0; i < 128; i++) line.send(`10000\r\n${' '.repeat(0x1_00_00)}\r\n`)
  const answers = await line.send('0\r\n\r\n').closed()
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
  const line = dial().send(textOf('POST /v0/prospect_logs', headers))
  t.strictSame(codesOf(await line.answers(1)), [100])
  t.strictSame(store.kept.logs(), [])
  t.strictSame(codesOf(await line.send(ACTIVITY).answers(2)), [100, 201])
})

for (const [status, header, instead] of [
  [401, 'x-api-key', 'x-api-key: wrong'],
  [413, 'Content-Length', 'Content-Length: 1025'],
  [415, 'Content-Type', 'Content-Type: text/plain'],
] as const)
  t.test(`${status} is sent before the body is requested`, async (t) => {
    const { dial, textOf } = await serve(t)
    const headers = [JSON_TYPE, 'Content-Length: 30', 'Expect: 100-continue']
    const text = textOf('POST /v0/prospect_logs', headers).replace(new RegExp(`${header}: .*`), instead)
    const [first] = await dial().send(text).answers(1)
    t.equal(first?.status, status)
    t.equal(first?.headers['connection'], 'close')
  })

t.test('a request without a body is accepted however many bytes others hold', async (t) => {
  const { ask, textOf, newGroup } = await serve(t, { bodyBytesHeldMax: LIMITS.bodyBytesMax - 1 })
  const { pageGroupId } = await newGroup()
  const create = `POST /v0/page_groups/${pageGroupId}/pages`
  t.equal((await ask(textOf(create))).status, 201)
  const chunked = textOf(create, [JSON_TYPE, 'Transfer-Encoding: chunked'])
  t.equal((await ask(`${chunked}0\r\n\r\n`)).status, 503)
})

t.test('503 is sent before the body is requested', async (t) => {
  const { dial, textOf } = await serve(t, { bodyBytesHeldMax: 10 })
  const headers = [JSON_TYPE, 'Content-Length: 30', 'Expect: 100-continue']
  const [first] = await dial().send(textOf('POST /v0/prospect_logs', headers)).answers(1)
  t.match(first, { status: 503, headers: { connection: 'close' } })
})

t.test('an answer without a body does not wait for the rest of an unread body', async (t) => {
  const { dial, textOf } = await serve(t)
  // The timer that gives up the rest of a body never fires.
  const { setTimeout } = globalThis
  t.teardown(() => {
    globalThis.setTimeout = setTimeout
  })
  globalThis.setTimeout = ((run: () => void, ms?: number) =>
    setTimeout(ms === 1_000 ? () => {} : run, ms)) as typeof setTimeout
  for (const [method, status] of [
    ['OPTIONS', 204],
    ['HEAD', 200],
  ] as const) {
    const line = dial().send(textOf(`${method} /v0/page_groups`, ['Content-Length: 5']))
    t.strictSame(codesOf(await line.answers(1)), [status])
    line.hangUp()
  }
})

t.test('a request without exactly one host is refused with a problem', async (t) => {
  const { ask, textOf } = await serve(t)
  const get = textOf('GET /v0/page_groups')
  for (const text of [get.replace('Host: localhost\r\n', ''), get.replace('Host', 'Host: other\r\nHost')]) {
    const answer = await ask(text)
    t.equal(answer.status, 400)
    t.equal(answer.json.code, 'invalid_request')
    t.equal(answer.json.instance, answer.headers['x-request-id'])
    t.equal(answer.headers['connection'], 'close')
  }
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

t.test('400: a header with a single value may be sent only once', async (t) => {
  const { ask, logOf, store } = await serve(t)
  for (const [headers, parameter] of [
    [['Idempotency-Key: a', 'Idempotency-Key: a'], 'Idempotency-Key'],
    [['Content-Type: application/json'], 'content-type'],
  ] as const) {
    const answer = await ask(logOf(ACTIVITY, headers))
    t.equal(answer.status, 400)
    t.match(answer.json.errors, [{ detail: 'must not be given more than once', parameter }])
  }
  t.strictSame(store.kept.logs(), [])
})

t.test('the header Idempotency-Key is read as UTF-8', async (t) => {
  const { ask, logOf, store } = await serve(t)
  t.equal((await ask(logOf(ACTIVITY, ['Idempotency-Key: cl\xc3\xa9']))).status, 201)
  t.equal(store.kept.logs()[0]?.idempotencyKey, 'clé')
  t.equal((await ask(logOf(ACTIVITY, ['Idempotency-Key: cl\xe9']))).status, 400)
})

for (const [what, text] of [
  ['not HTTP', 'HELLO\r\n\r\n'],
  ['a target with a blank', requestOf('GET /v0/page groups', [])],
  ['a header without a name', requestOf('GET /healthz', [': x'])],
  ['a header with a line break', requestOf('GET /healthz', ['x-api-key: a\n b\rc'])],
  ['a negative length', requestOf('POST /v0/prospect_logs', ['Content-Length: -1'])],
  ['a chunk without a size', requestOf('GET /healthz', ['Transfer-Encoding: chunked'], 'x\r\n')],
  ['no version', 'GET /healthz\r\n\r\n'],
] as const)
  t.test(`a malformed message gets a problem, and its connection is closed: ${what}`, async (t) => {
    const { dial } = await serve(t)
    const [answer, ...more] = (await dial().send(text).closed()).slice(what.startsWith('a chunk') ? -1 : 0)
    t.equal(answer?.status, 400)
    t.equal(answer?.headers['content-type'], 'application/problem+json')
    t.equal(answer?.headers['connection'], 'close')
    t.match(answer?.json, { type: '/problems/invalid_request', status: 400, code: 'invalid_request' })
    t.equal(answer?.json.instance, answer?.headers['x-request-id'])
    t.strictSame(more, [])
  })

t.test('headers that are too large are refused as such', async (t) => {
  const { dial } = await serve(t)
  const [answer] = await dial()
    .send(requestOf('GET /healthz', [`x-large: ${'x'.repeat(20_000)}`]))
    .closed()
  t.match(answer, { status: 431, json: { status: 431, code: 'headers_too_large' } })
})

/** Nothing else is said, least of all to browsers of other sites, or of what the server is made of. */
const HEADERS = [
  ...[...Object.keys(SECURITY_HEADERS), 'x-request-id', 'content-type', 'content-length', 'etag', 'allow'],
  ...['date', 'connection', 'keep-alive', 'www-authenticate'],
]

t.test('every answer has the security headers, and no others', async (t) => {
  const { ask, textOf, logOf } = await serve(t)
  const answered = [
    logOf(ACTIVITY),
    logOf('{}'),
    textOf('OPTIONS /v0/page_groups'),
    textOf('PUT /v0/page_groups'),
  ]
  const malformed = [
    'GET /healthz HTTP/1.1\r\n\r\n',
    'HELLO\r\n\r\n',
    'OPTIONS * HTTP/9.9\r\nHost: a\r\n\r\n',
  ]
  const large = requestOf('GET /healthz', [`x-large: ${'x'.repeat(20_000)}`])
  for (const text of [
    ...answered,
    textOf('GET /healthz'),
    requestOf('GET /v0/prospects', []),
    ...malformed,
    large,
  ]) {
    const { headers } = await ask(text)
    t.match(headers, { ...SECURITY_HEADERS, 'x-request-id': /./ }, text.slice(0, 60))
    const others = Object.keys(headers).filter((name) => !HEADERS.includes(name))
    t.strictSame(others, [], 'no x-powered-by, server, access-control-* or set-cookie')
  }
})

t.test('HEAD has the length of the answer but no body', async (t) => {
  const { dial, textOf } = await serve(t)
  const line = dial().send(textOf('HEAD /v0/page_groups')).send(textOf('GET /v0/page_groups'))
  const [head, get] = await line.answers(2)
  t.equal(head?.status, 200)
  t.equal(head?.headers['content-length'], String(get?.body.length))
  t.equal(get?.body, '{"items":[],"hasMore":false,"limit":20}\n')
})

t.test('a sender that is too slow with headers or body gets a problem and is disconnected', async (t) => {
  const { dial, ask, textOf, answered, errors } = await serve(t, {
    limits: { headersMsMax: 100, requestMsMax: 100 },
  })
  const line = textOf('POST /v0/prospect_logs', [JSON_TYPE, 'Content-Length: 30'])
  const slow = [dial().send('GET /v0/page_groups HTTP/1.1\r\nHost: local'), dial().send(line).send('{')]
  const silent = dial()
  for (const answers of await Promise.all(slow.map((line) => line.closed()))) {
    t.strictSame(codesOf(answers), ['invalid_request'])
    t.equal(answers[0]?.json.detail, 'The request took too long to arrive.')
  }
  t.strictSame(
    await silent.closed(),
    [],
    'nothing was asked: an answer would be taken for that of a later request',
  )
  t.equal((await ask(textOf('GET /healthz'))).status, 200)
  t.match(answered, [{ status: 400, code: 'invalid_request' }, { status: 200 }])
  t.strictSame(errors, [])
})

t.test('an idle connection is closed', async (t) => {
  const { dial, textOf } = await serve(t, { limits: { keepAliveMs: 10 } })
  t.strictSame(codesOf(await dial().send(textOf('GET /healthz')).closed()), [200])
})

t.test('a sender that disconnects during its body does not affect other requests', async (t) => {
  const { dial, ask, logOf, textOf, http, store, errors, answered } = await serve(t)
  const gone = new Promise<void>((resolve) =>
    http.server.once('connection', (socket) => socket.once('close', () => resolve())),
  )
  const line = dial().send(
    logOf(ACTIVITY).slice(0, -5).replace('Content-Type', 'Expect: 100-continue\r\nContent-Type'),
  )
  t.strictSame(codesOf(await line.answers(1)), [100])
  line.hangUp()
  await gone
  t.equal((await ask(textOf('GET /healthz'))).status, 200)
  t.match(answered, [{ status: 400, code: 'invalid_request' }, { status: 200 }])
  t.strictSame([store.kept.logs(), errors], [[], []])
})

for (const [what, cut] of [
  ['with its body sent', 0],
  ['in the middle of its body', -5],
] as const)
  t.test(`a sender that disconnects before its body is read, ${what}, is not counted forever`, async (t) => {
    const asked = Promise.withResolvers<void>()
    const known = Promise.withResolvers<[]>()
    const findByHashes = () => {
      asked.resolve()
      return known.promise
    }
    const { dial, ask, textOf, logOf, http, answered, errors, store, owner } = await serve(t, {
      storeAs: (store) => ({ ...store, apiKeys: { ...store.apiKeys, findByHashes } }),
    })
    const gone = new Promise<void>((resolve) =>
      http.server.once('connection', (socket) => socket.once('close', () => resolve())),
    )
    const line = dial().send(logOf(ACTIVITY).slice(0, cut || undefined))
    await asked.promise
    line.hangUp()
    await gone
    known.resolve([await store.apiKeys.find(owner.apiKeyId)] as never)
    t.equal((await ask(textOf('GET /healthz'))).status, 200)
    t.match(answered, [{ route: '/v0/prospect_logs' }, { route: '/healthz' }])
    t.strictSame(errors, [])
  })

t.test('a connection beyond the limit is not accepted', async (t) => {
  const { dial, textOf } = await serve(t, { limits: { connectionsMax: 1 } })
  const first = dial()
  t.strictSame(codesOf(await first.send(textOf('GET /healthz')).answers(1)), [200])
  const second = dial()
  await second.fault()
  t.strictSame(codesOf(await first.send(textOf('GET /healthz')).answers(2)), [200, 200])
})

t.test('a stopping server answers requests in flight, and no client can delay it', async (t) => {
  const called = Promise.withResolvers<void>()
  const rows = Promise.withResolvers<never[]>()
  const list = () => {
    called.resolve()
    return rows.promise
  }
  const { dial, textOf, http } = await serve(t, {
    storeAs: (store) => ({ ...store, pageGroups: { ...store.pageGroups, list } }),
  })
  const idle = dial().send(textOf('GET /healthz'))
  const halfSent = dial().send(`${textOf('GET /healthz')}GET /v0`)
  const underWay = dial().send(textOf('GET /v0/page_groups'))
  await Promise.all([idle.answers(1), halfSent.answers(1), called.promise])

  const drained = http.drain(1_000)
  rows.resolve([])
  const [answer] = await underWay.closed()
  t.match(answer, { status: 200, headers: { connection: 'close' } })
  await Promise.all([drained, idle.fault(), halfSent.fault()])
  t.match(await dial().fault(), { code: 'ECONNREFUSED' })
})

t.test('a wait for events ends when the server stops or the caller disconnects', async (t) => {
  let waiting = 0
  let began = 0
  const storeAs = (store: Store): Store => ({
    ...store,
    watch: (listener) => {
      const remove = store.watch(listener)
      began++
      waiting++
      return () => {
        waiting--
        remove()
      }
    },
  })
  const { dial, textOf, http } = await serve(t, { storeAs })
  const leaving = dial().send(textOf('GET /v0/events?wait=25'))
  await until('it waits', () => waiting === 1)
  leaving.hangUp()
  await until('it waits no more', () => waiting === 0)
  const staying = dial().send(textOf('GET /v0/events?wait=25'))
  await until('it waits', () => began === 2)
  const drained = http.drain(20_000)
  const [answer] = await staying.closed()
  t.match(answer, { status: 200, headers: { connection: 'close' } })
  await drained
  t.equal(waiting, 0)
})

t.test('a stopping server does not wait for an answer that never comes', async (t) => {
  const called = Promise.withResolvers<void>()
  const list = () => {
    called.resolve()
    return new Promise<never>(() => {})
  }
  const { dial, textOf, http } = await serve(t, {
    storeAs: (store) => ({ ...store, pageGroups: { ...store.pageGroups, list } }),
  })
  const underWay = dial().send(textOf('GET /v0/page_groups'))
  await called.promise
  await http.drain(50)
  await underWay.fault()
  t.equal(http.server.listening, false)
})

t.test('bytes that are not HTTP are refused after the earlier requests are answered', async (t) => {
  const { storeAs, letGo } = heldLists()
  const { dial, textOf } = await serve(t, { storeAs })
  const line = dial().send(`${textOf('GET /v0/page_groups')}${textOf('GET /healthz')}HELLO\r\n\r\n`)
  setTimeout(letGo, 50)
  t.strictSame(codesOf(await line.closed()), [200, 200, 'invalid_request'])
})

t.test(
  'too many pipelined requests on one connection: the next one is refused, and the rest are not started',
  async (t) => {
    const allSaid = Promise.withResolvers<void>()
    let begun = 0
    const storeAs = (store: Store): Store => ({
      ...store,
      activities: {
        ...store.activities,
        record: async (change, events) => {
          begun++
          if (begun === 32) setTimeout(allSaid.resolve, 50)
          await allSaid.promise
          return store.activities.record(change, events)
        },
      },
    })
    const { dial, logOf, store } = await serve(t, { storeAs })
    const line = dial().send(Array.from({ length: 40 }, () => logOf(ACTIVITY)).join(''))
    const answers = await line.closed()
    t.strictSame(codesOf(answers), [...Array.from({ length: 32 }, () => 201), 'unavailable'])
    t.match(answers.at(-1)?.headers, { connection: 'close', 'retry-after': '1' })
    t.equal(store.kept.logs().length, 32)
  },
)

t.test('a connection may send any number of requests, if each waits for some answer', async (t) => {
  const { dial, textOf } = await serve(t)
  const line = dial()
  for (let asked = 20; asked <= 200; asked += 20) {
    line.send(Array.from({ length: 20 }, () => textOf('GET /healthz')).join(''))
    t.equal((await line.answers(asked)).length, asked)
  }
})
