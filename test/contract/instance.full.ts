import postgres from 'postgres'
import t, { type Test } from 'tap'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { logProspectActivity } from '../../src/core/activities/log-prospect-activity.ts'
import { createPageGroup } from '../../src/core/pages/create-page-group.ts'
import { createPageWithVersion } from '../../src/core/pages/create-page-with-version.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { migrate, postgresStore } from '../../src/entry/postgres.ts'
import { testContractOn } from '../support/contract.ts'
import { placeOf } from '../support/place.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { addTenant, newId } from '../support/rows.ts'
import { stoppedClock } from '../support/setting.ts'

t.setTimeout(0)
testContractOn('instance')

t.test(
  'over an instance of postgres.js that belongs to somebody else',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const server = await sharedPostgres()
    t.teardown(server.stop)

    const connect = async (t: Test, url: string, options: postgres.Options<Record<string, never>> = {}) => {
      const sql = postgres({ ...placeOf(url).place, onnotice: () => {}, max: 4, ...options })
      t.teardown(() => sql.end({ timeout: 1 }))
      return sql
    }
    /** An instance whose tables are in a separate schema, with a tenant. */
    const embedded = async (t: Test) => {
      const sql = await connect(t, await server.newDatabase(), { connection: { search_path: 'prospects' } })
      await sql`create schema prospects`
      await migrate(sql)
      const told = { clock: stoppedClock(), newId }
      const store = postgresStore(sql)
      const { tenantId } = await createTenant({ ...told, store })({ name: 'a tenant' })
      const group = await createPageGroup({ ...told, store })({ tenantId, name: 'a', title: 'A' })
      const { pageGroupId } = group.value
      const activity = { tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } }
      const logsIn = async () => (await sql`select 1 from prospect_logs`).length
      return { sql, told, store, tenantId, pageGroupId, activity, logsIn }
    }
    const ada = { email: 'ada@example.com' }

    t.test('the tables are made in its schema and nowhere else, once', async (t) => {
      const { sql, store } = await embedded(t)
      await store.ready()
      await Promise.all([store.migrate(), migrate(sql), migrate(sql)])
      const schemas = await sql`
      select distinct schemaname from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`
      t.strictSame([...schemas], [{ schemaname: 'prospects' }])
      t.equal((await sql`select 1 from schema_migrations`).length, readMigrations('postgres').length)
    })

    t.test('a database that is not migrated is not ready', async (t) => {
      const sql = await connect(t, await server.newDatabase())
      const store = postgresStore(sql)
      t.match(await refusalOf(store.ready()), { kind: 'unavailable' })
      const no = { kind: 'unavailable', cause: { message: /run migrate\(\)/ } }
      for (const ask of [() => store.tenants.list('', 1), () => addTenant(store)])
        t.match(await refusalOf(ask()), no)
    })

    t.test('a migration that fails leaves the connection as it was', async (t) => {
      const sql = await connect(t, await server.newDatabase(), { max: 1 })
      await sql`create table pages (theirs text)`
      await t.rejects(migrate(sql), { code: '42P07' })
      t.strictSame([...(await sql`select to_regclass('tenants') as there`)], [{ there: null }])
    })

    t.test('a transaction cannot migrate', async (t) => {
      const { sql } = await embedded(t)
      await t.rejects(
        sql.begin((transaction) => migrate(transaction)),
        { message: 'Migrate with the instance itself, not within a transaction.' },
      )
    })

    t.test('what is done in a transaction is there exactly when that is committed', async (t) => {
      const { sql, told, tenantId, pageGroupId, activity, logsIn } = await embedded(t)
      const work = async (transaction: postgres.TransactionSql) => {
        const deps = { ...told, store: postgresStore(transaction) }
        const log = logProspectActivity(deps)
        await Promise.all([log(activity), log({ ...activity, ...ada })])
        await createPageWithVersion(deps)({ tenantId, pageGroupId })
        t.equal((await transaction`select 1 from prospect_logs`).length, 2, 'it sees its own')
        t.equal(await logsIn(), 0, 'nobody else does')
      }
      const rolledBack = sql.begin(async (transaction) => {
        await work(transaction)
        throw new Error('changed my mind')
      })
      await t.rejects(rolledBack, { message: 'changed my mind' })
      t.equal(await logsIn(), 0)
      await sql.begin(work)
      t.equal(await logsIn(), 2)
      t.equal((await sql`select 1 from page_versions`).length, 1)
    })

    t.test(
      'a refusal of the database in the middle of a use case does not end the transaction',
      async (t) => {
        const { sql, told, store, activity, logsIn } = await embedded(t)
        const logged = await sql.begin(async (transaction) => {
          const own = postgresStore(transaction)
          let others = 0
          // Another writer saves the same email after it was looked for, and before it is written.
          const record: typeof own.activities.record = async (change) => {
            if (others++ === 0) await logProspectActivity({ ...told, store })({ ...activity, ...ada })
            return own.activities.record(change)
          }
          const raced = { activities: { ...own.activities, record } }
          return logProspectActivity({ ...told, store: raced })({ ...activity, ...ada })
        })
        t.match(logged, { value: { createdProspect: false } })
        t.equal(await logsIn(), 2)
        t.equal((await sql`select 1 from prospects`).length, 1)
      },
    )

    t.test('statements of one transaction that are sent at once do not cross', async (t) => {
      const { sql, told, tenantId, activity } = await embedded(t)
      await sql.begin(async (transaction) => {
        const deps = { ...told, store: postgresStore(transaction) }
        const create = createPageGroup(deps)
        const good = () => create({ tenantId, name: 'a', title: 'A' })
        const bad = create({ tenantId, name: 'nul \0', title: 'A' })
        const all = await Promise.allSettled([good(), bad, good(), logProspectActivity(deps)(activity)])
        t.strictSame(
          all.map(({ status }) => status),
          ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
        )
      })
      t.equal((await sql`select 1 from page_groups`).length, 3)
      t.equal((await sql`select 1 from prospect_logs`).length, 1)
    })

    t.test('it goes on within savepoints of the transaction', async (t) => {
      const { sql, told, activity, logsIn } = await embedded(t)
      await sql.begin(async (transaction) => {
        const log = (of: postgres.TransactionSql) =>
          logProspectActivity({ ...told, store: postgresStore(of) })
        await log(transaction)(activity)
        await transaction
          .savepoint(async (inner) => {
            await log(inner)(activity)
            throw new Error('not this one')
          })
          .catch(() => {})
      })
      t.equal(await logsIn(), 1)
    })

    t.test('rows are the same whatever the instance makes of names, times and numbers', async (t) => {
      const { sql, store, tenantId, pageGroupId, told } = await embedded(t)
      const create = createPageWithVersion({ ...told, store })
      const { value: page } = await create({ tenantId, pageGroupId, customName: 'ü' })
      const want = { tenantId, pageGroupId, pageId: page.pageId }
      const expected = await store.pages.find(want)
      t.match(expected, {
        createdAt: '2026-01-01T00:00:00.000Z',
        customName: 'ü',
        latest: { versionNumber: 1 },
      })
      const url = `postgres://postgres@localhost/${sql.options.database}?host=${encodeURIComponent(String(sql.options.path).replace(/\/[^/]*$/, ''))}`
      const strange: postgres.Options<Record<string, never>>[] = [
        { transform: postgres.camel },
        { transform: postgres.pascal },
        { transform: postgres.kebab },
        { transform: { value: { from: () => 'theirs' } } },
        { connection: { TimeZone: 'America/St_Johns' } },
        { fetch_types: false, prepare: false },
        {
          types: {
            date: { to: 1184, from: [1082, 1114, 1184], serialize: String, parse: () => 'theirs' },
          } as never,
        },
      ]
      for (const options of strange) {
        const connection = { ...options.connection, search_path: 'prospects' }
        const other = await connect(t, url, { ...options, connection })
        t.strictSame(await postgresStore(other).pages.find(want), expected, JSON.stringify(options))
      }
    })

    t.test('where the database is away it refuses with unavailable', async (t) => {
      const sql = await connect(t, 'postgres://postgres@localhost/nowhere?host=/nowhere', {
        connect_timeout: 1,
      })
      t.match(await refusalOf(postgresStore(sql).ready()), { kind: 'unavailable' })
      t.match(await refusalOf(migrate(sql)), { kind: 'unavailable' })
    })

    t.test('it emits its own versions and keys, and its close closes nothing', async (t) => {
      const { sql, store, tenantId, pageGroupId, told } = await embedded(t)
      const heard: string[] = []
      store.watch((signal) => heard.push(signal))
      await createPageWithVersion({ ...told, store })({ tenantId, pageGroupId })
      await store.apiKeys.end(newId('apikey'), { revokedAt: '2026-01-01T00:00:00.000Z' })
      t.strictSame(heard, ['versions', 'keys'])
      await store.close()
      t.equal((await sql`select 1`).length, 1)
    })
  },
)

const refusalOf = (refused: Promise<unknown>): Promise<unknown> =>
  refused.then(
    () => 'not refused',
    (no) => no,
  )
