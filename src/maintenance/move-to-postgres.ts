import { askOn } from '../adapters/postgres/connect.ts'
import { migratePostgres, type Warn } from '../adapters/postgres/migrate.ts'
import { MOVE_MARK } from '../adapters/postgres/obstacle.ts'
import { endPool, ONE_PLAN, openPostgres } from '../adapters/postgres/open.ts'
import { withTimeout } from '../adapters/postgres/with-timeout.ts'
import type { ColumnType } from '../adapters/stores/columns.ts'
import type { Migration } from '../adapters/stores/migrations.ts'
import type { Row, Table } from '../adapters/stores/tables.ts'
import { refuseWorker } from './cluster.ts'

const { plan_cache_mode: _, ...ALONG_INDEXES } = ONE_PLAN
const CONNECT_MS_MAX = 5_000
/** A role's time limits are meant for serving. PostgreSQL means "no limit" by 0, but the driver does not send a 0. */
const NO_LIMITS = { statement_timeout: 2_147_483_647, lock_timeout: 2_147_483_647 }

/** The PostgreSQL database that `move` copies into. Connects directly, not through a pooler. */
export const postgresTarget = (url: string, migrations: readonly Migration[], warn: Warn) => {
  const sql = openPostgres(url, {
    max: 1,
    max_lifetime: null,
    connection: { application_name: 'prospect-pages-move', ...ALONG_INDEXES, ...NO_LIMITS },
  })
  // Table and column names are constants of this program; rows are always a parameter.
  const countBy = async (text: string, parameters: string[] = []): Promise<number> =>
    (await sql.unsafe<[{ rows: number }]>(text, parameters))[0].rows
  return {
    /** Migrates. Refuses a database that a server has open. */
    prepare: async (): Promise<void> => {
      if ((await withTimeout(countBy(SERVERS), CONNECT_MS_MAX)) > 0)
        throw new Error('A server has the target open. Stop it, and start it again after the move.')
      await withTimeout(refuseWorker(askOn(sql)), CONNECT_MS_MAX)
      await migratePostgres(url, migrations, warn)
    },
    /** No server starts on a target that is marked as unfinished. */
    mark: (isUnfinished: boolean): Promise<unknown> =>
      sql.unsafe(isUnfinished ? `create table if not exists ${MOVE_MARK} ()` : `drop table ${MOVE_MARK}`),
    count: (table: Table) => countBy(`select count(*)::int as rows from ${table.name}`),
    /** Adds the rows whose key is missing. */
    add: (table: Table, rows: readonly Row[]): Promise<unknown> =>
      sql.unsafe(insertText(table), [JSON.stringify(rows)]),
    /** How many of these rows the target has, equal in every column. */
    countEqual: (table: Table, rows: readonly Row[]) =>
      countBy(countEqualText(table), [JSON.stringify(rows)]),
    close: () => endPool(sql, 5),
  }
}

/** A server would publish waiting pages, and write rows that the source lacks, during the move. */
const SERVERS = `
  select count(*)::int as rows from pg_stat_activity
  where datname = current_database() and application_name = 'prospect-pages'`

const insertText = ({ name, columns }: Table): string => {
  const values = Object.entries(columns).map(([column, type]) => fromSqlite(`r.${column}`, type))
  return `
    insert into ${name} (${Object.keys(columns).join()})
    select ${values.join()} from ${recordset(columns)} on conflict do nothing`
}

const countEqualText = ({ name, key, columns }: Table): string => {
  const pairs = Object.entries(columns).map(([column, type]) =>
    // PostgreSQL cannot compare json, but keeps its text as sent.
    type === 'json' ? [`t.${column}::text`, `r.${column}`] : [`t.${column}`, fromSqlite(`r.${column}`, type)],
  )
  const side = (n: 0 | 1): string => pairs.map((pair) => pair[n]).join()
  return `
    select count(*)::int as rows from ${name} t join ${recordset(columns)} using (${key.join()})
    where (${side(0)}) is not distinct from (${side(1)})`
}

const recordset = (columns: Table['columns']): string => {
  const list = Object.entries(columns).map(
    ([column, type]) => `${column} ${type === 'json' || type === 'text[]' ? 'text' : type}`,
  )
  return `json_to_recordset($1::text::json) as r (${list.join()})`
}

const fromSqlite = (value: string, type: ColumnType): string => {
  if (type === 'json') return `${value}::json`
  return type === 'text[]' ? `string_to_array(${value}, ' ')` : value
}
