import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLog } from '../../src/adapters/log.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import * as core from '../../src/entry/use-cases.ts'
import { newId } from '../store-contract/rows.ts'
import { sections } from '../store-contract/sections.ts'
import { postgresRows, sqliteRows } from '../support/moving.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, newFolder } from '../support/program.ts'
import { fileSchema, postgresSchema, schemaFile } from '../support/schema.ts'
import { keptInFile, keptInPostgres } from '../support/stores.ts'
import { readEverything } from './read-everything.ts'
import { readReleased, releases } from './released.ts'

type Kept = ReturnType<typeof keptInFile>
/** The database of a release, loaded: its address, and what can be seen of it past the program. */
type Loaded = {
  readonly kind: 'sqlite' | 'postgres'
  readonly url: string
  readonly rows: () => Promise<Record<string, readonly string[]>>
  readonly schema: () => Promise<string>
  readonly kept: () => Promise<Kept>
}

// The rows of a release have the first of the ids that count.
for (let id = 0; id < 10_000; id++) newId('tenant')

/** The sections of the contract that stay within their tenants and take little time. */
const BESIDE_OLD_ROWS =
  /^(hooks|activities|oldest logs|remembered prospects|external ids: people|prospects|prospect logs|counts|page groups|pages|page changes)\b/

const upgrade = async (
  t: Test,
  version: string,
  { kind, url, rows, schema, kept }: Loaded,
): Promise<void> => {
  const before = await rows()
  for (const [table, list] of Object.entries(before)) t.ok(list.length > 0, `${table} has rows`)
  const open = () => createRuntime(readConfig({ DATABASE_URL: url }), createLog('silent'))
  const world = await open()
  t.teardown(() => world.store.close())
  const { store } = world

  await t.test('it is migrated, and has the schema of a new database', async (t) => {
    const applied = await store.migrate()
    t.ok(applied.length < readMigrations(kind).length, 'the release had some of the migrations')
    await store.ready()
    t.equal(await schema(), readFileSync(schemaFile(kind), 'utf8'))
  })

  await t.test('every row has what it had', async (t) => {
    const after = await rows()
    for (const [table, list] of Object.entries(before)) {
      const columns = Object.keys(JSON.parse(list[0] ?? '{}'))
      const now = (after[table] ?? []).map((row) => JSON.stringify(JSON.parse(row), columns))
      t.strictSame(now.sort(), list, table)
    }
  })

  await t.test('the API returns what the release returned', async (t) => {
    const answers = await readEverything(world)
    const released: Record<string, string> = JSON.parse(String(readReleased(version, 'answers.json.gz')))
    t.ok(Object.keys(released).length > 50)
    for (const [target, answer] of Object.entries(released))
      t.hasStrict(JSON.parse(answers[target] ?? 'null'), JSON.parse(answer), target)
  })

  await t.test('the store keeps its contract beside the old rows', async (t) => {
    const stores = [await open(), await open()]
    t.teardown(async () => {
      for (const { store } of stores) await store.close()
    })
    const openStore = async () => {
      const earlier = new Set((await store.tenants.list('', 10_000)).map(({ tenantId }) => tenantId))
      const isNew = ({ tenantId }: { tenantId: string }) => !earlier.has(tenantId)
      return {
        store,
        another: async () => stores[0]?.store ?? store,
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

for (const version of releases()) {
  t.test(`a database of ${version} on SQLite`, async (t) => {
    const path = join(newFolder(t), 'released.db')
    writeFileSync(path, readReleased(version, 'sqlite.db.gz'))
    await upgrade(t, version, {
      kind: 'sqlite',
      url: `sqlite:${path}`,
      rows: () => sqliteRows(path),
      schema: async () => fileSchema(path),
      kept: async () => keptInFile(path),
    })
  })

  t.test(`a database of ${version} on PostgreSQL`, { skip: whyNoPostgres() ?? false }, async (t) => {
    const postgres = await sharedPostgres()
    t.teardown(postgres.stop)
    const url = await postgres.newDatabase()
    await databaseAt(url).rows(String(readReleased(version, 'postgres.sql.gz')))
    await upgrade(t, version, {
      kind: 'postgres',
      url,
      rows: () => postgresRows(url),
      schema: () => postgresSchema(url),
      kept: () => keptInPostgres(url),
    })
  })
}
