import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { caller, databaseKinds, seed, startServer, type TestedDatabase, until } from '../support/program.ts'
import { peakMemoryMb } from './verdict.ts'

t.setTimeout(0)
const ENDPOINTS = 20
const ACTIVITIES = 80
const ATTEMPT_MS_MAX = 15_000
const PENDING = 1_000_000
const SENDING_MS = 8_000
const MEMORY_MB_MAX = 300
const PATIENT = { tries: 400, pauseMs: 25 }

/** A server of a tenant with endpoints at a receiver that never answers at `/0`. */
const setting = async (t: Test, database: TestedDatabase, endpoints: number, hangs: boolean) => {
  const env = { ...database.env, WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }
  const { apiKey, tenantId } = await seed(env)
  const received = new Map<string, Set<string>>()
  const receiver = createServer((request: IncomingMessage, response) => {
    const { url = '', headers } = request
    const ids = received.get(url) ?? new Set()
    received.set(url, ids.add(String(headers['webhook-id'])))
    if (!hangs || url !== '/0') request.resume().on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  t.teardown(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  const server = await startServer(t, env)
  const call = caller(server.url, apiKey)
  const ids: string[] = []
  for (let number = 0; number < endpoints; number++) {
    const url = `http://127.0.0.1:${port}/${number}`
    const { status, body } = await call('POST', '/v0/webhook_endpoints', {
      url,
      types: ['prospect_log.created'],
    })
    t.equal(status, 201)
    ids.push(body.webhookEndpointId)
  }
  const countAt = (number: number) => received.get(`/${number}`)?.size ?? 0
  return { server, call, tenantId, ids, countAt }
}

/** Events of one activity, each pending for every endpoint: as many deliveries as wanted. */
const fill = (tenantId: string, ids: readonly string[], activity: object, isSqlite: boolean): string[] => {
  const events = PENDING / ids.length
  const number = isSqlite ? "printf('%026d', n)" : "lpad(n::text, 26, '0')"
  const numbers = isSqlite
    ? `(with recursive c (n) as (select 1 union all select n + 1 from c where n < ${events}) select n from c)`
    : `generate_series(1, ${events}) as c (n)`
  const text = JSON.stringify(activity)
  const now = `'${new Date().toISOString()}'`
  return [
    `insert into events (tenant_id, event_id, sequence, type, ids, api_key_id, created_at)
      select '${tenantId}', 'event_' || ${number}, n + 1000000000, 'prospect_log.created', '${text}', null, ${now}
      from ${numbers}`,
    ...ids.map(
      (id) => `
      insert into webhook_deliveries
        (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
      select '${tenantId}', '${id}', 'event_' || ${number}, 'pending', 0, ${now}, ${now} from ${numbers}`,
    ),
  ]
}

for (const kind of databaseKinds())
  t.test(`webhooks on ${kind.name}`, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)

    t.test('nineteen endpoints get everything while a twentieth never answers', async (t) => {
      const { server, call, ids, countAt } = await setting(t, await kind.open(t), ENDPOINTS, true)
      await call('POST', '/v0/prospect_logs', { source: 'faults', payload: {} })
      await until('it hangs', () => countAt(0) > 0)
      const began = performance.now()
      for (let sent = 1; sent < ACTIVITIES; sent += 10)
        await Promise.all(
          Array.from({ length: 10 }, () =>
            call('POST', '/v0/prospect_logs', { source: 'faults', payload: {} }),
          ),
        )
      for (let number = 1; number < ENDPOINTS; number++)
        await until(`endpoint ${number} has all`, () => countAt(number) >= ACTIVITIES, PATIENT)
      const tookMs = Math.round(performance.now() - began)
      t.ok(tookMs < ATTEMPT_MS_MAX, `${tookMs} ms: before the first attempt that hangs has ended`)
      const { body } = await call('GET', `/v0/webhook_endpoints/${ids[0]}`)
      t.equal(body.failures, 0)
      t.ok(countAt(0) <= 4, 'no more than four wait for its answers')
      const stopping = performance.now()
      t.equal(await server.stop(), 0)
      t.ok(performance.now() - stopping < ATTEMPT_MS_MAX / 2, 'a stop does not wait for them')
    })

    t.test(`${PENDING} pending deliveries keep memory flat`, async (t) => {
      const database = await kind.open(t)
      const { server, call, tenantId, ids, countAt } = await setting(t, database, 5, false)
      const logged = await call('POST', '/v0/prospect_logs', { source: 'faults', payload: {} })
      await until('it is sent', () => countAt(0) > 0)
      const { prospectId, prospectLogId } = logged.body
      const activity = { prospectId, prospectLogId }
      for (const statement of fill(tenantId, ids, activity, kind.name === 'sqlite'))
        await database.rows(statement)
      const delivered = () => ids.reduce((sum, _, number) => sum + countAt(number), 0)
      await pause(SENDING_MS)
      const memoryMb = peakMemoryMb(server.pid) ?? 0
      t.ok(delivered() > 1_000, `${delivered()} were delivered in ${SENDING_MS / 1_000} s`)
      t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
      t.comment(`${kind.name}: ${delivered()} delivered, peak MB: ${memoryMb}`)
      const began = performance.now()
      const { status } = await call('POST', '/v0/prospect_logs', { source: 'faults', payload: {} })
      t.equal(status, 201, `meanwhile an activity is logged in ${Math.round(performance.now() - began)} ms`)
      t.equal(await server.stop(), 0)
    })
  })
