import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, createServer as createHttp2Server, type OutgoingHttpHeaders } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import t, { type Test } from 'tap'
import { createHandler, type Handler, type HandlerOptions } from '../../../../src/entry/http.ts'
import { openScene } from '../../../support/api.ts'
import { type Answer, dial, requestOf } from '../../../support/dial.ts'
import { awaitUnreadBodies } from './serve.ts'

const listening = async (t: Test, server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

/** The API of a scene in a server of the test's own, behind whatever the test puts before the handler. */
const mount = async (
  t: Test,
  options: HandlerOptions = {},
  before: (req: IncomingMessage, res: ServerResponse, handler: Handler) => void = (req, res, handler) =>
    handler(req, res),
) => {
  const scene = await openScene()
  const handler = createHandler(scene.api, options)
  const server = createServer({ requireHostHeader: false }, (req, res) => before(req, res, handler))
  const port = await listening(t, server)
  t.teardown(() => server.closeAllConnections())
  const key = `x-api-key: ${scene.owner.apiKey}`
  const ask = async (line: string, body?: string): Promise<Answer> => {
    const headers = body === undefined ? [key] : [key, JSON_TYPE, `Content-Length: ${body.length}`]
    const [answer] = await dial(port)
      .send(requestOf(line, headers, body))
      .answers(1)
    return answer as Answer
  }
  return { ...scene, handler, port, ask }
}

const JSON_TYPE = 'Content-Type: application/json'
const ACTIVITY = '{"source":"crm","payload":{ "a": 1.0 }}'

/** A middleware that reads the whole body before the handler, and sets its result on the request. */
const reading =
  (kept: (text: string) => object) =>
  async (req: IncomingMessage, res: ServerResponse, handler: Handler): Promise<void> => {
    let text = ''
    for await (const chunk of req) text += chunk
    handler(Object.assign(req, kept(text)), res)
  }

t.test('the base path is removed from targets, and targets outside it get no answer', async (t) => {
  const root = ['/prospects', '/prospects/', '/prospects?a']
  const answered = [...root, '/prospects/healthz', '/prospects/healthz?a=b', 'http://there/prospects/healthz']
  const unknown = ['/prospects/prospects/healthz', '/prospects/unknown']
  const outside = ['/healthz', '/prospectshealthz', '/Prospects/healthz', '//prospects/healthz', '/', '*']
  for (const basePath of ['/prospects', 'prospects', '/prospects/', '//prospects//']) {
    const { ask } = await mount(t, { basePath })
    for (const target of answered) t.match(await ask(`GET ${target}`), { status: 200 }, target)
    for (const target of [...unknown, ...outside])
      t.match(await ask(`GET ${target}`), { status: 404, json: { code: 'not_found' } }, target)
  }
})

t.test('without a base path everything is answered', async (t) => {
  for (const basePath of [undefined, '', '/']) {
    const { ask } = await mount(t, { basePath })
    t.match(await ask('GET /v0/page_groups'), { status: 200 })
    t.match(await ask('GET /prospects/healthz'), { status: 404 })
  }
})

t.test('only targets outside the base path are passed to the next handler', async (t) => {
  const { ask } = await mount(t, { basePath: '/prospects' }, (req, res, handler) =>
    handler(req, res, () => res.writeHead(202, { 'content-length': 0 }).end()),
  )
  t.match(await ask('GET /elsewhere'), { status: 202 })
  t.match(await ask('GET /prospects/elsewhere'), { status: 404 })
})

for (const [server, options, mounted] of [
  ['node:http', { basePath: '/prospects' }, {}],
  ['Express', {}, { url: (url: string) => url.replace('/prospects', ''), baseUrl: '/prospects' }],
  [
    'Express, named twice',
    { basePath: '/prospects' },
    { url: (url: string) => url.replace('/prospects', '') },
  ],
] as const)
  t.test(`links begin with the base path: ${server}`, async (t) => {
    const { ask } = await mount(t, options, (req, res, handler) => {
      const { url = '' } = req
      handler(Object.assign(req, mounted, { originalUrl: url, url: mounted.url?.(url) ?? url }), res)
    })
    for (const [line, code] of [
      ['GET /prospects/v0/nowhere', 'not_found'],
      ['GET /prospects/v0/page_groups?limit=0', 'invalid_request'],
    ] as const) {
      const { json } = await ask(line)
      t.equal(json['type'], `/prospects/problems/${code}`)
      t.match(await ask(`GET ${json['type']}`), { status: 200, json: { type: json['type'], code } })
    }
    const { json } = await ask('GET /prospects/openapi.json')
    t.match(json['servers'], [{ url: '/prospects' }])
  })

t.test('the links of a message that is refused before it is parsed begin with the base path', async (t) => {
  const { port, ask } = await mount(t, { basePath: '/prospects' })
  t.match((await ask('GET /elsewhere')).json, { type: '/prospects/problems/not_found' })
  const [answer] = await dial(port).send('GET /prospects/healthz HTTP/1.1\r\n\r\n').closed()
  t.match(answer?.json, { type: '/prospects/problems/invalid_request' })
})

t.test('a body may reach the limit, and the sender of a larger one can read the refusal', async (t) => {
  const { ask, store } = await mount(t, { bodyBytesMax: 100 })
  t.equal((await ask('POST /v0/prospect_logs', ACTIVITY.padEnd(100))).status, 201)
  const refused = await ask('POST /v0/prospect_logs', ACTIVITY.padEnd(1e6))
  t.match(refused, { status: 413, headers: { connection: 'close' }, json: { code: 'payload_too_large' } })
  t.equal(store.kept.logs().length, 1)
})

t.test('a message that Node accepts but HTTP forbids is refused', async (t) => {
  const { port } = await mount(t)
  const [answer] = await dial(port).send('GET /healthz HTTP/1.1\r\n\r\n').closed()
  t.match(answer, { status: 400, headers: { connection: 'close' }, json: { code: 'invalid_request' } })
  t.ok(answer?.headers['x-request-id'])
})

t.test('a body that was already read, and kept as bytes, is stored as sent', async (t) => {
  const ways = [
    (text: string) => ({ body: Buffer.from(text) }),
    (text: string) => ({ body: JSON.parse(text || '{}'), rawBody: Buffer.from(text) }),
  ]
  for (const kept of ways) {
    const { ask, store, newGroup } = await mount(t, { bodyBytesMax: 100 }, reading(kept))
    const { pageGroupId } = await newGroup()
    t.equal((await ask(`POST /v0/page_groups/${pageGroupId}/pages`)).status, 201, 'there need not be any')
    t.equal((await ask('POST /v0/prospect_logs', ACTIVITY)).status, 201)
    t.strictSame(store.kept.logs()[0]?.payload, { rawJson: '{ "a": 1.0 }' })
    t.match(await ask('POST /v0/prospect_logs', ACTIVITY.padEnd(101)), { status: 413 })
  }
})

t.test(
  'a body that is available only in parsed form is not reconstructed: 500, and the log says why',
  async (t) => {
    const { ask, store, errors } = await mount(
      t,
      {},
      reading((text) => ({ body: JSON.parse(text || '{}') })),
    )
    t.match(await ask('POST /v0/prospect_logs', ACTIVITY), { status: 500, json: { code: 'internal_error' } })
    t.match(String(errors[0]?.error), /mount the prospect-pages handler before any body parser/)
    t.strictSame(store.kept.logs(), [])
    t.equal((await ask('GET /v0/page_groups')).status, 200, 'who sends no body is served')
  },
)

t.test('an answer that another handler has begun is cut off, and nothing is thrown', async (t) => {
  const { port } = await mount(t, {}, (req, res, handler) => {
    res.writeHead(200, { 'content-length': 10 }).write('begun')
    handler(req, res)
  })
  t.strictSame(await dial(port).send(requestOf('GET /healthz', [])).closed(), [])
})

t.test('headers that other handlers have set are sent too', async (t) => {
  const { ask } = await mount(t, {}, (req, res, handler) => {
    res.setHeader('x-theirs', 'yes')
    res.setHeader('cache-control', 'public')
    handler(req, res)
  })
  t.match(await ask('GET /healthz'), {
    status: 200,
    headers: { 'x-theirs': 'yes', 'cache-control': 'no-store' },
  })
})

t.test('the handler serves HTTP/2 through Node’s compatibility API', async (t) => {
  awaitUnreadBodies(t)
  const { handler, owner, store, newGroup, call } = await mount(t)
  const port = await listening(
    t,
    createHttp2Server((req, res) =>
      handler(req as unknown as IncomingMessage, res as unknown as ServerResponse),
    ),
  )
  const session = connect(`http://127.0.0.1:${port}`)
  t.teardown(() => session.close())
  const statusOf = (headers: OutgoingHttpHeaders, body: string) => {
    const stream = session.request({
      ':method': 'POST',
      'x-api-key': owner.apiKey,
      'content-type': 'application/json',
      ...headers,
    })
    stream.end(body)
    return new Promise((resolve) => {
      stream.resume().once('response', (headers) => resolve(headers[':status']))
    })
  }
  t.equal(await statusOf({ ':path': '/v0/prospect_logs', 'content-length': ACTIVITY.length }, ACTIVITY), 201)
  t.equal(await statusOf({ ':path': '/v0/prospect_logs' }, ACTIVITY), 201, 'its length need not be told')
  t.equal(store.kept.logs().length, 2)

  const path = `/v0/page_groups/${(await newGroup()).pageGroupId}/pages`
  const pages = { ':path': path }
  t.equal(await statusOf(pages, '{"customName":"Sale"}'), 201)
  t.equal(await statusOf(pages, ''), 201)
  t.match((await call(`GET ${path}`)).json, { items: [{ customName: null }, { customName: 'Sale' }] })

  const list = session.request({ ':path': '/v0/page_groups', 'x-api-key': owner.apiKey })
  await new Promise((resolve) => list.resume().once('end', resolve))
})
