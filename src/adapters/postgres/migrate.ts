import { type Migration, missingMigrations } from '../../core/migrations.ts'
import { endPool, openPostgres, type Sql, unavailable } from './connect.ts'
import { isWaiting } from './error-codes.ts'
import { inTime } from './in-time.ts'

/** Any number will do, as long as it stays the same. */
const LOCK = 7_238_114_005
/** To connect, and to look whether there is anything to do. */
const LOOK_MS_MAX = 5_000

export type Warn = (message: string) => void

/**
 * Brings the schema up to date, in one transaction under a lock, so that several processes may start at once.
 * Refuses a database that is newer, or a PostgreSQL older than 14; warns of settings that can lose a committed write.
 * Works through a pooler too, with `prepare: false`.
 */
export const migratePostgres = async (
  url: string,
  migrations: readonly Migration[],
  warn: Warn,
  options: { readonly prepare?: boolean } = {},
): Promise<void> => {
  const sql = openPostgres(url, { max: 1, ...options })
  try {
    await inTime(checkServer(sql, warn), LOOK_MS_MAX)
    if (await inTime(isUpToDate(sql, migrations), LOOK_MS_MAX)) return
    const connection = await inTime(sql.reserve(), LOOK_MS_MAX)
    try {
      await migrateOn(connection, migrations)
    } finally {
      // Ending the pool would wait for it in vain.
      connection.release()
    }
  } catch (error) {
    throw isWaiting(error) ? unavailable('The database cannot answer yet.', error) : error
  } finally {
    await endPool(sql, 1)
  }
}

/**
 * On one connection, which is not replaced if it is lost, by plain statements: the driver's own transactions can throw
 * where nobody catches it.
 */
export const migrateOn = async (sql: Sql, migrations: readonly Migration[]): Promise<void> => {
  await sql`begin`
  // A migration takes the time that it takes, and so does another process that migrates just now.
  await sql`set local statement_timeout = 0`
  await sql`set local lock_timeout = 0`
  await sql`select pg_advisory_xact_lock(${LOCK})`
  await sql`
    create table if not exists schema_migrations (
      number integer primary key, name text not null, applied_at timestamptz(3) not null default now()
    )`
  for (const { number, name, sql: text } of missingMigrations(migrations, await appliedIn(sql))) {
    await sql.unsafe(text)
    await sql`insert into schema_migrations (number, name) values (${number}, ${name})`
  }
  await sql`commit`
}

/** A look first, so that a role without the right to change the schema can start where there is nothing to change. */
export const isUpToDate = async (sql: Sql, migrations: readonly Migration[]): Promise<boolean> => {
  const applied = await appliedIn(sql)
  return applied > 0 && missingMigrations(migrations, applied).length === 0
}

/** The number of the last migration; 0 where there is not even a list of them. */
export const appliedIn = async (sql: Sql): Promise<number> => {
  const [list] = await sql<{ isThere: boolean }[]>`
    select to_regclass('schema_migrations') is not null as is_there`
  if (list?.isThere !== true) return 0
  const [row] = await sql<{ applied: number }[]>`
    select coalesce(max(number), 0)::int as applied from schema_migrations`
  return row?.applied ?? 0
}

export const checkServer = async (sql: Sql, warn: Warn): Promise<void> => {
  const [server] = await sql<{ version: number; fsync: string; fullPageWrites: string; commits: string }[]>`
    select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
      current_setting('full_page_writes') as full_page_writes, current_setting('synchronous_commit') as commits`
  if (server === undefined) return
  if (server.version < 140_000) throw new Error('PostgreSQL 14 or newer is needed.')
  if (server.fsync === 'off')
    warn('fsync is off: a crash of the database machine can lose acknowledged writes')
  if (server.fullPageWrites === 'off') warn('full_page_writes is off: a crash can damage the database')
  if (server.commits === 'off') warn('synchronous_commit is off: a crash can lose acknowledged writes')
}
