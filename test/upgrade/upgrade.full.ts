import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { backupBefore, type Migration, readMigrations } from '../../src/adapters/stores/migrations.ts'
import type { Store } from '../../src/core/ports/store.ts'
import * as core from '../../src/entry/use-cases.ts'
import { backUpBeforeMigration } from '../../src/maintenance/backup.ts'
import { newId } from '../store-contract/rows.ts'
import { sections } from '../store-contract/sections.ts'
import { postgresRows, sqliteRows } from '../support/moving.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, embeddedDatabase, newFolder, type TestedDatabase } from '../support/program.ts'
import { fileSchema, postgresSchema, schemaFile } from '../support/schema.ts'
import { keptInFile, keptInPostgres, POSTGRES_SETTINGS } from '../support/stores.ts'
import { fillFile, fillPostgres } from './fill.ts'
import { type Answers, readEverything } from './read-everything.ts'
import { readReleased, releases } from './released.ts'

/** A migration of a later version. It adds a table, and a column with a default, as migrations have to. */
const LATER = `
create table notes (tenant_id text not null, note_id text not null, note text, primary key (tenant_id, note_id));
alter table prospects add column stage text not null default 'new';
create index prospects_stage on prospects (tenant_id, stage) where stage <> 'new';`

/** A database to upgrade, and what the API returned on it. */
type Source = {
  readonly name: string
  readonly makeFile: (path: string) => Promise<Answers>
  /** `path`: a place for a file on the way. */
  readonly makePostgres: (url: string, path: string) => Promise<Answers>
}
const thisVersion: Source = {
  name: 'this version',
  makeFile: fillFile,
  makePostgres: async (url, path) => {
    const answers = await fillFile(path)
    await fillPostgres(url, path)
    return answers
  },
}
const releaseOf = (version: string): Source => {
  const answers = () => JSON.parse(String(readReleased(version, 'answers.json.gz')))
  return {
    name: version,
    makeFile: async (path) => {
      writeFileSync(path, readReleased(version, 'sqlite.db.gz'))
      return answers()
    },
    makePostgres: async (url) => {
      await databaseAt(url).rows(String(readReleased(version, 'postgres.sql.gz')))
      return answers()
    },
  }
}

/** A database that was made, how to open a store on it, and what can be seen of it past the program. */
type Made = {
  readonly kind: 'sqlite' | 'postgres'
  readonly answers: Answers
  readonly database: TestedDatabase
  readonly open: (t: Test, migrations: readonly Migration[]) => Store
  readonly rows: () => Promise<Record<string, readonly string[]>>
  readonly schema: () => Promise<string>
  /** The schema of a new database with these migrations. */
  readonly newSchema: (migrations: readonly Migration[]) => Promise<string>
  readonly kept: () => Promise<ReturnType<typeof keptInFile>>
  /** The file of an embedded database. */
  readonly path: string | null
}

// The rows of a release have the first of the ids that count.
for (let id = 0; id < 10_000; id++) newId('tenant')

/** The sections of the contract that stay within their tenants and take little time. */
const BESIDE_OLD_ROWS =
  /^(hooks|activities|oldest logs|remembered prospects|external ids: people|prospects|prospect logs|counts|page groups|pages|page changes)\b/

const upgrade = async (t: Test, made: Made): Promise<void> => {
  const { kind, answers, database, open, rows, schema, newSchema, kept, path } = made
  const ours = readMigrations(kind)
  const later = { number: ours.length + 1, name: 'later.sql', sql: LATER }
  const migrations = [...ours, later]
  const applied = await database.rows('select 1 from schema_migrations')
  /** The migrations of the version that made the database. */
  const former = ours.slice(0, applied.length)
  const rowsBefore = await rows()
  const schemaBefore = await schema()
  const backup = path && backupBefore(path)

  /** The backup is the only file beside the database, and contains what was there before the migration. */
  const checkBackup = async (t: Test): Promise<void> => {
    if (path === null || backup === null) return
    const beside = readdirSync(dirname(path)).filter((name) => name.includes('.before-'))
    t.strictSame(beside, [basename(backup)])
    t.strictSame(await sqliteRows(backup), rowsBefore)
    t.equal(fileSchema(backup), schemaBefore)
  }

  await t.test('it has rows in every table, and the schema of its version', async (t) => {
    for (const [table, list] of Object.entries(rowsBefore)) t.ok(list.length > 0, `${table} has rows`)
    t.equal(schemaBefore, await newSchema(former))
    if (former.length === ours.length) t.equal(schemaBefore, readFileSync(schemaFile(kind), 'utf8'))
  })

  await t.test('a migration that fails leaves it unchanged, with a backup beside a file', async (t) => {
    const faulty = open(t, [...ours, { ...later, sql: `${LATER}\nnonsense` }])
    await t.rejects(faulty.migrate(), /syntax error/)
    t.strictSame(await rows(), rowsBefore)
    t.equal(await schema(), schemaBefore)
    await t.resolves(open(t, former).ready(), 'its version can still use it')
    await checkBackup(t)
  })

  const store = open(t, migrations)
  await t.test('it is migrated, and has the schema of a new database', async (t) => {
    await t.rejects(store.ready(), /not migrated/)
    t.strictSame(
      await store.migrate(),
      migrations.slice(former.length).map(({ name }) => name),
    )
    await store.ready()
    t.equal(await schema(), await newSchema(migrations))
    await checkBackup(t)
  })

  await t.test('every row has what it had, and the default of a new column', async (t) => {
    const rowsAfter = await rows()
    for (const [table, list] of Object.entries(rowsBefore)) {
      const columns = Object.keys(JSON.parse(list[0] ?? '{}'))
      const now = (rowsAfter[table] ?? []).map((row) => JSON.stringify(JSON.parse(row), columns))
      t.strictSame(now.sort(), list, table)
    }
    t.strictSame(rowsAfter['notes'], [])
    for (const row of rowsAfter['prospects'] ?? []) t.match(JSON.parse(row), { stage: 'new' })
  })

  await t.test('the API returns what it returned', async (t) => {
    const now = await readEverything(store)
    t.ok(Object.keys(answers).length > 50)
    for (const [target, answer] of Object.entries(answers))
      t.hasStrict(JSON.parse(now[target] ?? 'null'), JSON.parse(answer), target)
  })

  await t.test('a version that does not know the migration refuses it, and changes nothing', async (t) => {
    const rowsAfter = await rows()
    const schemaAfter = await schema()
    const older = open(t, ours)
    const kept = backup === null ? '' : `.* The backup made before that is ${backup}\\.$`
    const detail = new RegExp(`newer than this program: .* applied migration ${later.number}, ${kept}`)
    await t.rejects(older.migrate(), detail)
    await t.rejects(older.ready(), detail)
    t.strictSame(await rows(), rowsAfter)
    t.equal(await schema(), schemaAfter)
  })

  await t.test('the store keeps its contract beside the old rows', async (t) => {
    const another = open(t, migrations)
    const openStore = async () => {
      const earlier = new Set((await store.tenants.list('', 10_000)).map(({ tenantId }) => tenantId))
      const isNew = ({ tenantId }: { tenantId: string }) => !earlier.has(tenantId)
      return {
        store,
        another: async () => another,
        kept: async () => {
          const { prospects, logs } = await kept()
          return { prospects: prospects.filter(isNew), logs: logs.filter(isNew) }
        },
        close: async () => {},
      }
    }
    const test = (title: string, body: () => Promise<void>) => {
      if (BESIDE_OLD_ROWS.test(title))
        t.test(title, async (t) => {
          await body()
          t.pass('no assertion failed')
        })
    }
    for (const section of sections) section(core, { test, openStore })
  })
}

/** Opens a store on a file as the service does. */
const openFile = (t: Test, path: string, migrations: readonly Migration[]): Store => {
  const beforeMigrating = () => void backUpBeforeMigration(path)
  const store = sqliteStore({ path, busyMsMax: 5_000, beforeMigrating }, migrations)
  t.teardown(() => store.close())
  return store
}
const openUrl = (t: Test, url: string, migrations: readonly Migration[]): Store => {
  const store = postgresStore({ ...POSTGRES_SETTINGS, url }, migrations)
  t.teardown(() => store.close())
  return store
}

for (const { name, makeFile, makePostgres } of [thisVersion, ...releases().map(releaseOf)]) {
  t.test(`a database of ${name} on SQLite`, async (t) => {
    const path = join(newFolder(t), 'test.db')
    await upgrade(t, {
      kind: 'sqlite',
      answers: await makeFile(path),
      database: embeddedDatabase(path),
      open: (t, migrations) => openFile(t, path, migrations),
      rows: () => sqliteRows(path),
      schema: async () => fileSchema(path),
      newSchema: async (migrations) => {
        const empty = join(newFolder(t), 'empty.db')
        await openFile(t, empty, migrations).migrate()
        return fileSchema(empty)
      },
      kept: async () => keptInFile(path),
      path,
    })
  })

  t.test(`a database of ${name} on PostgreSQL`, { skip: whyNoPostgres() ?? false }, async (t) => {
    const postgres = await sharedPostgres()
    t.teardown(postgres.stop)
    const url = await postgres.newDatabase()
    await upgrade(t, {
      kind: 'postgres',
      answers: await makePostgres(url, join(newFolder(t), 'test.db')),
      database: databaseAt(url),
      open: (t, migrations) => openUrl(t, url, migrations),
      rows: () => postgresRows(url),
      schema: () => postgresSchema(url),
      newSchema: async (migrations) => {
        const empty = await postgres.newDatabase()
        await openUrl(t, empty, migrations).migrate()
        return postgresSchema(empty)
      },
      kept: () => keptInPostgres(url),
      path: null,
    })
  })
}
