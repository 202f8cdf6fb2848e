import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import {
  answerOf,
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

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while they remove a tenant`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const random = faultsRandom(t)
      const { env, rows } = await kind.open(t)
      const leaving = await seed(env)
      const staying = await seed(env)
      const line = (i: number) =>
        `${JSON.stringify({ source: 's', payload: {}, email: `p${i % 5_000}@x.com` })}\n`
      const file = `${t.testdir({ 'logs.jsonl': Array.from({ length: LOGS }, (_, i) => line(i)).join('') })}/logs.jsonl`
      for (const { tenantId } of [leaving, staying])
        await answerOf(['prospect-logs', 'import', '--tenant', tenantId, '--file', file], env)
      const countOf = async ({ tenantId }: { readonly tenantId: string }) => {
        const [found] = await rows<{ logs: number; people: number }>(`
        select (select count(*) from prospect_logs where tenant_id = '${tenantId}') as logs,
          (select count(*) from prospects where tenant_id = '${tenantId}') as people`)
        return [Number(found?.logs), Number(found?.people)]
      }

      t.match(await answerOf(['tenants', 'delete', leaving.tenantId, '--yes'], env), { deletedAt: /Z$/ })
      let cut = 0
      let server = await startProgram(t, env)
      for (let round = 0; round < ROUNDS; round++) {
        const before = (await countOf(leaving))[0] ?? 0
        if (round > 0)
          await until('it goes on', async () => ((await countOf(leaving))[0] ?? 0) < before || before === 0)
        await pause(random.below(30))
        await server.kill()
        const [logs = 0] = await countOf(leaving)
        if (logs > 0 && logs < LOGS) cut++
        server = await startProgram(t, env)
      }
      t.comment(`${cut} of ${ROUNDS} were killed between two steps`)
      t.ok(cut > 0)
      const found = async () => {
        const tenants = linesOf<{ tenantId: string; left?: string[] }>(
          (await runCommand(['tenants', 'list'], env)).stdout,
        )
        return tenants.find(({ tenantId }) => tenantId === leaving.tenantId)
      }
      // The rewrite of an embedded file may have to wait: then it is listed, with nothing left of it.
      await until('nothing is left of it', async () => ((await found())?.left ?? []).length === 0)
      t.strictSame(await countOf(leaving), [0, 0])
      t.strictSame(await countOf(staying), [LOGS, 5_000])
      t.equal(await server.stop(), 0)
    },
  )
