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

const TWO_MINUTES_MS = 120_000
const CLIENTS = `pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`
/** The SQLSTATE of a lock that was not acquired in time, as opposed to a statement that was cancelled. */
const LOCK_NOT_AVAILABLE = '55P03'
const CANNOT_ANSWER = { kind: 'unavailable', message: 'The database cannot answer now.' }

t.test('on postgres', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await sharedPostgres()
  t.teardown(server.stop)

  /** A pool over a new database, and a connection beside it that sees and ends the backends of the pool. */
  const openPool = async (t: Test, settings: Partial<typeof POSTGRES_SETTINGS> = {}) => {
    const url = await server.newDatabase()
    const { ask, close } = connect({ ...POSTGRES_SETTINGS, ...settings, url })
    t.teardown(close)
    const sql = openPostgres(url, { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())

    /** The process ids of the backends that serve the pool. */
    const poolBackends = async () => {
      const rows = await sql.unsafe<{ pid: number }[]>(`select pid from ${CLIENTS}`)
      return rows.map(({ pid }) => pid)
    }
    const endBackends = () => sql.unsafe(`select pg_terminate_backend(pid) from ${CLIENTS}`)
    /** A backend ends a moment after its client has closed the connection. */
    const noBackendIsLeft = () =>
      until('no connection is left', async () => (await poolBackends()).length === 0)
    return { ask, close, sql, poolBackends, endBackends, noBackendIsLeft }
  }

  t.test('a connection serves one statement after another', async (t) => {
    const { ask, poolBackends } = await openPool(t)
    const first = await backendOf(ask)
    t.equal(await backendOf(ask), first)
    t.equal(await backendOf(ask), first)
    t.strictSame(await poolBackends(), [first])
  })

  t.test('statements at once open connections up to the limit, which then stay open', async (t) => {
    const { ask, poolBackends } = await openPool(t, { connectionsMax: 3 })
    const answers = await Promise.all(Array.from({ length: 9 }, () => backendOf(ask)))
    const backends = new Set(answers)
    t.equal(backends.size, 3)
    t.strictSame((await poolBackends()).sort(), [...backends].sort())
  })

  t.test('after two minutes a connection is replaced, and the old one is gone', async (t) => {
    const { ask, poolBackends } = await openPool(t)
    const first = await backendOf(ask)

    const now = performance.now.bind(performance)
    t.intercept(performance, 'now', { value: () => now() + TWO_MINUTES_MS })
    const second = await backendOf(ask)

    t.not(second, first)
    await until('the first backend has ended', async () => !(await poolBackends()).includes(first))
    t.strictSame(await poolBackends(), [second])
    t.equal(await backendOf(ask), second)
  })

  t.test('a statement that never answers is refused, and its connection replaced', async (t) => {
    const { ask } = await openPool(t, { statementMsMax: 100 })
    const frozen = await freezeBackend(t, ask)
    t.match(await refusalOf(backendOf(ask)), {
      kind: 'unavailable',
      message: 'The database did not answer in time.',
    })
    t.not(await backendOf(ask), frozen)
  })

  t.test('a statement that waits while the pool closes is refused, and opens nothing', async (t) => {
    const { ask, close, noBackendIsLeft } = await openPool(t, { connectionsMax: 1 })
    const running = ask((sql) => sql`select pg_sleep(0.1)`)
    const refusalOfWaiting = refusalOf(backendOf(ask))
    await new Promise(setImmediate)
    await close()
    await t.resolves(running)
    t.match(await refusalOfWaiting, { kind: 'unavailable' })
    await noBackendIsLeft()
  })

  t.test('statements that find no free connection wait: a limited number, for a limited time', async (t) => {
    const { ask, sql } = await openPool(t, {
      connectionsMax: 1,
      waitingMax: 1,
      waitMsMax: 100,
      lockMsMax: 60_000,
    })
    await sql`select pg_advisory_lock(1)`
    const holdsTheConnection = ask((sql) => sql`select pg_advisory_lock(1)`)
    const refusalOfWaiting = refusalOf(backendOf(ask))
    const refusalOfNext = refusalOf(backendOf(ask))

    const firstRefusal = await Promise.race([
      refusalOfNext,
      refusalOfWaiting.then(() => 'the next statement was not refused at once'),
    ])
    t.match(firstRefusal, { kind: 'unavailable', facts: { retryAfterS: 1 } })
    t.match(await refusalOfWaiting, {
      kind: 'unavailable',
      message: 'Too many statements wait for the database.',
    })

    await sql`select pg_advisory_unlock(1)`
    await t.resolves(holdsTheConnection)
  })

  t.test('a statement past its time limit is refused as unavailable', async (t) => {
    const { ask } = await openPool(t, { statementMsMax: 100 })
    t.match(await refusalOf(ask((sql) => sql`select pg_sleep(30)`)), { kind: 'unavailable' })
  })

  t.test('a statement that waits too long for a lock is refused as unavailable', async (t) => {
    const { ask, sql } = await openPool(t, { statementMsMax: 60_000, lockMsMax: 100 })
    await sql`create table locked (id int)`
    const locking = await sql.reserve()
    await locking`begin`
    await locking`lock table locked in access exclusive mode`

    const refusal = await ask((sql) => sql`select from locked`).catch((error) => error)
    t.match(refusal, { kind: 'unavailable', cause: { code: LOCK_NOT_AVAILABLE } })

    await locking`rollback`
    locking.release()
    await t.resolves(ask((sql) => sql`select from locked`))
  })

  t.test('statements whose backends are ended are refused, and the next ones answered', async (t) => {
    const { ask, endBackends } = await openPool(t, { connectionsMax: 4, statementMsMax: 30_000 })
    const messages = new Set<string>()
    const askForBackend = () => backendOf(ask).catch((refusal: Error) => messages.add(refusal.message))
    for (let times = 0; times < 40; times++) {
      const statements = Array.from({ length: 8 }, askForBackend)
      await endBackends()
      await Promise.all(statements)
    }
    t.strictSame([...messages], [CANNOT_ANSWER.message], 'none waited for its time limit')

    await until('a statement is answered', () => backendOf(ask).catch(() => false))
    t.ok((await backendOf(ask)) > 0, 'no ended connection is left')
  })

  t.test('a write whose answer was lost is not sent again', async (t) => {
    const { ask, sql, endBackends } = await openPool(t)
    await sql`create table written (backend int)`
    const write = ask(
      (sql) => sql`
      with slept as (select pg_sleep(0.5)) insert into written select pg_backend_pid() from slept`,
    )
    const refusal = refusalOf(write)
    await untilSleeping(sql)
    await endBackends()
    t.match(await refusal, { kind: 'unavailable' })

    await backendOf(ask)
    const [written] = await sql<{ rows: number }[]>`select count(*)::int as rows from written`
    t.equal(written?.rows, 0)
  })

  t.test('closing does not wait for a statement that never answers', async (t) => {
    const { ask, close } = await openPool(t)
    await freezeBackend(t, ask)
    const refusal = refusalOf(backendOf(ask))
    await close()
    t.match(await refusal, { kind: 'unavailable' })
  })

  t.test('a closed pool refuses statements and keeps no connection', async (t) => {
    const { ask, close, noBackendIsLeft } = await openPool(t)
    await backendOf(ask)
    await close()
    t.match(await refusalOf(backendOf(ask)), { kind: 'unavailable' })
    await noBackendIsLeft()
  })
})

t.test(
  'while PostgreSQL is stopped statements are refused before their time limit, then answered again',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const server = await startPostgres()
    t.teardown(server.stop)
    const url = await server.newDatabase()
    // Unless they are limited, the pauses between the driver's attempts to connect grow past this time limit.
    const { ask, close } = connect({ ...POSTGRES_SETTINGS, connectionsMax: 1, statementMsMax: 5_000, url })
    t.teardown(close)
    await backendOf(ask)
    await server.halt()
    for (let attempt = 0; attempt < 8; attempt++)
      t.match(await refusalOf(backendOf(ask)), CANNOT_ANSWER, 'the time limit is not the reason')

    await server.start()
    t.ok((await backendOf(ask)) > 0)
  },
)

/** Waits until a statement of the pool is in its `pg_sleep`. */
const untilSleeping = (sql: Sql): Promise<unknown> =>
  until('a statement sleeps', async () => {
    const [row] = await sql<{ sleeping: number }[]>`
      select count(*)::int as sleeping from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state = 'active'
        and wait_event = 'PgSleep'`
    return row?.sleeping
  })

/** Stops the process that serves the pool, so that its statements are never answered, until the test ends. */
const freezeBackend = async (t: Test, ask: Ask): Promise<number> => {
  const pid = await backendOf(ask)
  process.kill(pid, 'SIGSTOP')
  t.teardown(() => process.kill(pid, 'SIGCONT'))
  return pid
}

/** The id of the PostgreSQL process that answered. */
const backendOf = async (ask: Ask): Promise<number> => {
  const [row] = await ask((sql) => sql<{ pid: number }[]>`select pg_backend_pid() as pid`)
  return row?.pid ?? 0
}

t.test('a URL names the server in its authority or in its query', async (t) => {
  const socket5432 = { path: '/run/pg/.s.PGSQL.5432' }
  const socket5433 = { path: '/run/pg/.s.PGSQL.5433' }
  const servers = [
    ['postgres://localhost/db', { host: ['localhost'], port: [5432] }],
    ['postgres://me:p&w@localhost:5433/db?sslmode=disable', { host: ['localhost'], port: [5433] }],
    ['postgres://localhost/db?host=/run/pg', socket5432],
    ['postgres://me@localhost/db?host=%2Frun%2Fpg', socket5432],
    ['postgres:///db?host=/run/pg', socket5432],
    ['postgres://localhost:5433/db?host=/run/pg', socket5433],
    ['postgres://me:secret@localhost:5433/db?host=/run/pg', socket5433],
    ['postgres://localhost/db?host=/run/pg&port=5433', socket5433],
    ['postgres://localhost:1/db?application_name=a&port=5433&host=/run/pg', socket5433],
    ['postgres://localhost/db?port=5433', { host: ['localhost'], port: [5433] }],
    ['postgres://localhost:5433/db?host=db.example.com', { host: ['db.example.com'], port: [5433] }],
    ['postgres:///db?host=db.example.com&port=5433', { host: ['db.example.com'], port: [5433] }],
  ] as const
  for (const [url, server] of servers) {
    const { host, port, path, database, connection } = openPostgres(url, {}).options
    t.match({ host, port, path }, { path: false, ...server }, url)
    t.equal(database, 'db', url)
    t.notMatch(Object.keys(connection), /host|port/, 'the server would refuse these as settings')
  }
})

t.test(
  'a server that accepts connections and drops them cannot answer, and signals may have been missed',
  async (t) => {
    const dropping = createServer((socket) => socket.end())
    await new Promise<void>((resolve) => dropping.listen(0, '127.0.0.1', resolve))
    t.teardown(() => dropping.close())
    const { port } = dropping.address() as AddressInfo
    const url = `postgres://nobody@127.0.0.1:${port}/none`
    const settings = { ...POSTGRES_SETTINGS, statementMsMax: 1_000, url }
    const store = postgresStore(settings, [])

    const everySignal = ['keys', 'versions', 'events', 'numbered']
    const signals: string[] = []
    const twice = Promise.withResolvers<void>()
    store.watch((signal) => {
      signals.push(signal)
      if (signals.length === 2 * everySignal.length) twice.resolve()
    })
    t.match(await refusalOf(store.migrate()), { kind: 'unavailable' })
    // After each attempt to listen the store assumes every signal, because any may have been missed.
    await twice.promise
    t.strictSame(signals.slice(0, 2 * everySignal.length), [...everySignal, ...everySignal])
    await store.close()
  },
)
