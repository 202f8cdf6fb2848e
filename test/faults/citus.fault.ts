import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startCitus, type ThrowawayCitus, whyNoCitus, workerOf } from '../support/citus.ts'
import { caller, databaseAt, type Environment, seed, startProgram, until } from '../support/program.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { BACK_MS_MAX, served } from './postgres-scene.ts'
import { createTraffic, type Seen } from './traffic.ts'
import { answerFaults, figuresOf } from './verdict.ts'

const TENANTS_OF_A_WORKER = 4
/** Each tenant at the server of each node. */
const CALLERS = 2
/** With the grace longer than a statement waits for a connection: a wait for those that a machine holds is refused. */
const STATEMENT_MS_MAX = 2_000
/** Until statements that a machine never answered have been given up. */
const AWAY_MS = STATEMENT_MS_MAX + 4_000
const ANSWER_MS_MAX = 15_000
/** Versions that a publisher claimed on a worker that went away wait for their lease to end. */
const LEASE_MS = 20_000

const why = whyNoCitus()
if (why !== null) process.stderr.write(`${why}\n`)

t.setTimeout(0)
t.test('tenants on two workers, whose nodes go away under load', { skip: why ?? false }, async (t) => {
  const citus = await startCitus()
  t.teardown(citus.stop)
  const nodes = [citus.coordinator, ...citus.workers]
  const url = await citus.newDistributed()
  const addresses = citus.atEachNode(url)
  const database = databaseAt(url)
  const more = { DATABASE_CLUSTER: 'citus', STATEMENT_MS_MAX: String(STATEMENT_MS_MAX) }
  const receiver = await startReceiver(t)
  const servers = await Promise.all(
    addresses.map((address) =>
      startProgram(t, { DATABASE_URL: address, ...more, WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }),
    ),
  )
  for (const server of servers) await server.ready()
  const tenants = await seedTenants(t, citus, { ...database.env, ...more })
  for (const { apiKey, tenantId } of tenants) {
    const endpoint = { url: `${receiver.url}/${tenantId}`, types: ['page_version.published'] }
    await caller(String(servers[0]?.url), apiKey)('POST', '/v0/webhook_endpoints', endpoint)
  }
  const flows = tenants.flatMap(({ traffic }) =>
    servers.map(({ url }) => traffic.flow(url, { callers: CALLERS })),
  )

  /** New writes of both kinds are acknowledged for each of these tenants, and the webhook of a new page is delivered. */
  const areServed = async (these: typeof tenants, since: number) => {
    await Promise.all(these.map((tenant) => served(tenant, since)))
    for (const { tenantId, traffic } of these) {
      const page = traffic.answers.find(
        ({ kind, status, at }) => kind === 'page' && status === 201 && at >= since,
      )
      const webhook = `/${tenantId} ${page?.body?.['pageId']}`
      await until(`${webhook} is delivered`, () => receiver.received.has(webhook))
    }
  }
  for (const [number, node] of nodes.entries())
    for (const harm of ['killed', 'frozen'])
      await t.test(`${number === 0 ? 'the coordinator' : `worker ${number}`} is ${harm}`, async (t) => {
        await areServed(tenants, performance.now())
        const others = tenants.filter(({ worker }) => worker + 1 !== number)
        const since = performance.now()
        const undo = harm === 'frozen' ? node.freeze() : await node.kill().then(() => node.start)
        const beside = async () => (await fetch(`${servers[number]?.url}/readyz`)).status === 503
        const felt = until('the process beside it is not ready', beside)
        const away = Promise.all([pause(AWAY_MS), areServed(others, performance.now()), felt])
        await away.finally(undo)
        const backAt = performance.now()
        const isRefusal = ({ status, at }: Seen) => status === 503 && at > since
        const refused = others.flatMap(({ traffic }) => traffic.answers.filter(isRefusal))
        t.strictSame(refused, [], 'nobody else feels it, not even at the process beside it')
        const backMs = Math.max(...(await Promise.all(tenants.map((tenant) => served(tenant, backAt)))))
        // Work that a process had claimed there stays claimed until its lease ends: that is put forward.
        await database.rows('update webhook_endpoints set claimable_at = created_at')
        t.ok(backMs <= BACK_MS_MAX, `it served ${backMs} ms after its database`)
      })

  await Promise.all(flows.map((flow) => flow.stop()))
  for (const { tenantId, worker, traffic } of tenants) {
    await traffic.repeat(String(servers[0]?.url))
    const faults = await keptFaults(traffic, database, tenantId)
    t.strictSame(faults, [], 'nothing is lost or doubled')
    t.strictSame(
      answerFaults(traffic.answers, { msMax: ANSWER_MS_MAX }),
      [],
      'every answer is one that may be',
    )
    t.comment(`a tenant on worker ${worker + 1}: ${figuresOf(traffic, faults, {})}`)
  }
  t.strictSame(await versionFaults(database, LEASE_MS * 2), [], 'each page is published')
  for (const address of addresses)
    t.strictSame(await databaseAt(address).rows('select gid from pg_prepared_xacts'), [])
  for (const server of servers) t.equal(await server.stop(), 0, 'it is the process that it was')
})

/** As many tenants on each worker, each with separate traffic. */
const seedTenants = async (t: Test, citus: ThrowawayCitus, env: Environment) => {
  const tenants = []
  while (tenants.length < 2 * TENANTS_OF_A_WORKER) {
    const { tenantId, apiKey, pageGroupId } = await seed(env)
    const worker = await workerOf(citus, String(env['DATABASE_URL']), tenantId)
    if (tenants.filter((tenant) => tenant.worker === worker).length === TENANTS_OF_A_WORKER) continue
    const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId] })
    t.teardown(traffic.close)
    tenants.push({ tenantId, apiKey, worker, traffic })
  }
  return tenants
}

/** Keeps the path and the page of each webhook. */
const startReceiver = async (t: Test) => {
  const received = new Set<string>()
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    received.add(`${request.url} ${JSON.parse(text).data.pageId}`)
    response.writeHead(204).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(async () => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}
