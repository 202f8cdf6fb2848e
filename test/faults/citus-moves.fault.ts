import t from 'tap'
import { runOn, startCitus, whyNoCitus, workerOf } from '../support/citus.ts'
import { databaseAt, seed, startProgram } from '../support/program.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { served } from './postgres-scene.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf } from './verdict.ts'

/** At the server of each node. */
const CALLERS = 2
/** A write waits for its shard to change hands. */
const ANSWER_MS_MAX = 30_000
const LEASE_MS = 20_000

const why = whyNoCitus()
if (why !== null) process.stderr.write(`${why}\n`)

t.setTimeout(0)
t.test(
  'a tenant that is written to while it moves to another worker and back',
  { skip: why ?? false },
  async (t) => {
    const citus = await startCitus()
    t.teardown(citus.stop)
    // A node that copies shards connects to itself, too.
    for (const { folder } of [citus.coordinator, ...citus.workers])
      await runOn(`postgres://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`, [
        `alter system set citus.local_hostname = '${folder}'`,
        'select pg_reload_conf()',
      ])
    const url = await citus.newDistributed()
    const database = databaseAt(url)
    const more = { DATABASE_CLUSTER: 'citus' }
    const starting = citus
      .atEachNode(url)
      .map((address) => startProgram(t, { DATABASE_URL: address, ...more }))
    const servers = await Promise.all(starting)
    for (const server of servers) await server.ready()
    const { tenantId, apiKey, pageGroupId } = await seed({ ...database.env, ...more })
    const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId] })
    t.teardown(traffic.close)
    const flows = servers.map(({ url }) => traffic.flow(url, { callers: CALLERS }))
    const move = async () => {
      const from = await workerOf(citus, url, tenantId)
      const [source, target] = from === 0 ? citus.workers : citus.workers.toReversed()
      await runOn(url, [
        `select citus_move_shard_placement(get_shard_id_for_distribution_column('pages', '${tenantId}'),
        '${source?.folder}', 5432, '${target?.folder}', 5432)`,
      ])
      t.equal(await workerOf(citus, url, tenantId), 1 - from)
    }

    await served({ traffic }, performance.now())
    for (const _ of ['there', 'back']) {
      await move()
      await served({ traffic }, performance.now())
    }

    await Promise.all(flows.map((flow) => flow.stop()))
    await traffic.repeat(String(servers[0]?.url))
    const faults = await keptFaults(traffic, database)
    t.strictSame(faults, [], 'nothing is lost or doubled')
    t.strictSame(
      answerFaults(traffic.answers, { msMax: ANSWER_MS_MAX }),
      [],
      'every answer is one that may be',
    )
    t.strictSame(await versionFaults(database, LEASE_MS * 2), [], 'each page is published')
    t.comment(figuresOf(traffic, faults, {}))
    for (const server of servers) t.equal(await server.stop(), 0, 'it is the process that it was')
  },
)
