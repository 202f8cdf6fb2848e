import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openPostgres } from '../../src/adapters/postgres/connect.ts'
import { migratePostgres } from '../../src/adapters/postgres/migrate.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/read-migrations.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

const UNAVAILABLE = { message: 'The database is not migrated.' }
const NEWER = { number: 2, name: '0002_newer.sql', sql: 'create table newer (number integer)' }

t.test('on the embedded database', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const ours = readMigrations('sqlite')
  const at = (file: string) => join(folder, file)

  t.test('five processes may start at once on an empty file', async (t) => {
    const script = `
      import { sqliteStore } from ${JSON.stringify(sourceUrl('adapters/sqlite/store.ts'))}
      import { readMigrations } from ${JSON.stringify(sourceUrl('adapters/read-migrations.ts'))}
      const store = sqliteStore({ path: process.argv[1], busyMsMax: 30_000 }, readMigrations('sqlite'))
      await store.migrate()
      await store.ready()
      await store.close()
      console.log('ready')`
    const said = await Promise.all(Array.from({ length: 5 }, () => runChild(script, at('five.db'))))
    t.strictSame(
      said.map((line) => line.trim()),
      Array(5).fill('ready'),
    )
  })

  t.test('a second time changes nothing, and a newer database is refused', async (t) => {
    const newer = sqliteStore({ path: at('newer.db'), busyMsMax: 5_000 }, [...ours, NEWER])
    await newer.migrate()
    await newer.migrate()
    await newer.close()
    const older = sqliteStore({ path: at('newer.db'), busyMsMax: 5_000 }, ours)
    await t.rejects(older.migrate(), { message: /newer than this program/ })
    await t.rejects(older.ready(), UNAVAILABLE)
    await older.close()
  })

  t.test('before it the store is not ready', async (t) => {
    const store = sqliteStore({ path: at('empty.db'), busyMsMax: 5_000 }, ours)
    await t.rejects(store.ready(), UNAVAILABLE)
    await store.close()
  })
})

t.test('on PostgreSQL', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await startPostgres()
  t.teardown(server.stop)
  const ours = readMigrations('postgres')
  const silent = () => {}

  t.test('five processes may start at once on an empty database', async (t) => {
    const url = await server.newDatabase()
    await Promise.all(Array.from({ length: 5 }, () => migratePostgres(url, ours, silent)))
    const store = postgresStore({ ...POSTGRES_SETTINGS, url }, ours)
    await store.ready()
    await store.close()
    t.pass('all of them found it migrated')
  })

  t.test('a newer database is refused', async (t) => {
    const url = await server.newDatabase()
    await migratePostgres(url, [...ours, NEWER], silent)
    await t.rejects(migratePostgres(url, ours, silent), { message: /newer than this program/ })
  })

  t.test('a migration that fails leaves nothing behind', async (t) => {
    const url = await server.newDatabase()
    const broken = { ...NEWER, sql: 'create table half (number integer); select 1 / 0' }
    await t.rejects(migratePostgres(url, [...ours, broken], silent), { code: '22012' })
    const sql = openPostgres(url, { max: 1 })
    t.match(await sql`select to_regclass('tenants') as tenants, to_regclass('half') as half`, [
      { tenants: null, half: null },
    ])
    await sql.end()
  })

  t.test('before it the store is not ready', async (t) => {
    const store = postgresStore({ ...POSTGRES_SETTINGS, url: await server.newDatabase() }, ours)
    await t.rejects(store.ready(), UNAVAILABLE)
    await store.close()
  })

  t.test('a role that may not change the schema starts where there is nothing to change', async (t) => {
    const url = await server.newDatabase()
    await migratePostgres(url, ours, silent)
    const sql = openPostgres(url, { max: 1 })
    await sql.unsafe(`
      create role reader login;
      revoke create on schema public from public;
      grant select on schema_migrations to reader`)
    await sql.end()
    await migratePostgres(url.replace('postgres@', 'reader@'), ours, silent)
    t.pass('it only looked')
  })

  t.test('settings that can lose a committed write are warned of', async (t) => {
    const warnings: string[] = []
    await migratePostgres(await server.newDatabase(), ours, (message) => warnings.push(message))
    t.match(warnings, [/^fsync is off/])
  })
})
