import { readFileSync } from 'node:fs'
import t from 'tap'
import { migratePostgres } from '../../src/adapters/postgres/migrate.ts'
import { readMigrations } from '../../src/adapters/read-migrations.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { postgresSchema, postgresSchemaLines, schemaFile, sqliteSchema } from '../support/schema.ts'

t.test('the schema on SQLite is the one that was reviewed', async (t) => {
  t.equal(await sqliteSchema(), readFileSync(schemaFile('sqlite'), 'utf8'))
})

t.test('on PostgreSQL', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await startPostgres()
  t.teardown(server.stop)
  const url = await server.newDatabase()
  await migratePostgres(url, readMigrations('postgres'), () => {})

  t.test('the schema is the one that was reviewed', async (t) => {
    t.equal(await postgresSchema(url), readFileSync(schemaFile('postgres'), 'utf8'))
  })

  // Tenants, the keys, which are found by their hash, and the list of migrations are on every node.
  const everywhere = ['tenants', 'api_keys', 'schema_migrations']

  t.test(
    'every key, unique or foreign, begins with the tenant, so that tables can be parted by it',
    async (t) => {
      const lines = (await postgresSchemaLines(url)).filter(({ table }) => !everywhere.includes(table))
      const keys = lines.filter(({ line }) => /PRIMARY KEY|FOREIGN KEY|UNIQUE/.test(line))
      t.ok(keys.length >= 15, `${keys.length} of them`)
      for (const { table, line } of keys) t.match(line, /\(tenant_id[,)]/, `${table}: ${line}`)
    },
  )

  t.test('every id is compared byte by byte, so that all stores sort alike', async (t) => {
    // `header_action_id` is the caller's word, not an id of ours.
    const ids = (await postgresSchemaLines(url)).filter(({ line }) => /^(?!header_action)\w+_id /.test(line))
    t.ok(ids.length >= 20)
    for (const { table, line } of ids) t.match(line, / collate "C"/, `${table}.${line}`)
  })

  t.test('every time is kept to the millisecond', async (t) => {
    const times = (await postgresSchemaLines(url)).filter(({ line }) => /^\w+_at /.test(line))
    for (const { table, line } of times) t.match(line, /timestamp\(3\) with time zone/, `${table}.${line}`)
  })
})
