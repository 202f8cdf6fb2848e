import type { Migration } from '../../core/migrations.ts'
import type { Row, Table, Target } from '../move.ts'
import { endPool, ONE_PLAN, openPostgres, type Sql } from './connect.ts'
import { migratePostgres, type Warn } from './migrate.ts'
import { moveStatements } from './move-statements.ts'
import { withTimeout } from './with-timeout.ts'

const { plan_cache_mode: _, ...ALONG_INDEXES } = ONE_PLAN
const CONNECT_MS_MAX = 5_000
/** A role's own limits are for what serves; the driver leaves out a 0, by which PostgreSQL means none. */
const NO_LIMITS = { statement_timeout: 2_147_483_647, lock_timeout: 2_147_483_647 }

/** An empty PostgreSQL, or one where a move was stopped, to be filled by `move`; itself, and not through a pooler. */
export const postgresTarget = (url: string, migrations: readonly Migration[], warn: Warn): Target => {
  const sql = openPostgres(url, {
    max: 1,
    max_lifetime: null,
    connection: { application_name: 'prospect-pages-move', ...ALONG_INDEXES, ...NO_LIMITS },
  })
  return {
    prepare: async () => {
      await withTimeout(refuseServed(sql), CONNECT_MS_MAX)
      await migratePostgres(url, migrations, warn)
    },
    count: (table) => numberFrom(moveStatements[table].count(sql)),
    add: async (table: Table, rows: readonly Row[]) => {
      await moveStatements[table].add(sql, JSON.stringify(rows))
    },
    equal: (table, rows) => numberFrom(moveStatements[table].equal(sql, JSON.stringify(rows))),
    close: () => endPool(sql, 5),
  }
}

/** A server would publish what is waiting, and write what the source has not, while rows are still coming. */
const refuseServed = async (sql: Sql): Promise<void> => {
  const [row] = await sql<{ servers: number }[]>`
    select count(*)::int as servers from pg_stat_activity
    where datname = current_database() and application_name = 'prospect-pages'`
  if ((row?.servers ?? 0) > 0)
    throw new Error('A server has the target open: start it when the move is done.')
}

const numberFrom = async (counted: PromiseLike<readonly { rows: number }[]>): Promise<number> =>
  (await counted)[0]?.rows ?? 0
