import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { tablesPlacedBy } from '../../src/adapters/citus/placement.ts'
import { migratePostgres } from '../../src/adapters/postgres/migrate.ts'
import { type Database, openDatabase } from '../../src/adapters/sqlite/open.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { COMPUTED, postgresSchema, postgresSchemaLines, schemaFile, sqliteSchema } from '../support/schema.ts'
import { opened, sqliteKind } from '../support/stores.ts'

const NOT_BY_TENANT = [...tablesPlacedBy('every node'), ...tablesPlacedBy('the coordinator')]

t.test('the schema on SQLite is the committed one', async (t) => {
  t.equal(await sqliteSchema(), readFileSync(schemaFile('sqlite'), 'utf8'))
})

t.test('on SQLite every key, unique or foreign, begins with the tenant too', async (t) => {
  const database = await migratedFile(t)
  const columns = (pragma: string) => database.all<{ table: string; first: string; origin: string }>(pragma)
  const keys = [
    ...columns(`
      select t.name as "table", c.name as first, 'primary key' as origin
      from pragma_table_list t, pragma_table_info(t.name) c where t.type = 'table' and c.pk = 1`),
    ...columns(`
      select t.name as "table", c.name as first, i.name as origin
      from pragma_table_list t, pragma_index_list(t.name) i, pragma_index_info(i.name) c
      where i."unique" and c.seqno = 0`),
    ...columns(`
      select t.name as "table", f."from" as first, 'foreign key' as origin
      from pragma_table_list t, pragma_foreign_key_list(t.name) f where f.seq = 0`),
  ].filter(({ table }) => !NOT_BY_TENANT.includes(table) && !table.startsWith('sqlite_'))
  t.ok(keys.length >= 15, `${keys.length} of them`)
  for (const { table, first, origin } of keys) t.equal(first, 'tenant_id', `${origin} of ${table}`)
})

t.test('on PostgreSQL', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await sharedPostgres()
  t.teardown(server.stop)
  const url = await server.newDatabase()
  await migratePostgres(url, readMigrations('postgres'), () => {})

  t.test('the schema is the committed one', async (t) => {
    t.equal(await postgresSchema(url), readFileSync(schemaFile('postgres'), 'utf8'))
  })

  t.test(
    'every key, unique or foreign, begins with the tenant, so that tables can be distributed by it',
    async (t) => {
      const lines = (await postgresSchemaLines(url)).filter(({ table }) => !NOT_BY_TENANT.includes(table))
      const keys = lines.filter(({ line }) => /PRIMARY KEY|FOREIGN KEY|UNIQUE/.test(line))
      t.ok(keys.length >= 15, `${keys.length} of them`)
      for (const { table, line } of keys) t.match(line, /\(tenant_id[,)]/, `${table}: ${line}`)
    },
  )

  t.test('a cluster has a place for every table', async (t) => {
    const tables = new Set((await postgresSchemaLines(url)).map(({ table }) => table))
    t.strictSame([...NOT_BY_TENANT, ...tablesPlacedBy('the tenant')].sort(), [...tables].sort())
  })

  t.test('every id is compared byte by byte, so that all stores sort alike', async (t) => {
    // `header_action_id` comes from the caller.
    const ids = (await postgresSchemaLines(url)).filter(({ line }) =>
      /^(?!header_action|external)\w+_id /.test(line),
    )
    t.ok(ids.length >= 20)
    for (const { table, line } of ids) t.match(line, / collate "C"/, `${table}.${line}`)
  })

  t.test('every time is kept to the millisecond', async (t) => {
    const times = (await postgresSchemaLines(url)).filter(({ line }) => /^\w+_at /.test(line))
    for (const { table, line } of times) t.match(line, /timestamp\(3\) with time zone/, `${table}.${line}`)
  })

  t.test('the two databases have the same tables, with the same columns', async (t) => {
    const postgres = (await postgresSchemaLines(url))
      .filter(({ line }) => /^[a-z_]+ (text|json|timestamp|bigint|integer|boolean)/.test(line))
      .map(({ table, line }) => `${table}.${line.split(' ')[0]}`)
    const sqlite = (await migratedFile(t))
      .all<{ name: string }>(`
        select t.name || '.' || c.name as name from pragma_table_list t, pragma_table_info(t.name) c
        where t.type = 'table' and t.name not like 'sqlite_%'`)
      .map(({ name }) => name)
    t.ok(postgres.length > 50)
    const computed = COMPUTED.map((name) => `prospects.${name}`)
    t.strictSame(sqlite.sort(), [...postgres, ...computed].sort())
  })
})

/** A newly migrated file. */
const migratedFile = async (t: Test): Promise<Database> => {
  const { address } = await opened(t, sqliteKind())
  const database = openDatabase(String(address), 5_000)
  t.teardown(database.close)
  return database
}
