import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FAULTS } from '../support/faulty.ts'
import {
  caller,
  embeddedDatabase,
  linesOf,
  newFolder,
  openServer,
  type Program,
  seed,
  until,
} from '../support/program.ts'
import { sendRaw } from '../support/raw.ts'

t.setTimeout(0)
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`
const TRACED = { traceparent: TRACEPARENT }

const setting = (t: Test, more: Record<string, string> = {}) =>
  openServer(t, embeddedDatabase(join(newFolder(t), 'test.db')), more)
const linesWith = (server: Program, requestId: string) =>
  server.logs().filter((line) => line['requestId'] === requestId)

t.test('the trace id is in every line of a request, faults and malformed messages too', async (t) => {
  const { server, call, rows } = await setting(t)
  await rows(FAULTS.sqlite)
  await call('GET', '/v0/page_groups', undefined, { ...TRACED, 'x-request-id': 'answered' })
  const faulty = { source: 'faulty', payload: {} }
  const { status } = await call('POST', '/v0/prospect_logs', faulty, { ...TRACED, 'x-request-id': 'faulty' })
  t.equal(status, 500)
  await sendRaw(
    server.url,
    `GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nx-request-id: twice\r\ntraceparent: ${TRACEPARENT}\r\n\r\n`,
  )
  await call('GET', '/healthz', undefined, { 'x-request-id': 'untraced' })
  t.equal(await server.stop(), 0)
  t.match(linesWith(server, 'answered'), [{ traceId: TRACE, status: 200 }])
  const lines = linesWith(server, 'faulty')
  t.match(lines, [
    { msg: 'request failed', traceId: TRACE },
    { msg: 'answered', traceId: TRACE },
  ])
  t.match(linesWith(server, 'twice'), [{ traceId: TRACE, status: 400 }])
  t.notHas(linesWith(server, 'untraced')[0], { traceId: String })
})

type Span = {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly parentId: string | null
  readonly attributes: Readonly<Record<string, unknown>>
  /** Trace ids. */
  readonly links: readonly string[]
}
const SERVER = 1
const CLIENT = 2

/** The settings that load OpenTelemetry, and the spans that have ended. */
const instrumentation = (t: Test) => {
  const file = join(newFolder(t), 'spans')
  writeFileSync(file, '')
  const register = new URL('../support/open-telemetry.js', import.meta.url).href
  const instrumented = { NODE_OPTIONS: `--import ${register}`, SPANS_FILE: file }
  return { instrumented, spans: () => linesOf<Span>(readFileSync(file, 'utf8')) }
}

t.test('under the auto-instrumentation of OpenTelemetry', async (t) => {
  const { instrumented, spans } = instrumentation(t)
  const { call, pagesPath, server } = await setting(t, instrumented)
  const ofTrace = (traceId: string) => spans().filter((span) => span.traceId === traceId)
  /** A trace id for each request, so that its spans are found. */
  const traced = (number: number) => {
    const traceId = number.toString(16).padStart(32, '0')
    return {
      traceId,
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'x-request-id': `${number}` },
    }
  }

  t.test('each request is one server span, named by the template of its path', async (t) => {
    const requests = [
      ['GET', '/v0/page_groups', 'GET /v0/page_groups'],
      ['GET', pagesPath, 'GET /v0/page_groups/{page_group_id}/pages'],
      ['POST', pagesPath, 'POST /v0/page_groups/{page_group_id}/pages'],
      ['GET', `${pagesPath}/page_1`, 'GET /v0/page_groups/{page_group_id}/pages/{page_id}'],
      ['DELETE', pagesPath, 'DELETE /v0/page_groups/{page_group_id}/pages'],
      ['GET', '/problems/not_found', 'GET /problems/{code}'],
      ['GET', '/hooks/hook_1/pph_secret', 'GET /hooks/{hook_id}/{token}'],
      ['GET', '/nowhere/at/all', 'GET'],
    ] as const
    for (const [i, [method, path, name]] of requests.entries()) {
      const { traceId, headers } = traced(i + 1)
      await call(method, path, undefined, headers)
      const [span, ...more] = await until('its span has ended', () => {
        const found = ofTrace(traceId).filter(({ kind }) => kind === SERVER)
        return found.length > 0 && found
      })
      t.match(span, { name, parentId: 'b7ad6b7169203331' })
      const route = name.includes(' ') ? name.slice(method.length + 1) : undefined
      t.equal(span?.attributes['http.route'], route)
      t.strictSame(more, [], 'and no other')
      t.notMatch(JSON.stringify(span), 'pph_secret', 'without the token of a hook')
    }
  })

  t.test('a request without a traceparent has the trace id that the instrumentation gave it', async (t) => {
    await call('GET', '/v0/page_groups', undefined, { 'x-request-id': 'own' })
    const line = await until('it is logged', () => linesWith(server, 'own')[0])
    t.equal((await until('its span has ended', () => ofTrace(String(line['traceId']))[0])).kind, SERVER)
  })
})

/** A server that receives webhooks and names pages, and keeps the headers of what it gets. */
const thirdParty = async (t: Test) => {
  const webhooks: IncomingHttpHeaders[] = []
  const namings: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    const isWebhook = request.headers['webhook-id'] !== undefined
    ;(isWebhook ? webhooks : namings).push(request.headers)
    response.end(isWebhook ? '' : '{"choices":[{"message":{"content":"Spring"}}]}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return { webhooks, namings, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

t.test('no call to a third party carries the trace or the baggage of a request', async (t) => {
  const { instrumented, spans } = instrumentation(t)
  const { webhooks, namings, url } = await thirdParty(t)
  const naming = { NAMER_URL: `${url}/v1`, NAMER_MODEL: 'm', WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }
  const { env, server, ...first } = await setting(t, { ...instrumented, ...naming })
  const tenants = [first, await seed(env)]
  const traceIds = tenants.map((_, i) => `${i + 1}`.repeat(32))
  const calls = tenants.map(({ apiKey, pageGroupId }, i) => {
    const call = caller(server.url, apiKey)
    const traceparent = `00-${traceIds[i]}-b7ad6b7169203331-01`
    const headers = { traceparent, tracestate: 'a=b', baggage: `tenant=${i}` }
    const post = (path: string, body?: object) => call('POST', path, body, headers)
    return { post, pages: `/v0/page_groups/${pageGroupId}/pages` }
  })
  const made = calls.map(({ post }) => post('/v0/webhook_endpoints', { url }))
  const endpoints = (await Promise.all(made)).map(({ body }) => body.webhookEndpointId)
  const COUNT = 10
  const asked = calls.flatMap(({ post, pages }, i) => [
    post(`/v0/webhook_endpoints/${endpoints[i]}/test`),
    ...Array.from({ length: COUNT }, () => post(pages, {})),
    ...Array.from({ length: COUNT }, () => post('/v0/prospect_logs', { source: 's', payload: {} })),
  ])
  for (const { status } of await Promise.all(asked)) t.ok(status < 300)
  // Events: each page was created and published; each activity and its prospect were created.
  const all = tenants.length * (4 * COUNT + 1)
  await until(
    'everything was sent',
    () => webhooks.length === all && namings.length === tenants.length * COUNT,
  )
  t.equal(await server.stop(), 0)
  const received = [...webhooks, ...namings].map(({ traceparent, tracestate, baggage }) => ({
    traceId: String(traceparent).split('-')[1] ?? '',
    state: tracestate ?? baggage,
  }))
  t.strictSame(
    received.filter(({ traceId, state }) => traceIds.includes(traceId) || state !== undefined),
    [],
  )
  const clients = spans().filter(({ kind }) => kind === CLIENT)
  t.ok(clients.length > 0)
  for (const { traceId, parentId } of clients)
    t.strictSame([parentId, traceIds.includes(traceId)], [null, false])
})
