import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { PROBLEMS } from '../../src/adapters/http/problems.ts'
import type { ProblemCode } from '../../src/core/engine/failures.ts'
import { newFolder, openServer, until } from '../support/program.ts'
import { type Answered, proxyKinds } from '../support/proxies.ts'

t.setTimeout(0)
const JSON_TYPE = { 'content-type': 'application/json' }

/** An upstream that tells what reached it. */
const echo = async (t: Test) => {
  const reached: { target: string; headers: string[]; body: string }[] = []
  let connections = 0
  const bodyOf = async (request: IncomingMessage) => {
    let body = ''
    for await (const chunk of request) body += chunk
    return body
  }
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request).catch(() => 'broken')
    reached.push({ target: request.url ?? '', headers: request.rawHeaders, body })
    response.end('reached')
  })
  server.on('connection', () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  t.teardown(stop)
  const { port } = server.address() as AddressInfo
  return { port, stop, reached, connections: () => connections }
}
const valuesOf = (headers: readonly string[] | undefined, name: string): string[] =>
  (headers ?? []).filter((_, i, all) => i % 2 === 1 && all[i - 1]?.toLowerCase() === name)

const mustBeProblem = (t: Test, { headers, text }: Answered, status: number, code: ProblemCode): void => {
  t.equal(headers['content-type'], 'application/problem+json')
  const problem = JSON.parse(text)
  t.match(problem, { type: `/problems/${code}`, status, code, title: /./, detail: /./ })
  t.equal(problem.title, PROBLEMS[code].title)
  t.equal(problem.instance, headers['x-request-id'])
}

for (const kind of proxyKinds()) {
  t.test(`behind ${kind.name}, by its file of deploy/`, { skip: kind.skip ?? false }, async (t) => {
    t.test('the service answers as it does without, in its own words', async (t) => {
      const env = { DATABASE_URL: `sqlite:${newFolder(t)}/test.db`, FAILED_AUTH_PER_MINUTE: 'none' }
      const { apiKey, pageGroupId, server } = await openServer(t, { env })
      const proxy = await kind.start(t, Number(new URL(server.url).port))
      const { ask, accessLog, stop } = proxy
      const headers = { 'x-api-key': apiKey, ...JSON_TYPE }
      const log = (body: string, expectsContinue = false) =>
        ask('/v0/prospect_logs', { method: 'POST', headers, body, expectsContinue })
      const activityOf = (bytes: number) => {
        const start = '{"source":"crm","payload":{"text":"'
        const end = '"}}'
        return `${start}${'x'.repeat(bytes - start.length - end.length)}${end}`
      }

      if (kind.name === 'nginx') {
        const curl = (path: string, ...args: string[]) =>
          spawnSync(
            'curl',
            [
              '-sk',
              '-o',
              '/dev/null',
              '-w',
              '%{http_version} %{http_code} %{redirect_url}',
              '--unix-socket',
              path,
              ...args,
            ],
            { encoding: 'utf8' },
          ).stdout
        const own = 'prospects.example.com/v0/page_groups?limit=1'
        const { socket } = proxy
        t.equal(curl(socket, '--http2', '-H', `x-api-key: ${apiKey}`, `https://${own}`), '2 200 ')
        t.equal(curl(`${socket}.plain`, `http://${own}`), `1.1 308 https://${own}`)
      }
      const logged = await log(activityOf(1_048_576))
      t.equal(logged.status, 201, 'a body as large as the service allows')
      t.match(logged.headers['x-request-id'], /^[\w.-]+$/)
      const pages = `/v0/page_groups/${pageGroupId}/pages`
      const page = await ask(pages, { method: 'POST', headers, body: '{}' })
      t.match(JSON.parse(page.text), { status: 'processing' })
      for (const path of ['/v0/page_groups', pages, `${pages}/${JSON.parse(page.text).pageId}`])
        t.equal((await ask(path, { headers })).status, 200, path)
      const tooLarge = await log(activityOf(kind.refusesBytes), true)
      t.equal(tooLarge.status, 413)
      t.match(JSON.parse(tooLarge.text), { code: 'payload_too_large' })
      t.equal(
        (await log(activityOf(10_000_000), true)).status,
        413,
        'far too large, in the words of the proxy',
      )
      const refused = () => accessLog().match(/ POST \/v0\/prospect_logs 413 /g)?.length === 2
      if (kind.name === 'nginx') await until('both are in the log as what they were', refused)

      const wrong = { 'x-api-key': `pp_${'x'.repeat(36)}` }
      const statuses = new Set<number>()
      for (let n = 0; n < 70; n++) statuses.add((await ask('/v0/page_groups', { headers: wrong })).status)
      t.strictSame([...statuses], [401], 'wrong keys of one keep nobody out')
      t.equal((await ask('/v0/page_groups', { headers })).status, 200)
      const twice = { 'x-api-key': [apiKey, apiKey] }
      t.equal((await ask('/v0/page_groups', { headers: twice })).status, 401, 'a header that is there twice')

      t.equal(await server.stop(), 0)
      await stop()
    })

    t.test('what reaches the service is what was sent, on few connections, with a request id', async (t) => {
      const { port, reached, connections } = await echo(t)
      const { ask, accessLog } = await kind.start(t, port)
      for (let n = 0; n < 20; n++) t.equal((await ask(`/v0/page_groups?n=${n}`)).text, 'reached')
      t.equal(connections(), 1, 'connections to the service are kept')
      const target = '/v0//page_groups/%2e%2e/a%20b?cursor=a%2Fb&x'
      await ask(target)
      t.equal(reached.at(-1)?.target, target)

      const idFor = async (given?: string) => {
        await ask('/', given === undefined ? {} : { headers: { 'x-request-id': given } })
        return valuesOf(reached.at(-1)?.headers, 'x-request-id')
      }
      t.strictSame(await idFor('order-7.1'), ['order-7.1'])
      const odd = await idFor('a b<script>')
      t.match(odd, [/^[\w-]{32,36}$/])
      t.equal(odd.length, 1)
      if (kind.name === 'nginx') {
        await ask('/v0/prospects?email=ada%40example.com', { headers: { 'x-request-id': 'order-7.2' } })
        const line = await until('it is in the log', () => /^.*order-7\.2$/m.exec(accessLog())?.[0])
        t.match(line, / GET \/v0\/prospects 200 7 [\d.]+ order-7\.2$/, 'without the query')
        await ask('/hooks/hook_1/pph_secret?a=b', { headers: { 'x-request-id': 'order-7.3' } })
        const ofHook = await until('it is in the log', () => /^.*order-7\.3$/m.exec(accessLog())?.[0])
        t.match(ofHook, / GET \/hooks\/hook_1\/ 200 7 [\d.]+ order-7\.3$/, 'without the token')
      }
      const made = [await idFor(), await idFor()]
      t.match(made, [[/^[\w-]{32,36}$/], [/^[\w-]{32,36}$/]])
      t.not(String(made[0]), String(made[1]))
      t.strictSame(valuesOf(reached.at(-1)?.headers, 'host'), ['prospects.example.com'])
    })

    t.test('the metrics are not shown outside', async (t) => {
      const { port, reached } = await echo(t)
      const { ask } = await kind.start(t, port)
      for (const target of ['/metrics', '/metrics?x=1', '/%6detrics'])
        t.equal((await ask(target)).status, 404, target)
      t.strictSame(reached, [])
    })

    t.test('while the service is away the answer is a problem, and says to come again', async (t) => {
      const { port, stop } = await echo(t)
      const { ask } = await kind.start(t, port)
      t.equal((await ask('/healthz')).status, 200)
      await stop()
      const away = await ask('/healthz')
      t.match(away, {
        status: 503,
        headers: { 'content-type': 'application/problem+json', 'retry-after': '1' },
      })
      mustBeProblem(t, away, 503, 'unavailable')
    })

    t.test('what the proxy refuses itself is a problem like those of the service', async (t) => {
      const { port } = await echo(t)
      const { ask } = await kind.start(t, port)
      mustBeProblem(t, await ask('/metrics'), 404, 'not_found')
      const headers = { 'x-request-id': 'order-7.1' }
      const body = 'x'.repeat(10_000_000)
      const large = await ask('/v0/prospect_logs', { method: 'POST', headers, body, expectsContinue: true })
      mustBeProblem(t, large, 413, 'payload_too_large')
      t.equal(large.headers['x-request-id'], 'order-7.1')
      // Caddy allows headers of 1 MiB, and its answers to what is not HTTP cannot be changed.
      if (kind.name === 'caddy') return
      mustBeProblem(t, await ask(`/${'x'.repeat(10_000)}`), 431, 'headers_too_large')
      mustBeProblem(t, await ask('/', { headers: { x: 'x'.repeat(10_000) } }), 431, 'headers_too_large')
      mustBeProblem(t, await ask('/', { headers: { host: ['a', 'b'] } }), 400, 'invalid_request')
      mustBeProblem(t, await ask('/', { method: 'TRACE' }), 405, 'method_not_allowed')
    })

    if (kind.name === 'nginx') {
      t.test('40 connections of one address may send as much as they can', async (t) => {
        const { port } = await echo(t)
        const { ask } = await kind.start(t, port)
        const connections = Array.from({ length: 40 }, async () => {
          for (let n = 0; n < 10; n++) t.equal((await ask('/')).text, 'reached')
        })
        await Promise.all(connections)
      })

      t.test('an address with 200 requests in flight is refused the next', async (t) => {
        const held: ServerResponse[] = []
        const server = createServer((_, response) => void held.push(response))
        await once(server.listen(0, '127.0.0.1'), 'listening')
        t.teardown(() => server.close())
        const { ask } = await kind.start(t, (server.address() as AddressInfo).port)
        const asked = Array.from({ length: 201 }, () => ask('/'))
        const refused = await Promise.race(asked)
        mustBeProblem(t, refused, 429, 'rate_limited')
        t.equal(refused.headers['retry-after'], '1')
        await until('the others reached the service', () => held.length === 200)
        for (const response of held) response.end()
        const statuses = (await Promise.all(asked)).map(({ status }) => status)
        t.equal(statuses.filter((status) => status === 200).length, 200)
      })

      t.test('a body that arrives slowly waits at the proxy', async (t) => {
        const { port, reached } = await echo(t)
        const { ask, socket } = await kind.start(t, port)
        const slow = connect({ path: socket, servername: 'prospects.example.com', rejectUnauthorized: false })
        t.teardown(() => slow.destroy())
        await once(slow, 'secureConnect')
        slow.write('POST /slow HTTP/1.1\r\nHost: prospects.example.com\r\nContent-Length: 10\r\n\r\n12345')
        await ask('/quick', { method: 'POST', body: '1' })
        t.strictSame(
          reached.map(({ target }) => target),
          ['/quick'],
        )
        slow.write('67890')
        await until('it is whole', () => reached.length === 2)
        t.match(reached[1], { target: '/slow', body: '1234567890' })
      })
    }
  })
}
