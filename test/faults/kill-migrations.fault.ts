import { existsSync } from 'node:fs'
import t from 'tap'
import { backupBefore, readMigrations } from '../../src/adapters/stores/migrations.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, seed } from '../support/program.ts'
import { killAtEachStep } from './kill-at-each-step.ts'
import {
  countMigrations,
  MIGRATE_EMBEDDED,
  MIGRATIONS,
  makeKilledDatabase,
  NEXT_MIGRATION,
  TENANTS,
  tenantsIn,
  unfinishedIn,
} from './killed-database.ts'

t.setTimeout(0)

t.test(
  'an embedded database whose migration is killed is backed up and migrated by the next start',
  async (t) => {
    const copyKilled = await makeKilledDatabase(t)
    const outcomes = await killAtEachStep({
      script: MIGRATE_EMBEDDED,
      prepare: () => {
        const { folder, path } = copyKilled()
        return { args: [path], folder, path }
      },
      judge: async ({ folder, path }, wasKilled) => {
        const backup = backupBefore(path)
        const isBackedUp = existsSync(backup)
        const isMigrated = countMigrations(path) > MIGRATIONS
        if (isBackedUp) t.equal(tenantsIn(backup), TENANTS, 'the backup is whole')
        t.ok(isBackedUp || !isMigrated, 'the database is never migrated without a backup')

        if (wasKilled) await runChild(MIGRATE_EMBEDDED, path)
        t.equal(countMigrations(path), MIGRATIONS + 1, 'the next start migrates the database')
        t.equal(countMigrations(backup), MIGRATIONS, 'but not its backup')
        t.equal(tenantsIn(path), TENANTS)
        t.equal(tenantsIn(backup), TENANTS)
        t.strictSame(unfinishedIn(folder), [], 'nothing is left unfinished')
        if (isMigrated) return 'migrated'
        return isBackedUp ? 'backed up' : 'not backed up'
      },
    })
    t.comment(JSON.stringify(outcomes))
    t.ok(outcomes['migrated'])
    t.ok(outcomes['backed up'])
    t.ok(outcomes['not backed up'])
  },
)

const MIGRATE_POSTGRES = `
  const { migratePostgres } = await import('${sourceUrl('adapters/postgres/migrate.ts')}')
  const { readMigrations } = await import('${sourceUrl('adapters/stores/migrations.ts')}')
  const ours = readMigrations('postgres')
  const migrations = [...ours, { number: ours.length + 1, name: 'next.sql', sql: '${NEXT_MIGRATION}' }]
  await migratePostgres(process.argv[1], migrations, () => {})
  process.exit()`
const POSTGRES_MIGRATIONS = readMigrations('postgres').length

type Schema = { readonly migrations: number; readonly addedColumns: number; readonly tenants: number }
const readSchema = async (url: string): Promise<Schema | undefined> => {
  const [schema] = await databaseAt(url).rows<Schema>(`
    select (select count(*)::int from schema_migrations) as migrations,
      (select count(*)::int from pg_attribute
        where attrelid = 'tenants'::regclass and attname = 'note') as "addedColumns",
      (select count(*)::int from tenants) as tenants`)
  return schema
}

t.test(
  'a migration of PostgreSQL that is killed is undone, and done by the next start',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const server = await startPostgres()
    t.teardown(server.stop)
    const template = await server.newDatabase()
    await seed({ DATABASE_URL: template })
    const templateName = new URL(template).pathname.slice(1)

    const outcomes = await killAtEachStep({
      script: MIGRATE_POSTGRES,
      prepare: async () => {
        const url = await server.newDatabase(`template ${templateName}`)
        return { args: [url], url }
      },
      judge: async ({ url }, wasKilled) => {
        const schema = await readSchema(url)
        const addedMigrations = (schema?.migrations ?? 0) - POSTGRES_MIGRATIONS
        t.equal(addedMigrations, schema?.addedColumns, 'the migration is stored as a whole or not at all')

        if (wasKilled) await runChild(MIGRATE_POSTGRES, url)
        const migrated = { migrations: POSTGRES_MIGRATIONS + 1, addedColumns: 1, tenants: 1 }
        t.strictSame(await readSchema(url), migrated, 'the next start migrates the database')
        return schema?.addedColumns === 1 ? 'migrated' : 'not migrated'
      },
    })
    t.comment(JSON.stringify(outcomes))
    t.ok(outcomes['migrated'])
    t.ok(outcomes['not migrated'])
  },
)
