import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import {
  answerOf,
  caller,
  databaseKinds,
  seed,
  startProgram,
  startServer,
  until,
} from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(4)
const LOGS = 25_000
/** Logs are counted once they are as old as clocks of processes may differ. */
const CLOCKS_APART_MS = 31_000

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while they count activities`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const random = faultsRandom(t)
      const database = await kind.open(t)
      const { apiKey, tenantId } = await seed(database.env)
      const activity = (i: number) => ({
        source: `s${i % 3}`,
        type: `t${i % 5}`,
        payload: {},
        email: `p${i % 50}@x.com`,
      })
      const lines = Array.from({ length: LOGS }, (_, i) => `${JSON.stringify(activity(i))}\n`).join('')
      const file = `${t.testdir({ 'logs.jsonl': lines })}/logs.jsonl`
      await answerOf(['prospect-logs', 'import', '--tenant', tenantId, '--file', file], database.env)
      await pause(CLOCKS_APART_MS)

      const { env } = database
      let server = await startServer(t, env)
      const counts = async () => {
        const read = await caller(server.url, apiKey)('GET', '/v0/prospect_log_counts')
        return read.body.items as { source: string; type: string; count: number }[]
      }
      await counts()
      const position = async () =>
        (await database.rows<{ position: string }>('select position from counted_tenants'))[0]?.position
      let cut = 0
      let logs = 0
      for (let round = 0; round < ROUNDS && logs < LOGS; round++) {
        await server.kill()
        const before = await position()
        server = await startProgram(t, env)
        await until('it goes on', async () => (await position()) !== before, { tries: 60_000, pauseMs: 1 })
        await pause(random.below(10))
        await server.kill()
        const [found] = await database.rows<{ hours: number; days: number; logs: number }>(`
          select (select coalesce(sum(count), 0) from prospect_log_counts where unit = 'hour') as hours,
            (select coalesce(sum(count), 0) from prospect_log_counts where unit = 'day') as days,
            (select count(*) from prospect_logs, counted_tenants where prospect_log_id <= position) as logs`)
        logs = Number(found?.logs)
        const counted = [Number(found?.hours), Number(found?.days)]
        t.strictSame(counted, [logs, logs], 'every log up to the position is counted, once')
        if (logs > 0 && logs < LOGS) cut++
      }
      t.comment(`${cut} were killed between two steps`)
      t.ok(cut > 0)
      server = await startServer(t, env)
      await until(
        'all are counted',
        async () => (await counts()).reduce((sum, { count }) => sum + count, 0) === LOGS,
      )
      const all = (await counts()).map(({ source, type, count }) => `${source} ${type} ${count}`).sort()
      const expected = Map.groupBy(
        Array.from({ length: LOGS }, (_, i) => activity(i)),
        ({ source, type }) => `${source} ${type}`,
      )
      t.strictSame(all, [...expected].map(([pair, its]) => `${pair} ${its.length}`).sort())
      t.equal(await server.stop(), 0)
    },
  )
