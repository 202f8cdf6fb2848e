import type postgres from 'postgres'
import { unavailable } from '../../core/engine/failures.ts'
import { type Applied, checksumOf, lastOf, type Migration, missingMigrations } from '../stores/migrations.ts'
import { type Ask, askOn } from './connect.ts'
import { isConnectionFatal, isTransient } from './error-codes.ts'
import { endPool, openPostgres } from './open.ts'
import { withTimeout } from './with-timeout.ts'

/** An arbitrary number that must never change. */
const LOCK = 7_238_114_005
/** To connect, and to look whether anything must be done. */
const LOOK_MS_MAX = 5_000
/**
 * A migration takes as long as it takes, and so does another process that migrates at the same time. On Citus, one that
 * alters several tables must alter their shards one after another; elsewhere that setting means nothing.
 */
const BEGIN = `
  begin;
  set local statement_timeout = 0;
  set local lock_timeout = 0;
  set local citus.multi_shard_modify_mode = 'sequential';
  select pg_advisory_xact_lock(${LOCK});
  create table if not exists schema_migrations (
    number integer primary key, name text not null, applied_at timestamptz(3) not null default now(),
    checksum text not null
  )`

export type Warn = (message: string) => void

/**
 * Brings the schema up to date, in one transaction under a lock, so that several processes may start at once. Answers
 * the names of the migrations that it applied.
 * Refuses a newer database and a PostgreSQL older than 14; warns of settings that can lose a committed write.
 * Prepares no statement, so it works through a pooler too.
 */
export const migratePostgres = async (
  url: string,
  migrations: readonly Migration[],
  warn: Warn,
): Promise<readonly string[]> => {
  const sql = openPostgres(url, { max: 1, prepare: false })
  try {
    if (await withTimeout(isUpToDate(askOn(sql), migrations, warn), LOOK_MS_MAX)) return []
    const connection = await withTimeout(sql.reserve(), LOOK_MS_MAX).catch(notYetOr)
    return await migrateOn(connection, askOn(connection), migrations)
  } finally {
    await endPool(sql, 1)
  }
}

/**
 * On a reserved connection, which `ask` uses and this releases. By plain statements: the driver's own transactions can
 * throw where nothing catches it.
 */
export const migrateOn = async (
  connection: postgres.ReservedSql,
  ask: Ask,
  migrations: readonly Migration[],
): Promise<readonly string[]> => {
  let isLost = false
  try {
    await ask((sql) => sql.unsafe(BEGIN))
    const missing = missingMigrations(migrations, await lastMigration(ask, migrations))
    for (const { number, name, sql: text } of missing) {
      await ask((sql) => sql.unsafe(text))
      await ask(
        (sql) => sql`
        insert into schema_migrations (number, name, checksum) values (${number}, ${name}, ${checksumOf(text)})`,
      )
    }
    await ask((sql) => sql`commit`)
    return missing.map(({ name }) => name)
  } catch (error) {
    // The driver has taken a lost connection back, and would crash over anything that is done with it.
    isLost = isTransient(error) && isConnectionFatal(error)
    if (!isLost) await ask((sql) => sql`rollback`).catch(() => {})
    return notYetOr(error)
  } finally {
    if (!isLost) connection.release()
  }
}

const notYetOr = (error: unknown): never => {
  throw isTransient(error) ? unavailable('The database cannot answer yet.', error) : error
}

/** So that a role that may not change the schema can start if there is nothing to change. */
export const isUpToDate = async (ask: Ask, migrations: readonly Migration[], warn: Warn) => {
  const last = await checkServer(ask, warn)
    .then(() => lastMigration(ask, migrations))
    .catch(notYetOr)
  return last > 0 && missingMigrations(migrations, last).length === 0
}

/** Its number; 0 in an empty database. */
export const lastMigration = async (ask: Ask, ours: readonly Migration[]): Promise<number> => {
  const [list] = await ask(
    (sql) => sql<{ exists: boolean }[]>`select to_regclass('schema_migrations') is not null as exists`,
  )
  if (list?.exists !== true) return 0
  // An older database lacks the column `checksum`.
  return lastOf(ours, await ask((sql) => sql<Applied[]>`select * from schema_migrations order by number`))
}

const checkServer = async (ask: Ask, warn: Warn): Promise<void> => {
  const [server] = await ask(
    (sql) => sql<[{ version: number; fsync: string; fullPageWrites: string; commits: string }]>`
      select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
        current_setting('full_page_writes') as full_page_writes, current_setting('synchronous_commit') as commits`,
  )
  if (server.version < 140_000) throw new Error('PostgreSQL 14 or newer is required.')
  if (server.fsync === 'off')
    warn('fsync is off: a crash of the database machine can lose acknowledged writes')
  if (server.fullPageWrites === 'off') warn('full_page_writes is off: a crash can damage the database')
  if (server.commits === 'off') warn('synchronous_commit is off: a crash can lose acknowledged writes')
}
