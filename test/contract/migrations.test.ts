import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { planPostgres } from '../../src/adapters/postgres/migrate.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import type { Migration } from '../../src/adapters/stores/migrations.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import { sharedPostgres, startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { until } from '../support/program.ts'
import { addTenant } from '../support/rows.ts'
import { postgresSchema } from '../support/schema.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

/** An empty database: how to open a store on it that knows these migrations, and what it contains. */
type Empty = {
  readonly address: string
  readonly open: (t: Test, migrations?: readonly Migration[], warn?: (message: string) => void) => Store
  readonly schema: () => Promise<string>
}

const sharedTests = (t: Test, kind: 'sqlite' | 'postgres', newEmpty: (t: Test) => Promise<Empty>): void => {
  const ours = readMigrations(kind)
  const next = (sql: string): Migration => ({ number: ours.length + 1, name: 'next.sql', sql })

  t.test('processes that migrate an empty database at once all find it migrated', async (t) => {
    const { address, open } = await newEmpty(t)
    const outputs = Array.from({ length: 5 }, () => runChild(MIGRATE, kind, address))
    t.strictSame(await Promise.all(outputs), Array(5).fill('ready\n'))
    await t.resolves(addTenant(open(t)))
  })

  t.test('stores of one process migrate at once', async (t) => {
    const { open } = await newEmpty(t)
    const stores = Array.from({ length: 5 }, () => open(t))
    const applied = await Promise.all(stores.map((store) => store.migrate()))
    t.strictSame(
      applied.flat(),
      ours.map(({ name }) => name),
      'one of them applies each, and says so',
    )
    for (const store of stores) await t.resolves(store.ready())
  })

  t.test('migrating again changes nothing and keeps every row', async (t) => {
    const { open, schema } = await newEmpty(t)
    const store = open(t)
    await store.migrate()
    const before = await schema()
    const { tenantId, brandId } = await addTenant(store)
    await store.migrate()
    await open(t).migrate()
    t.equal(await schema(), before)
    t.strictSame(await store.tenants.brands(tenantId), [brandId])
  })

  t.test('a store is not ready before it is migrated', async (t) => {
    const { open } = await newEmpty(t)
    const store = open(t)
    t.match(await refusalOf(store.ready()), { kind: 'unavailable' })
    await store.migrate()
    await t.resolves(store.ready())
  })

  t.test('a migration that is new is applied to a database that has the others', async (t) => {
    const { open } = await newEmpty(t)
    const old = open(t)
    await old.migrate()
    const newer = open(t, [...ours, next('create table later (tenant_id text primary key)')])
    t.match(await refusalOf(newer.ready()), { kind: 'unavailable' })
    t.strictSame(await newer.migrate(), ['next.sql'])
    await t.resolves(newer.ready())
  })

  t.test('a semicolon at the end of a line within a text or a comment ends no statement', async (t) => {
    const { open } = await newEmpty(t)
    await open(t).migrate()
    const sql = "create table later (x text default 'a;\nb'); -- not the last;\ncreate table last (y text);\n"
    t.strictSame(await open(t, [...ours, next(sql)]).migrate(), ['next.sql'])
  })

  t.test('a database that is newer than the program is refused', async (t) => {
    const { open, schema } = await newEmpty(t)
    await open(t, [...ours, next('create table later (tenant_id text primary key)')]).migrate()
    const before = await schema()
    const older = open(t)
    const newer = ours.length + 1
    const known = ours.length
    const detail = new RegExp(
      `database is newer than this program: .* applied migration ${newer}, this is .* and knows ${known}`,
    )
    await t.rejects(older.migrate(), detail)
    t.match(await refusalOf(older.ready()), { kind: 'unavailable', message: detail })
    t.equal(await schema(), before)
  })

  t.test('a store that could use the database still can after a newer program has migrated it', async (t) => {
    const { open } = await newEmpty(t)
    const older = open(t)
    await older.migrate()
    await older.ready()
    await open(t, [
      ...ours,
      next('alter table schema_migrations add note text; alter table tenants add note text'),
    ]).migrate()
    await t.resolves(older.ready())
    await t.resolves(addTenant(older))
    t.match(await refusalOf(open(t).ready()), { kind: 'unavailable' }, 'but none that starts after it')
  })

  t.test('a database whose migrations had another text is refused', async (t) => {
    const { open } = await newEmpty(t)
    await open(
      t,
      ours.map((migration) => ({ ...migration, sql: `${migration.sql} ` })),
    ).migrate()
    const detail = /made by an unreleased version .*another form of 0001_init\.sql/
    await t.rejects(open(t).migrate(), detail)
    await t.rejects(open(t).ready(), detail)
  })

  t.test('a migration that fails leaves the database as it was, an empty one empty', async (t) => {
    const { open, schema } = await newEmpty(t)
    const empty = await schema()
    const faulty = open(t, [...ours, next('create table half (tenant_id text primary key); nonsense')])
    await t.rejects(faulty.migrate(), /syntax error/)
    t.equal(await schema(), empty)
    await open(t).migrate()
    const before = await schema()
    await t.rejects(faulty.migrate(), /syntax error/)
    t.equal(await schema(), before)
    await t.resolves(open(t).ready())
  })
}

const refusalOf = (call: Promise<void>): Promise<unknown> =>
  call.then(
    () => 'no refusal',
    (no: unknown) => no,
  )

// Relations of different databases, which other tests use, share numbers.
const OURS = 'database = (select oid from pg_database where datname = current_database())'
const WAITS = `select 1 from pg_locks where relation = 'tenants'::regclass and not granted and ${OURS}`

/** A process that migrates a database and checks that it is ready. */
const MIGRATE = `
  const { createRuntime } = await import('${sourceUrl('compose/service.ts')}')
  const { readConfig } = await import('${sourceUrl('config/config.ts')}')
  const { createLog } = await import('${sourceUrl('adapters/log.ts')}')
  const [kind, address] = process.argv.slice(1)
  const config = readConfig({ DATABASE_URL: kind === 'sqlite' ? 'sqlite:' + address : address })
  const { store } = await createRuntime(config, createLog('silent'))
  await store.migrate()
  await store.ready()
  await store.close()
  console.log('ready')`

/** Opens new files, each only when the other process is about to open it too. */
const OPEN_50 = `
  const { existsSync, writeFileSync } = await import('node:fs')
  const { openDatabase } = await import('${sourceUrl('adapters/sqlite/open.ts')}')
  const [folder, own, other] = process.argv.slice(1)
  for (let file = 0; file < 50; file++) {
    writeFileSync(folder + '/' + own + file, '')
    while (!existsSync(folder + '/' + other + file));
    openDatabase(folder + '/' + file, 5_000).close()
  }
  console.log('opened')`

t.test('on sqlite', async (t) => {
  const newEmpty = async (t: Test): Promise<Empty> => {
    const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'test.db')
    return {
      address: path,
      open: (t, migrations = readMigrations('sqlite')) => {
        const store = sqliteStore({ path, busyMsMax: 5_000 }, migrations)
        t.teardown(() => store.close())
        return store
      },
      schema: async () => {
        const database = openDatabase(path, 5_000)
        const rows = database.all<{ sql: string }>('select sql from sqlite_schema order by name')
        database.close()
        return JSON.stringify(rows)
      },
    }
  }
  sharedTests(t, 'sqlite', newEmpty)

  t.test('two processes can create the same file at once', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const opened = await Promise.all([
      runChild(OPEN_50, folder, 'one', 'two'),
      runChild(OPEN_50, folder, 'two', 'one'),
    ])
    t.strictSame(opened, ['opened\n', 'opened\n'])
  })
})

t.test('on postgres', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await sharedPostgres()
  t.teardown(server.stop)
  const newEmpty = async (_: Test): Promise<Empty> => {
    const url = await server.newDatabase()
    return {
      address: url,
      open: (t, migrations = readMigrations('postgres'), warn = () => {}) => {
        const store = postgresStore({ ...POSTGRES_SETTINGS, url }, migrations, warn)
        t.teardown(() => store.close())
        return store
      },
      schema: () => postgresSchema(url),
    }
  }
  sharedTests(t, 'postgres', newEmpty)

  t.test('a role that may not change the schema can start where there is nothing to change', async (t) => {
    const { address, open } = await newEmpty(t)
    await open(t).migrate()
    const sql = openPostgres(address, { max: 1, onnotice: () => {} })
    await sql`create role app login`
    await sql`revoke create on schema public from public`
    await sql`grant select, insert, update on all tables in schema public to app`
    await sql.end()
    const warnings: string[] = []
    const url = address.replace('//postgres@', '//app@')
    const app = postgresStore({ ...POSTGRES_SETTINGS, url }, readMigrations('postgres'), (message) =>
      warnings.push(message),
    )
    t.teardown(() => app.close())
    await t.resolves(app.migrate())
    await t.resolves(app.ready())
    await t.resolves(addTenant(app))
    await t.rejects(
      postgresStore({ ...POSTGRES_SETTINGS, url }, [
        ...readMigrations('postgres'),
        {
          number: readMigrations('postgres').length + 1,
          name: 'next.sql',
          sql: 'create table later (tenant_id text)',
        },
      ]).migrate(),
      /permission denied/,
    )
  })

  t.test(
    'limits of the role do not hold for a migration, nor for waiting until another one ends',
    async (t) => {
      const { address, open } = await newEmpty(t)
      const sql = openPostgres(address, { max: 1, onnotice: () => {} })
      t.teardown(() => sql.end())
      const [{ name } = { name: '' }] = await sql<{ name: string }[]>`select current_database() as name`
      await sql.unsafe(`alter database ${name} set lock_timeout = '1ms'`)
      await sql.unsafe(`alter database ${name} set statement_timeout = '1s'`)
      const other = await sql.reserve()
      await other`select pg_advisory_lock(7238114005)`
      const migrating = open(t).migrate()
      const isWaiting = async () => {
        for (;;) {
          const rows = await other.unsafe(
            `select 1 from pg_locks where locktype = 'advisory' and not granted and ${OURS}`,
          )
          if (rows.length > 0) return 'it waits'
        }
      }
      t.equal(await Promise.race([migrating, isWaiting()]), 'it waits')
      await other`select pg_sleep(0.01)`
      await other`select pg_advisory_unlock(7238114005)`
      other.release()
      await t.resolves(migrating)
    },
  )

  t.test(
    'a plan lists what is pending and the locks on tables that exist, and changes nothing',
    async (t) => {
      const { address, open, schema } = await newEmpty(t)
      t.same(await planPostgres(address, readMigrations('postgres')), {
        pending: readMigrations('postgres').map(({ name }) => name),
        locks: [],
      })
      await open(t).migrate()
      const before = await schema()
      const sql =
        'alter table tenants add note text; create table later (x text); create index on brands (name)'
      const { pending, locks } = await planPostgres(address, [
        ...readMigrations('postgres'),
        { number: readMigrations('postgres').length + 1, name: 'next.sql', sql },
      ])
      t.strictSame(pending, ['next.sql'])
      t.match(Object.fromEntries(locks.map(({ table, modes }) => [table, modes])), {
        tenants: /AccessExclusiveLock/,
        brands: /ShareLock/,
        later: undefined,
      })
      t.equal(await schema(), before)
    },
  )

  t.test('a migration lets go of its locks while it waits for a long transaction', async (t) => {
    const { address, open } = await newEmpty(t)
    const old = open(t)
    await old.migrate()
    const { tenantId } = await addTenant(old)
    const sql = openPostgres(address, { max: 2 })
    t.teardown(() => sql.end())
    await sql`select 1`
    const long = await sql.reserve()
    await long`begin`
    await long`select 1 from tenants`
    const newer = open(t, [
      ...readMigrations('postgres'),
      {
        number: readMigrations('postgres').length + 1,
        name: 'next.sql',
        sql: 'alter table tenants add note text',
      },
    ])
    const migrating = newer.migrate()
    await until('the migration waits', async () => (await sql.unsafe(WAITS)).length > 0)
    await until('and stops waiting', async () => (await sql.unsafe(WAITS)).length === 0)
    t.ok(await old.tenants.find(tenantId), 'readers go on')
    await long`commit`
    long.release()
    t.strictSame(await migrating, ['next.sql'])
  })

  t.test('a PostgreSQL that does not flush to disk causes a warning', async (t) => {
    const { open } = await newEmpty(t)
    const warnings: string[] = []
    await open(t, readMigrations('postgres'), (message) => warnings.push(message)).migrate()
    t.strictSame(warnings.length, 1)
    t.match(warnings[0], /^fsync is off: .*lose/)
  })

  t.test('a durable PostgreSQL causes no warning', async (t) => {
    const durable = await startPostgres({ durable: true })
    t.teardown(durable.stop)
    const warnings: string[] = []
    const store = postgresStore(
      { ...POSTGRES_SETTINGS, url: await durable.newDatabase() },
      readMigrations('postgres'),
      (message) => warnings.push(message),
    )
    await store.migrate()
    await store.close()
    t.strictSame(warnings, [])
  })
})
