import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { newFolder, seed, startProgram, until } from '../support/program.ts'
import { proxyKinds } from '../support/proxies.ts'

t.setTimeout(120_000)
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

for (const kind of proxyKinds()) {
  if (kind.skip !== null) process.stderr.write(`${kind.skip}\n`)
  t.test(`behind ${kind.name}, by its file of deploy/`, { skip: kind.skip ?? false }, async (t) => {
    t.test('the service answers as it does without, in its own words', async (t) => {
      const env = { DATABASE_URL: `sqlite:${newFolder(t)}/test.db`, FAILED_AUTH_PER_MINUTE: 'none' }
      const { apiKey, pageGroupId } = await seed(env)
      const server = await startProgram(t, env)
      await server.ready()
      const { ask, stop } = await kind.start(t, Number(new URL(server.url).port))
      const headers = { 'x-api-key': apiKey, ...JSON_TYPE }
      const log = (body: string, expectsContinue = false) =>
        ask('/v0/prospect_logs', { method: 'POST', headers, body, expectsContinue })
      const activityOf = (bytes: number) => {
        const [start, end] = ['{"source":"crm","payload":{"text":"', '"}}']
        return `${start}${'x'.repeat(bytes - start.length - end.length)}${end}`
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
        (await log(activityOf(3_000_000), true)).status,
        413,
        'far too large, in the words of the proxy',
      )

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
      const { ask } = await kind.start(t, port)
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
      t.match(JSON.parse(away.text), { status: 503, code: 'unavailable' })
    })

    if (kind.name === 'nginx')
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
  })
}
