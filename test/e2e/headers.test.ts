import t, { type Test } from 'tap'
import { FAULTS } from '../support/faulty.ts'
import { answerOf, caller, databaseKindsThatStop, seed, startProgram } from '../support/program.ts'
import { sendRaw } from '../support/raw.ts'

t.setTimeout(0)
t.jobs = 2
/** On every answer, so that whoever opens one in a browser has it neither guessed at, nor kept, nor run, nor framed. */
const ALWAYS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}
/** Nothing else is said, least of all to browsers of other sites, or of what the server is made of. */
const ALLOWED = new Set([
  ...Object.keys(ALWAYS),
  ...['x-request-id', 'content-type', 'content-length', 'date', 'connection', 'keep-alive', 'allow'],
  ...['retry-after', 'www-authenticate', 'idempotent-replayed', 'ratelimit', 'ratelimit-policy', 'etag'],
  ...['vary', 'content-encoding'],
])

const isSecured = (t: Test, what: string, headers: ReadonlyMap<string, string>) => {
  // What was read may be kept by the caller, who then asks each time whether it still holds.
  const isFile = /^200 of (GET|HEAD) \/openapi/.test(what) && { 'cache-control': 'no-cache' }
  const kept = /^200 of (GET|HEAD) \/v0\//.test(what) ? { 'cache-control': 'private, no-cache' } : isFile
  t.match(Object.fromEntries(headers), { ...ALWAYS, ...kept }, what)
  t.equal(headers.has('etag'), kept !== false, what)
  t.match(headers.get('x-request-id'), /^[0-9a-f-]{36}$/, what)
  const others = [...headers.keys()].filter((name) => !ALLOWED.has(name))
  t.strictSame(others, [], `${what}: no x-powered-by, server, access-control-* or set-cookie`)
}

const PER_MINUTE = 100
const ACTIVITY = { source: 'crm', payload: {}, idempotencyKey: 'one' }
const BROWSER = { origin: 'https://example.com', 'access-control-request-method': 'POST' }
const GROUPS = '/v0/page_groups'
const LOGS = '/v0/prospect_logs'

for (const kind of databaseKindsThatStop())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)

    t.test('every answer has the headers that secure it, and no others', async (t) => {
      const { env, rows } = await kind.open(t)
      const { apiKey, tenantId, pageGroupId } = await seed(env)
      const newKey = async (...more: string[]) =>
        (await answerOf(['keys', 'create', '--tenant', tenantId, ...more], env)).apiKey
      const [narrowKey, busyKey] = await Promise.all([newKey('--scope', 'pages:read'), newKey()])
      const server = await startProgram(t, {
        ...env,
        RATE_LIMIT_PER_MINUTE: `${PER_MINUTE}`,
        HEADERS_MS_MAX: '1000',
      })
      await server.ready()
      await rows(FAULTS[kind.name])
      const heard = new Map<number, number>()
      const ask = async (method: string, path: string, body?: unknown, headers = {}, key = apiKey) => {
        const answer = await caller(server.url, key)(method, path, body, { ...BROWSER, ...headers })
        heard.set(answer.status, (heard.get(answer.status) ?? 0) + 1)
        isSecured(t, `${answer.status} of ${method} ${path}`, new Map([...answer.headers]))
      }

      for (const path of ['/healthz', '/readyz', '/openapi.json', '/problems/not_found', GROUPS]) {
        await ask('GET', path)
        await ask('HEAD', path)
        await ask('OPTIONS', path)
        await ask('DELETE', path)
      }
      const pages = `${GROUPS}/${pageGroupId}/pages`
      for (const body of [ACTIVITY, ACTIVITY, { ...ACTIVITY, type: 'other' }, 'nonsense', { source: 7 }])
        await ask('POST', LOGS, body)
      await ask('POST', LOGS, { ...ACTIVITY, source: 'faulty' })
      await ask('POST', LOGS, { ...ACTIVITY, payload: { large: 'x'.repeat(1_100_000) } })
      await ask('POST', LOGS, ACTIVITY, { 'content-type': 'text/html' })
      await ask('POST', pages, {})
      await ask('GET', pages)
      await ask('GET', `${pages}/nothing`)
      await ask('HEAD', `${pages}/nothing`)
      await ask('GET', '/<script>')
      await ask('GET', `${GROUPS}?limit=<script>`)
      await ask('GET', GROUPS, undefined, {}, '')
      await ask('GET', GROUPS, undefined, {}, 'wrong')
      await ask('GET', GROUPS, undefined, {}, narrowKey)
      // The bucket fills while it is emptied.
      for (let asked = 0; asked <= 10 * PER_MINUTE && !heard.has(429); asked++)
        await ask('GET', GROUPS, undefined, {}, busyKey)

      for (const message of [
        'GET /healthz HTTP/1.1\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
        'GET /healthz\r\n\r\n',
        'HELLO\r\n\r\n',
        'HEAD /%zz x HTTP/1.1\r\nHost: a\r\n\r\n',
        'OPTIONS * HTTP/9.9\r\nHost: a\r\n\r\n',
        `GET /healthz HTTP/1.1\r\nHost: a\r\nx-large: ${'x'.repeat(40_000)}\r\n\r\n`,
        `POST ${LOGS} HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n`,
        'GET /healthz HTTP/1.1\r\nHost: ',
      ]) {
        const answer = await sendRaw(server.url, message)
        t.match(answer, /^HTTP\/1\.1 (400 Bad Request|431 Request Header Fields Too Large)\r\n/)
        isSecured(t, `the answer to ${message.slice(0, 60)}`, headersIn(answer))
      }
      if (kind.name === 'postgres') {
        const postgres = await kind.server()
        await postgres.halt('SIGQUIT')
        for (const path of [GROUPS, pages, '/readyz']) await ask('GET', path)
        await postgres.start()
      }
      const statuses = [200, 201, 204, 400, 401, 403, 404, 405, 413, 415, 422, 429, 500]
      t.strictSame([...heard.keys()].sort(), kind.name === 'postgres' ? [...statuses, 503] : statuses)
    })
  })

const headersIn = (answer: string): ReadonlyMap<string, string> => {
  const [, ...lines] = (answer.split('\r\n\r\n')[0] ?? '').split('\r\n')
  return new Map(
    lines.map((line) => {
      const [name = '', ...value] = line.split(': ')
      return [name.toLowerCase(), value.join(': ')]
    }),
  )
}
