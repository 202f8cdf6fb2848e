import t, { type Test } from 'tap'
import { type Ask, connect, openPostgres } from '../../src/adapters/postgres/connect.ts'
import { noOf } from '../core/scene.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

const MINUTES_2 = 120_000

t.test('on postgres', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await startPostgres()
  t.teardown(server.stop)

  const setting = async (t: Test, limits: Partial<typeof POSTGRES_SETTINGS> = {}) => {
    const url = await server.newDatabase()
    const { ask, close } = connect({ ...POSTGRES_SETTINGS, ...limits, url })
    t.teardown(close)
    const sql = openPostgres(url, { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())
    const connected = async () => {
      const rows = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`
      return rows.map(({ pid }) => pid)
    }
    return { ask, close, connected }
  }

  t.test('a connection serves one statement after another', async (t) => {
    const { ask, connected } = await setting(t)
    const pids = [await backendOf(ask), await backendOf(ask), await backendOf(ask)]
    t.equal(new Set(pids).size, 1)
    t.strictSame(await connected(), [pids[0]])
  })

  t.test('as many statements at once have as many connections, which then stay', async (t) => {
    const { ask, connected } = await setting(t, { connectionsMax: 3 })
    const pids = await Promise.all(Array.from({ length: 9 }, () => backendOf(ask)))
    t.strictSame((await connected()).sort(), [...new Set(pids)].sort())
    t.equal(new Set(pids).size, 3)
  })

  t.test('after two minutes a connection is replaced, and the old one is gone', async (t) => {
    const { ask, connected } = await setting(t)
    const first = await backendOf(ask)
    const { now } = performance
    t.teardown(() => {
      performance.now = now
    })
    performance.now = () => now.call(performance) + MINUTES_2
    const second = await backendOf(ask)
    t.not(second, first)
    while ((await connected()).includes(first));
    t.strictSame(await connected(), [second])
    t.equal(await backendOf(ask), second)
  })

  t.test('a statement that never answers is refused in time, and its connection replaced', async (t) => {
    const { ask } = await setting(t, { statementMsMax: 100 })
    const frozen = await backendOf(ask)
    process.kill(frozen, 'SIGSTOP')
    t.teardown(() => process.kill(frozen, 'SIGCONT'))
    t.match(await noOf(backendOf(ask)), {
      kind: 'unavailable',
      message: 'The database did not answer in time.',
    })
    t.not(await backendOf(ask), frozen)
  })

  t.test('a statement that waited while all was closed is refused, and opens nothing', async (t) => {
    const { ask, close, connected } = await setting(t, { connectionsMax: 1 })
    const underWay = ask((sql) => sql`select pg_sleep(0.1)`)
    const waiting = noOf(backendOf(ask))
    await new Promise(setImmediate)
    await close()
    await t.resolves(underWay)
    t.match(await waiting, { kind: 'unavailable' })
    t.strictSame(await connected(), [])
  })

  t.test('once it is closed nothing is sent any more', async (t) => {
    const { ask, close, connected } = await setting(t)
    await backendOf(ask)
    await close()
    t.match(await noOf(backendOf(ask)), { kind: 'unavailable' })
    t.strictSame(await connected(), [])
  })
})

/** The process of PostgreSQL that answered. */
const backendOf = async (ask: Ask): Promise<number> => {
  const [row] = await ask((sql) => sql<{ pid: number }[]>`select pg_backend_pid() as pid`)
  return row?.pid ?? 0
}
