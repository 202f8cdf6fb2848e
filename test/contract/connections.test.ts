import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { connect } from '../../src/adapters/postgres/connect.ts'
import { openPostgres, type Sql } from '../../src/adapters/postgres/open.ts'
import type { Ask } from '../../src/adapters/postgres/sql.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { refusalOf } from '../core/scene.ts'
import { sharedPostgres, startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { until } from '../support/program.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

const MINUTES_2 = 120_000
const END_OTHERS = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`

t.test('on postgres', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await sharedPostgres()
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
    /** A backend ends a moment after its client has closed the connection. */
    const gone = () => until('no connection is left', async () => (await connected()).length === 0)
    return { ask, close, connected, gone, sql }
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

  t.test('a statement that never answers is refused, and its connection replaced', async (t) => {
    const { ask } = await setting(t, { statementMsMax: 100 })
    const frozen = await backendOf(ask)
    process.kill(frozen, 'SIGSTOP')
    t.teardown(() => process.kill(frozen, 'SIGCONT'))
    t.match(await refusalOf(backendOf(ask)), {
      kind: 'unavailable',
      message: 'The database did not answer in time.',
    })
    t.not(await backendOf(ask), frozen)
  })

  t.test('a statement that waits while the pool closes is refused, and opens nothing', async (t) => {
    const { ask, close, gone } = await setting(t, { connectionsMax: 1 })
    const running = ask((sql) => sql`select pg_sleep(0.1)`)
    const waiting = refusalOf(backendOf(ask))
    await new Promise(setImmediate)
    await close()
    await t.resolves(running)
    t.match(await waiting, { kind: 'unavailable' })
    await gone()
  })

  t.test('more statements than connections wait in order, a bounded number, a bounded time', async (t) => {
    const { ask, sql } = await setting(t, {
      connectionsMax: 1,
      waitingMax: 1,
      waitMsMax: 100,
      lockMsMax: 60_000,
    })
    await sql`select pg_advisory_lock(1)`
    const running = ask((sql) => sql`select pg_advisory_lock(1)`)
    const waits = refusalOf(backendOf(ask))
    const refused = await Promise.race([
      refusalOf(backendOf(ask)),
      waits.then(() => 'it was not refused at once'),
    ])
    t.match(refused, { kind: 'unavailable', facts: { retryAfterS: 1 } })
    t.match(await waits, { kind: 'unavailable', message: 'Too many statements wait for the database.' })
    await sql`select pg_advisory_unlock(1)`
    await t.resolves(running)
  })

  t.test('a statement past its time limit is refused as unavailable', async (t) => {
    const { ask } = await setting(t, { statementMsMax: 100 })
    t.match(await refusalOf(ask((sql) => sql`select pg_sleep(30)`)), { kind: 'unavailable' })
  })

  t.test('a statement that waits too long for a lock is refused as unavailable', async (t) => {
    const { ask, sql } = await setting(t, { statementMsMax: 60_000, lockMsMax: 100 })
    await sql`create table locked (id int)`
    const other = await sql.reserve()
    await other`begin`
    await other`lock table locked in access exclusive mode`
    const no = await ask((sql) => sql`select from locked`).catch((error) => error)
    t.match(no, { kind: 'unavailable', cause: { code: '55P03' } }, 'the limit of the lock is the shorter one')
    await other`rollback`
    other.release()
    await t.resolves(ask((sql) => sql`select from locked`))
  })

  t.test('statements whose backends are ended are refused, and the next ones answered', async (t) => {
    const { ask, sql } = await setting(t, { connectionsMax: 4, statementMsMax: 30_000 })
    const failures: unknown[] = []
    for (let round = 0; round < 40; round++) {
      const asked = Array.from({ length: 8 }, () => backendOf(ask).catch((no) => failures.push(no.message)))
      await sql.unsafe(END_OTHERS)
      await Promise.all(asked)
    }
    t.strictSame([...new Set(failures)], ['The database cannot answer now.'], 'none waited for its deadline')
    await until('a statement is answered', () => backendOf(ask).catch(() => 0))
    t.ok((await backendOf(ask)) > 0, 'no ended connection is left')
  })

  t.test('a write whose answer was lost is not sent again', async (t) => {
    const { ask, sql } = await setting(t)
    await sql`create table written (backend int)`
    const write = ask(
      (sql) => sql`
      with slept as (select pg_sleep(0.5)) insert into written select pg_backend_pid() from slept`,
    )
    const no = refusalOf(write)
    await untilBusy(sql)
    await sql.unsafe(END_OTHERS)
    t.match(await no, { kind: 'unavailable' })
    await backendOf(ask)
    t.strictSame([...(await sql`select from written`)], [])
  })

  t.test('closing does not wait for a statement that never answers', async (t) => {
    const { ask, close } = await setting(t)
    const frozen = await backendOf(ask)
    process.kill(frozen, 'SIGSTOP')
    t.teardown(() => process.kill(frozen, 'SIGCONT'))
    const no = refusalOf(backendOf(ask))
    await close()
    t.match(await no, { kind: 'unavailable' })
  })

  t.test('once it is closed, nothing more is sent', async (t) => {
    const { ask, close, gone } = await setting(t)
    await backendOf(ask)
    await close()
    t.match(await refusalOf(backendOf(ask)), { kind: 'unavailable' })
    await gone()
  })
})

t.test(
  'while the database is away statements are refused before their time limit, and then answered',
  async (t) => {
    const why = whyNoPostgres()
    if (why !== null) {
      t.pass(why, { skip: why })
      return
    }
    const server = await startPostgres()
    t.teardown(server.stop)
    const url = await server.newDatabase()
    // The pauses of the driver, left alone, grow to 20 seconds, past the time limit of a statement.
    const { ask, close } = connect({ ...POSTGRES_SETTINGS, connectionsMax: 1, statementMsMax: 5_000, url })
    t.teardown(close)
    await backendOf(ask)
    await server.halt()
    for (let tries = 0; tries < 8; tries++)
      t.match(
        await refusalOf(backendOf(ask)),
        { message: 'The database cannot answer now.' },
        'not the time limit',
      )
    await server.start()
    t.ok((await backendOf(ask)) > 0)
  },
)

/** Until a statement of ours is running. */
const untilBusy = (sql: Sql): Promise<unknown> =>
  until('a statement is running', async () => {
    const [row] = await sql<{ busy: number }[]>`
      select count(*)::int as busy from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state = 'active'
        and wait_event = 'PgSleep'`
    return row?.busy
  })

/** The process of PostgreSQL that answered. */
const backendOf = async (ask: Ask): Promise<number> => {
  const [row] = await ask((sql) => sql<{ pid: number }[]>`select pg_backend_pid() as pid`)
  return row?.pid ?? 0
}

t.test('an address names the server before its query or in it', async (t) => {
  const folder = { path: '/run/pg/.s.PGSQL.5432' }
  for (const [url, expected] of [
    ['postgres://localhost/db', { host: ['localhost'], port: [5432] }],
    ['postgres://me:p&w@localhost:5433/db?sslmode=disable', { host: ['localhost'], port: [5433] }],
    ['postgres://localhost/db?host=/run/pg', folder],
    ['postgres://me@localhost/db?host=%2Frun%2Fpg', folder],
    ['postgres:///db?host=/run/pg', folder],
    ['postgres://localhost:5433/db?host=/run/pg', { path: '/run/pg/.s.PGSQL.5433' }],
    ['postgres://me:secret@localhost:5433/db?host=/run/pg', { path: '/run/pg/.s.PGSQL.5433' }],
    ['postgres://localhost/db?host=/run/pg&port=5433', { path: '/run/pg/.s.PGSQL.5433' }],
    [
      'postgres://localhost:1/db?application_name=a&port=5433&host=/run/pg',
      { path: '/run/pg/.s.PGSQL.5433' },
    ],
    ['postgres://localhost/db?port=5433', { host: ['localhost'], port: [5433] }],
    ['postgres://localhost:5433/db?host=db.example.com', { host: ['db.example.com'], port: [5433] }],
    ['postgres:///db?host=db.example.com&port=5433', { host: ['db.example.com'], port: [5433] }],
  ] as const) {
    const { options } = openPostgres(url, {})
    const { host, port, path, database, connection } = options
    t.match({ host, port, path, database }, { path: false, database: 'db', ...expected }, url)
    t.notMatch(Object.keys(connection), /host|port/, 'the server would refuse these')
  }
})

t.test('an address that takes connections and drops them is one that cannot answer', async (t) => {
  const dropping = createServer((socket) => socket.end())
  await new Promise<void>((resolve) => dropping.listen(0, '127.0.0.1', resolve))
  t.teardown(() => dropping.close())
  const { port } = dropping.address() as AddressInfo
  const settings = { ...POSTGRES_SETTINGS, url: `postgres://nobody@127.0.0.1:${port}/none` }
  const store = postgresStore(settings, [])

  const signals: string[] = []
  const { promise: assumed, resolve } = Promise.withResolvers<void>()
  store.watch((signal) => {
    if (signals.push(signal) === 8) resolve()
  })
  t.match(await refusalOf(store.migrate()), { kind: 'unavailable' })
  await assumed
  t.strictSame(
    signals.slice(0, 8),
    ['keys', 'versions', 'events', 'numbered', 'keys', 'versions', 'events', 'numbered'],
    'it may have missed them',
  )
  await store.close()
})
