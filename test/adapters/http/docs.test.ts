import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { docsRoutes } from '../../../src/adapters/http/docs/routes.ts'
import { createLog } from '../../../src/adapters/log.ts'
import { compose, createRuntime } from '../../../src/compose/service.ts'
import { readConfig } from '../../../src/config/config.ts'
import { DESCRIPTION } from '../../../src/config/version.ts'
import { openScene, SECURITY_HEADERS } from '../../support/api.ts'
import { newFolder } from '../../support/program.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** An API with the reference, and a call without a key whose answer stays bytes. */
const setUp = async (rawRoutes = docsRoutes()) => {
  const { api, errors } = await openScene({ rawRoutes })
  const ask = async (operation: string, headers: Record<string, string> = {}) => {
    const [method = '', target = ''] = operation.split(' ')
    const answer = await api({ method, target, headers })
    const body = answer.body as string | Uint8Array
    return { ...answer, body, text: Buffer.from(body).toString() }
  }
  return { ask, errors }
}

t.test('the page needs no key, and may load and run only files of this server', async (t) => {
  const { ask } = await setUp()
  const { status, headers, text } = await ask('GET /docs')
  t.equal(status, 200)
  t.match(headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
  t.notMatch(text, /<style|\bstyle=|\son\w+=|<script(?! src="docs\/)/, 'nothing in it needs more than that')
})

t.test('requests that arrive while a file is loaded share its bytes', async (t) => {
  const { ask } = await setUp()
  for (const path of ['docs/swagger-ui-bundle.js', 'openapi.json']) {
    const answers = await Promise.all(Array.from({ length: 3 }, () => ask(`GET /${path}`)))
    const [first, ...others] = answers.map(({ body }) => body)
    t.ok(first instanceof Uint8Array && others.every((body) => body === first), path)
  }
})

t.test('every file that the page loads exists, at a relative address', async (t) => {
  const { ask } = await setUp()
  const { text } = await ask('GET /docs')
  const loaded = [...text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, address = '']) => address)
  t.strictSame(loaded.sort(), [
    'docs/look.css',
    'docs/start.js',
    'docs/swagger-ui-bundle.js',
    'docs/swagger-ui.css',
    'openapi.json',
  ])
  for (const address of loaded) {
    const { status, headers, body } = await ask(`GET /${address}`)
    t.equal(status, 200, address)
    t.equal(headers['content-length'], String(Buffer.byteLength(body)), address)
    t.equal(headers['content-security-policy'], SECURITY_HEADERS['content-security-policy'], address)
  }
  t.match(await ask('GET /docs/swagger-ui.css'), { headers: { 'content-type': 'text/css; charset=utf-8' } })
  const script = await ask('GET /docs/swagger-ui-bundle.js')
  t.equal(script.headers['content-type'], 'text/javascript; charset=utf-8')
  t.match(script.text, /SwaggerUIBundle/)
  t.match(await ask('GET /docs/package.json'), { status: 404 }, 'no other file of the library')
})

t.test('304: a client that already has a file gets no body', async (t) => {
  const { ask } = await setUp()
  for (const path of ['/docs', '/docs/look.css', '/docs/swagger-ui.css']) {
    const { headers } = await ask(`GET ${path}`)
    const etag = headers['etag'] ?? ''
    t.match(etag, /^"[\w-]{43}"$/)
    t.match(headers, { 'cache-control': 'no-cache', vary: 'accept-encoding' })
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await ask(`GET ${path}`, { 'if-none-match': known })
      t.strictSame([again.status, again.text, again.headers['etag']], [304, '', etag], known)
      t.notOk('content-length' in again.headers)
    }
    t.equal((await ask(`GET ${path}`, { 'if-none-match': '"other"' })).status, 200)
  }
})

t.test('a client that accepts gzip gets gzip, with a separate entity tag', async (t) => {
  const { ask } = await setUp()
  const plain = await ask('GET /docs/swagger-ui.css')
  for (const taken of ['gzip', 'br, gzip;q=0.5', 'gzip, deflate, br']) {
    const { headers, body } = await ask('GET /docs/swagger-ui.css', { 'accept-encoding': taken })
    t.equal(headers['content-encoding'], 'gzip', taken)
    t.equal(gunzipSync(body).toString(), plain.text)
    t.ok(Number(headers['content-length']) * 3 < Number(plain.headers['content-length']))
    t.not(headers['etag'], plain.headers['etag'])
  }
  for (const taken of ['', 'br', 'gzip;q=0', 'gzip; q=0.0, br']) {
    const { headers, text } = await ask('GET /docs/swagger-ui.css', { 'accept-encoding': taken })
    t.equal(headers['content-encoding'], undefined, taken)
    t.equal(text, plain.text)
  }
})

t.test('HEAD answers like GET without a body; other methods are refused', async (t) => {
  const { ask } = await setUp()
  for (const path of ['/docs', '/docs/start.js', '/docs/swagger-ui-bundle.js']) {
    const get = await ask(`GET ${path}`)
    const head = await ask(`HEAD ${path}`)
    t.strictSame([head.status, head.text], [200, ''], path)
    for (const name of ['content-type', 'content-length', 'etag', 'content-security-policy'])
      t.equal(head.headers[name], get.headers[name], `${name} of ${path}`)
    const post = await ask(`POST ${path}`)
    t.match(post, { status: 405, headers: { allow: 'GET, HEAD, OPTIONS', ...SECURITY_HEADERS } })
    t.match(await ask(`OPTIONS ${path}`), { status: 204, headers: { allow: 'GET, HEAD, OPTIONS' } })
  }
  t.match(await ask('GET /docs/'), { status: 308, headers: { location: '../docs' } })
})

t.test('without the library the page is short and plain, and links the document', async (t) => {
  const { ask } = await setUp(docsRoutes(null))
  const { status, headers, text } = await ask('GET /docs')
  t.equal(status, 200)
  t.match(headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
  })
  t.match(text, '<a href="openapi.json">')
  t.notMatch(text, /<script|stylesheet/)
  t.match(await ask('GET /docs/start.js'), { status: 404 })
})

t.test('a file that could not be read is read again at the next call', async (t) => {
  const folder = newFolder(t)
  const { ask, errors } = await setUp(docsRoutes(pathToFileURL(`${folder}/`)))
  t.match(await ask('GET /docs/swagger-ui.css'), { status: 500 })
  t.match(errors, [{ error: { code: 'ENOENT' } }])
  writeFileSync(`${folder}/swagger-ui.css`, 'body {}')
  t.match(await ask('GET /docs/swagger-ui.css'), { status: 200, text: 'body {}' })
})

t.test('GET / links everything that needs no key, and the reference only if it exists', async (t) => {
  for (const [routes, docs] of [
    [docsRoutes(), { docs: '/docs' }],
    [[], {}],
  ] as const) {
    const { ask } = await setUp([...routes])
    const { status, headers, text } = await ask('GET /')
    const links = { ...docs, openapi: '/openapi.json', health: '/healthz' }
    t.match({ status, type: headers['content-type'] }, { status: 200, type: 'application/json' })
    t.strictSame(JSON.parse(text), { name: 'prospect-pages', description: DESCRIPTION, ...links })
    for (const link of Object.values(links)) t.equal((await ask(`GET ${link}`)).status, 200, link)
  }
})

t.test('DOCS=off removes the page', async (t) => {
  const statusOf = async (docs: string) => {
    const config = readConfig({ DATABASE_URL: 'memory:', LOG_LEVEL: 'silent', DOCS: docs })
    const { api } = compose(config, await createRuntime(config, createLog('silent')))
    return (await api({ method: 'GET', target: '/docs', headers: {} })).status
  }
  t.strictSame(await Promise.all(['', 'on', 'off'].map(statusOf)), [200, 200, 404])
  t.throws(() => readConfig({ DOCS: 'no' }), /settings are invalid/)
})
