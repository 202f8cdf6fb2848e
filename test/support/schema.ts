/** Dumps what the migrations make, as text to review: `sql/<kind>/schema.txt`. `--write` saves it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migratePostgres } from '../../src/adapters/postgres/migrate.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { startPostgres } from './postgres.ts'

export const schemaFile = (kind: 'postgres' | 'sqlite') =>
  new URL(`../../sql/${kind}/schema.txt`, import.meta.url)

/** Columns of `prospects` on SQLite that PostgreSQL computes within its indexes. */
export const COMPUTED: readonly string[] = ['name_key', 'last_name_key']
/** Columns of `prospects` that the index of the search fills. */
export const NOT_MOVED_COLUMNS: readonly string[] = [...COMPUTED, 'is_searched']

const columnsOf = (kind: 'r' | 'v') => `
  select c.relname as "table", a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
    || case when l.collname is null or l.collname = 'default' then '' else ' collate "' || l.collname || '"' end
    || case when a.attnotnull then ' not null' else '' end
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
  from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_collation l on l.oid = a.attcollation
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relkind = '${kind}' and c.relnamespace = current_schema()::regnamespace
  order by c.relname, a.attnum`
// PostgreSQL 18 lists what is not null among the constraints; the columns say it already.
const CONSTRAINTS = `
  select conrelid::regclass::text as "table", 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) as line
  from pg_constraint where connamespace = current_schema()::regnamespace and contype <> 'n'
  order by 1, 2`
const INDEXES = `
  select tablename as "table", indexdef as line from pg_indexes where schemaname = current_schema() order by 1, 2`
const OPTIONS = `
  select relname as "table", 'with ' || array_to_string(reloptions, ', ') as line
  from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace and reloptions is not null
  order by 1`

export type SchemaLine = { readonly table: string; readonly line: string }

/** The lines of all tables. */
export const postgresSchemaLines = (url: string): Promise<SchemaLine[]> =>
  linesOf(url, [columnsOf('r'), CONSTRAINTS, INDEXES, OPTIONS])

const linesOf = async (url: string, queries: readonly string[]): Promise<SchemaLine[]> => {
  const sql = openPostgres(url, { max: 1 })
  const lines: SchemaLine[] = []
  for (const query of queries) lines.push(...(await sql.unsafe<SchemaLine[]>(query)))
  await sql.end()
  return lines
}

export const postgresSchema = async (url: string): Promise<string> => {
  // The text of a view depends on the version of PostgreSQL.
  const lines = [...(await postgresSchemaLines(url)), ...(await linesOf(url, [columnsOf('v')]))]
  const byTable = Map.groupBy(lines, ({ table }) => table)
  return [...byTable]
    .map(([table, lines]) => `${table}\n${lines.map(({ line }) => `  ${line}\n`).join('')}`)
    .join('\n')
}

export const sqliteSchema = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  const path = join(folder, 'schema.db')
  const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
  await store.migrate()
  await store.close()
  const schema = fileSchema(path)
  rmSync(folder, { recursive: true })
  return schema
}

/** The schema of an embedded database. */
export const fileSchema = (path: string): string => {
  const database = openDatabase(path, 5_000)
  const rows = database.all<{ sql: string }>(
    'select sql from sqlite_schema where sql is not null order by tbl_name, type desc, name',
  )
  database.close()
  return rows.map(({ sql }) => `${sql}\n`).join('\n')
}

if (process.argv.includes('--write')) {
  const postgres = await startPostgres()
  const url = await postgres.newDatabase()
  await migratePostgres(url, readMigrations('postgres'), () => {})
  writeFileSync(schemaFile('postgres'), await postgresSchema(url))
  writeFileSync(schemaFile('sqlite'), await sqliteSchema())
  await postgres.stop()
}
