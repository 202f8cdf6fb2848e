import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { diagnosed } from '../support/doctor.ts'
import {
  databaseKinds,
  type Environment,
  embeddedDatabase,
  newFolder,
  openServer,
  until,
} from '../support/program.ts'

t.setTimeout(0)

type Received = { readonly headers: Record<string, string>; readonly body: string }
/** A receiver that answers with this status, 0: never, and keeps what it gets. */
const startReceiver = async (t: Test) => {
  const received: Received[] = []
  const receiver = { received, status: 200, url: '' }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    received.push({ headers: request.headers as Record<string, string>, body })
    if (receiver.status > 0) response.writeHead(receiver.status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=private`
  return receiver
}

for (const kind of databaseKinds()) {
  t.teardown(() => kind.end())
  t.test(`webhooks of a server on ${kind.name}`, { skip: kind.skip ?? false }, async (t) => {
    const database = await kind.open(t)
    const env = {
      ...database.env,
      WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8',
      SECRETS_KEY: randomBytes(32).toString('base64'),
      DRAIN_MS_MAX: '1000',
    }
    const { tenantId, call, server } = await openServer(t, { env })
    const target = await startReceiver(t)
    const { received } = target

    const created = await call('POST', '/v0/webhook_endpoints', { url: target.url })
    t.equal(created.status, 201)
    const { secret, webhookEndpointId } = created.body
    const endpoint = `/v0/webhook_endpoints/${webhookEndpointId}`
    const log = (email: string) =>
      call('POST', '/v0/prospect_logs', { source: 'crm', email, payload: { form: 'contact' } })

    const { body: receipt } = await log('ada@example.com')
    await until('both events arrived', () => received.length === 2)
    const webhook = new Webhook(secret)
    const bodies = received.map(
      ({ headers, body }) => webhook.verify(body, headers) as { type: string; data: object },
    )
    const byType = Object.fromEntries(bodies.map(({ type, data }) => [type, data]))
    t.match(byType, {
      'prospect.created': { prospectId: receipt.prospectId, email: 'ada@example.com' },
      'prospect_log.created': { prospectLogId: receipt.prospectLogId, payload: { form: 'contact' } },
    })
    t.match(received[0]?.headers['user-agent'], /^prospect-pages\/\d/)

    t.test('a rotated secret signs together with the old one', async (t) => {
      received.length = 0
      const { body: rotated } = await call('POST', `${endpoint}/rotate_secret`, { overlapHours: 1 })
      await log('bob@example.com')
      await until('the events arrived', () => received.length === 2)
      for (const { headers, body } of received)
        for (const secret of [rotated.secret, created.body.secret])
          t.ok(new Webhook(secret).verify(body, headers))
    })

    t.test('secrets are encrypted in the database, and in no log; doctor says so', async (t) => {
      const rows = await database.rows('select secret, previous_secret from webhook_endpoints')
      t.equal(rows.length, 1)
      t.notMatch(JSON.stringify(rows), /whsec_/)
      t.notMatch(server.stderr(), /whsec_|key=private/)
      const { named } = await diagnosed(t, env)
      for (const name of ['webhook secrets', 'encryption']) t.match(named(name), { state: 'ok' })
      for (const key of [{}, { SECRETS_KEY: randomBytes(32).toString('base64') }]) {
        const wrong = (await diagnosed(t, { ...database.env, ...key })).named('webhook secrets')
        t.match(wrong, { state: 'failed', detail: /^no key decrypts a secret of webhookendpoint_/ })
      }
    })

    t.test('an address that is not allowed is refused, and the refusal names the setting', async (t) => {
      const { status, body } = await call('POST', '/v0/webhook_endpoints', { url: 'https://10.0.0.1/hook' })
      t.equal(status, 400)
      t.match(body.errors, [{ pointer: '/url', detail: /WEBHOOKS_ALLOWED_NETWORKS/ }])
    })

    t.test('a receiver that is gone for good is disabled, and that is a line in the log', async (t) => {
      target.status = 410
      await log('eve@example.com')
      await until('it is disabled', async () => (await call('GET', endpoint)).body.status === 'disabled')
      await until('it is logged', () =>
        server.logs().find(({ msg }) => msg === 'A webhook endpoint was disabled.'),
      )
      const line = server.logs().find(({ msg }) => msg === 'A webhook endpoint was disabled.')
      t.match(line, { tenantId, webhookEndpointId, host: /^127\.0\.0\.1:\d+$/, reason: /410/ })
      const metrics = await (await fetch(`${server.url}/metrics`)).text()
      t.match(metrics, /prospect_pages_webhook_attempts_total\{outcome="delivered"\} [4-9]/)
      t.match(metrics, /prospect_pages_webhook_attempts_total\{outcome="failed"\} [12]/)
    })

    t.test('after SIGTERM the server ends soon, whatever a receiver does that is tested', async (t) => {
      target.status = 0
      received.length = 0
      void call('POST', `${endpoint}/test`).catch(() => {})
      await until('the test arrived', () => received.length === 1)
      t.equal(await server.stop(), 0)
    })
  })
}

const openssl = (cwd: string, name: string) => {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key.pem']
  const names = ['-subj', '/CN=own', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2', '-out', name]
  return spawnSync('openssl', ['req', '-x509', ...key, ...names], { cwd }).status === 0
}
const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed'
t.test(
  'NODE_EXTRA_CA_CERTS adds an authority for receivers; no variable adds a proxy',
  { skip },
  async (t) => {
    const folder = newFolder(t)
    t.ok(openssl(folder, 'own.pem'))
    const [cert, key] = ['own.pem', 'key.pem'].map((name) => readFileSync(join(folder, name)))
    t.ok(openssl(folder, 'other.pem'))
    const server = createTlsServer({ cert, key }, (_request, response) => response.end())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close().closeAllConnections())
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const tested = async (more: Environment) => {
      const database = embeddedDatabase(join(newFolder(t), 'x.db'))
      const env = { WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8', ...more }
      const { call, server } = await openServer(t, database, env)
      const { webhookEndpointId } = (await call('POST', '/v0/webhook_endpoints', { url })).body
      const { body } = await call('POST', `/v0/webhook_endpoints/${webhookEndpointId}/test`)
      await server.stop()
      return body
    }
    const proxies = { HTTPS_PROXY: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1' }
    const own = { NODE_EXTRA_CA_CERTS: join(folder, 'own.pem') }
    t.match(await tested(own), { delivered: true, statusCode: 200 })
    t.match(await tested({ ...own, ...proxies }), { delivered: true, statusCode: 200 })
    const other = { NODE_EXTRA_CA_CERTS: join(folder, 'other.pem') }
    for (const env of [{}, other]) t.match(await tested(env), { delivered: false, error: /certificate/ })
  },
)
