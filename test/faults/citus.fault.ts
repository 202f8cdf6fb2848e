import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startCitus, type ThrowawayCitus, whyNoCitus, workerOf } from '../support/citus.ts'
import {
  databaseAt,
  type Environment,
  seed,
  startProgram,
  type TestedDatabase,
  until,
} from '../support/program.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { BACK_MS_MAX, served } from './postgres-scene.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf } from './verdict.ts'

const TENANTS_OF_A_WORKER = 4
/** Of each tenant at each of the two servers. */
const CALLERS = 4
/** With the grace longer than a statement waits for a connection: a wait for those that a machine holds is refused. */
const STATEMENT_MS_MAX = 2_000
/** Until statements that a machine never answered have been given up. */
const AWAY_MS = STATEMENT_MS_MAX + 2_000
const ANSWER_MS_MAX = 15_000
/** What a publisher had claimed on a worker that went away waits for the end of its lease. */
const LEASE_MS = 20_000

const why = whyNoCitus()
if (why !== null) process.stderr.write(`${why}\n`)

t.setTimeout(0)
t.test('tenants on two workers, whose nodes go away under load', { skip: why ?? false }, async (t) => {
  const citus = await startCitus()
  t.teardown(citus.stop)
  const { coordinator, workers } = citus
  const database = databaseAt(await citus.newDistributed())
  const env = { ...database.env, DATABASE_CLUSTER: 'citus', STATEMENT_MS_MAX: String(STATEMENT_MS_MAX) }
  const servers = await Promise.all([startProgram(t, env), startProgram(t, env)])
  for (const server of servers) await server.ready()
  const tenants = await seedTenants(t, citus, env)
  const flows = tenants.flatMap(({ traffic }) =>
    servers.map(({ url }) => traffic.flow(url, { callers: CALLERS })),
  )

  /** New writes of both kinds are acknowledged for each of these tenants, and a new page is published. */
  const areServed = async (these: typeof tenants, since: number): Promise<number> => {
    const backMs = await Promise.all(these.map((tenant) => served(tenant, since)))
    await Promise.all(these.map((tenant) => published(database, tenant, since)))
    return Math.max(...backMs)
  }
  /** `harm` answers how to undo it. */
  const goesAway = (
    name: string,
    isHarmed: (worker: number) => boolean,
    harm: () => Promise<() => Promise<void>>,
  ) =>
    t.test(name, async (t) => {
      await areServed(tenants, performance.now())
      const harmed = tenants.filter(({ worker }) => isHarmed(worker))
      const others = tenants.filter(({ worker }) => !isHarmed(worker))
      const undo = await harm()
      const since = performance.now()
      await Promise.all([pause(AWAY_MS), areServed(others, since)])
      const refusals = ({ traffic }: Tenant) =>
        traffic.answers.filter(({ status, at }) => status === 503 && at > since)
      t.ok(
        harmed.every((tenant) => refusals(tenant).length > 0),
        'the harm was felt',
      )
      t.strictSame(others.flatMap(refusals), [], 'by nobody else')
      await undo()
      const backMs = await areServed(tenants, performance.now())
      t.ok(backMs <= BACK_MS_MAX, `it served ${backMs} ms after its database`)
    })

  for (const [number, node] of [...workers, coordinator].entries()) {
    const isHarmed = (worker: number) => worker === number || node === coordinator
    const name = node === coordinator ? 'the coordinator' : `worker ${number + 1}`
    await goesAway(`${name} is killed`, isHarmed, async () => {
      await node.kill()
      return node.start
    })
  }
  await goesAway(
    'worker 1 is frozen',
    (worker) => worker === 0,
    async () => {
      const goOn = workers[0].freeze()
      return async () => goOn()
    },
  )

  await Promise.all(flows.map((flow) => flow.stop()))
  for (const { tenantId, worker, traffic } of tenants) {
    await traffic.repeat(servers[0].url)
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
  for (const server of servers) t.equal(await server.stop(), 0, 'it is the process that it was')
})

type Tenant = Awaited<ReturnType<typeof seedTenants>>[number]

/** As many tenants on each worker, each with traffic of its own. */
const seedTenants = async (t: Test, citus: ThrowawayCitus, env: Environment) => {
  const tenants = []
  while (tenants.length < 2 * TENANTS_OF_A_WORKER) {
    const { tenantId, apiKey, pageGroupId } = await seed(env)
    const worker = await workerOf(citus, String(env['DATABASE_URL']), tenantId)
    if (tenants.filter((tenant) => tenant.worker === worker).length === TENANTS_OF_A_WORKER) continue
    const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId] })
    t.teardown(traffic.close)
    tenants.push({ tenantId, worker, traffic })
  }
  return tenants
}

const published = async (database: TestedDatabase, { tenantId, traffic }: Tenant, since: number) => {
  const page = traffic.answers.find(
    ({ kind, status, at }) => kind === 'page' && status === 201 && at >= since,
  )
  const isPublished = `select 1 from pages where tenant_id = '${tenantId}' and page_id = '${page?.body?.['pageId']}'
    and published_version_id is not null`
  await until('a new page is published', async () => (await database.rows(isPublished)).length > 0)
}
