import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  answerOf,
  type DatabaseKind,
  databaseKinds,
  linesOf,
  runCommand,
  seed,
  startProgram,
  until,
} from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(4)
const LOGS = 20_000
const PEOPLE = 5_000
const KILL_PAUSE_MS_MAX = 30

/** A database with two tenants that have the same activities. */
const setUp = async (t: Test, kind: DatabaseKind) => {
  const random = faultsRandom(t)
  const { env, rows } = await kind.open(t)
  const leaving = await seed(env)
  const staying = await seed(env)
  const lines = Array.from({ length: LOGS }, (_, i) => {
    const activity = { source: 's', payload: {}, email: `p${i % PEOPLE}@x.com` }
    return `${JSON.stringify(activity)}\n`
  })
  const folder = t.testdir({ 'logs.jsonl': lines.join('') })
  const file = `${folder}/logs.jsonl`
  for (const { tenantId } of [leaving, staying])
    await answerOf(['prospect-logs', 'import', '--tenant', tenantId, '--file', file], env)
  return {
    random,
    env,
    rows,
    leavingId: leaving.tenantId,
    stayingId: staying.tenantId,
  }
}
type Scene = Awaited<ReturnType<typeof setUp>>

const readRest = async ({ rows }: Scene, tenantId: string) => {
  const [rest] = await rows<{ logs: number; people: number }>(`
    select (select count(*) from prospect_logs where tenant_id = '${tenantId}') as logs,
      (select count(*) from prospects where tenant_id = '${tenantId}') as people`)
  return { logs: Number(rest?.logs), people: Number(rest?.people) }
}

/** What `tenants list` says is left of the tenant that is deleted. */
const listLeft = async ({ env, leavingId }: Scene): Promise<readonly string[]> => {
  const { stdout } = await runCommand(['tenants', 'list'], env)
  const tenants = linesOf<{ tenantId: string; left?: string[] }>(stdout)
  return tenants.find(({ tenantId }) => tenantId === leavingId)?.left ?? []
}

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while they remove a tenant`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      const { env, leavingId, random, stayingId } = scene
      t.match(await answerOf(['tenants', 'delete', leavingId, '--yes'], env), { deletedAt: /Z$/ })

      let interrupted = 0
      let server = await startProgram(t, env)
      let before = LOGS
      for (let round = 0; round < ROUNDS; round++) {
        // The first server is killed at any moment, the others after they have removed something.
        const goesOn = async () => {
          const { logs } = await readRest(scene, leavingId)
          return logs < before || logs === 0
        }
        if (round > 0) await until('the removal goes on', goesOn)
        await pause(random.below(KILL_PAUSE_MS_MAX))
        await server.kill()

        const { logs } = await readRest(scene, leavingId)
        if (logs > 0 && logs < LOGS) interrupted++
        before = logs
        server = await startProgram(t, env)
      }
      t.ok(interrupted > 0, `${interrupted} of ${ROUNDS} servers were killed between two steps`)

      // The file of an embedded database may be rewritten later: then the tenant is listed, with nothing left of it.
      await until('nothing is left of the tenant', async () => (await listLeft(scene)).length === 0)
      t.strictSame(await readRest(scene, leavingId), { logs: 0, people: 0 }, 'the tenant is removed')
      const untouched = { logs: LOGS, people: PEOPLE }
      t.strictSame(await readRest(scene, stayingId), untouched, 'the other tenant is untouched')
      t.equal(await server.stop(), 0)
    },
  )
