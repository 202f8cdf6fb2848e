import { setTimeout as pause } from 'node:timers/promises'
import type postgres from 'postgres'
import { VERSION } from '../../config/version.ts'
import { unavailable } from '../../core/engine/failures.ts'
import { type Applied, checksumOf, type Migration, missingMigrations } from '../stores/migrations.ts'
import { type Ask, askOn } from './connect.ts'
import { isConnectionFatal, isTransient, sqlStateOf } from './error-codes.ts'
import { refuseWorker } from './obstacle.ts'
import { endPool, openPostgres } from './open.ts'
import { withTimeout } from './with-timeout.ts'

/** An arbitrary number that must never change. */
const LOCK = 7_238_114_005
/** To connect, and to look whether anything must be done. */
const LOOK_MS_MAX = 5_000
/** How often a migration tries to get its locks, each time for a second: requests wait behind it, and for two at most. */
const LOCK_TRIES_MAX = 20
const LOCK_PAUSE_MS = 2_000
/** To apply what is missing, only to see it. */
const PLAN_MS_MAX = 60_000
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
  set local lock_timeout = '1s';
  create table if not exists schema_migrations (
    number integer primary key, name text not null, applied_at timestamptz(3) not null default now(),
    checksum text not null, version text not null
  )`
/** On tables that this transaction did not create: `alter table` does not write the row of a table's `ctid` again. */
const LOCKS = `
  select c.relname as "table", string_agg(l.mode, ', ' order by l.mode) as modes
  from pg_locks l join pg_class c on c.oid = l.relation
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'ctid' and a.xmin <> pg_current_xact_id()::xid
  where l.pid = pg_backend_pid() and c.relnamespace = current_schema()::regnamespace
  group by 1 order by 1`

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
    await refuseWorker(askOn(sql))
    const connection = await withTimeout(sql.reserve(), LOOK_MS_MAX).catch(notYetOr)
    return await migrateOn(connection, askOn(connection), migrations)
  } finally {
    await endPool(sql, 1)
  }
}

/** What `migratePostgres` would apply, and the locks that it would take, which are taken: it is applied and rolled back. */
export const planPostgres = async (url: string, migrations: readonly Migration[]) => {
  const sql = openPostgres(url, { max: 1, prepare: false })
  const ask = askOn(sql)
  try {
    if (
      await withTimeout(
        isUpToDate(ask, migrations, () => {}),
        LOOK_MS_MAX,
      )
    )
      return { pending: [], locks: [] }
    await refuseWorker(ask)
    const pending = await withTimeout(apply(ask, migrations), PLAN_MS_MAX)
    return { pending, locks: await sql.unsafe(LOCKS) }
  } catch (error) {
    return notYetOr(error)
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
    for (let tries = 1; ; tries++) {
      try {
        const applied = await apply(ask, migrations)
        await ask((sql) => sql`commit`)
        return applied
      } catch (error) {
        // The driver has taken a lost connection back, and would crash over anything that is done with it.
        isLost = isTransient(error) && isConnectionFatal(error)
        if (!isLost) await ask((sql) => sql`rollback`).catch(() => {})
        if (!isLocked(error) || tries === LOCK_TRIES_MAX) return notYetOr(error)
        await pause(LOCK_PAUSE_MS)
      }
    }
  } finally {
    if (!isLost) connection.release()
  }
}

/** Begins a transaction, and applies in it what is missing: statement by statement, or Citus cannot alter its tables. */
const apply = async (ask: Ask, migrations: readonly Migration[]): Promise<readonly string[]> => {
  await ask((sql) => sql.unsafe(BEGIN))
  const missing = missingMigrations(migrations, await appliedMigrations(ask))
  for (const { number, name, sql: text } of missing) {
    for (const statement of text.split(/;$/m)) if (statement.trim()) await ask((sql) => sql.unsafe(statement))
    await ask(
      (sql) => sql`
      insert into schema_migrations (number, name, checksum, version)
      values (${number}, ${name}, ${checksumOf(text)}, ${VERSION})`,
    )
  }
  return missing.map(({ name }) => name)
}

/** A statement of a server was in the way. */
const isLocked = (error: unknown): boolean => ['55P03', '40P01'].includes(sqlStateOf(error))
const notYetOr = (error: unknown): never => {
  const isNotYet = isTransient(error) || isLocked(error)
  throw isNotYet ? unavailable('The database cannot answer yet.', error) : error
}

/** So that a role that may not change the schema can start if there is nothing to change. */
export const isUpToDate = async (ask: Ask, migrations: readonly Migration[], warn: Warn) => {
  const applied = await checkServer(ask, warn)
    .then(() => appliedMigrations(ask))
    .catch(notYetOr)
  return applied.length > 0 && missingMigrations(migrations, applied).length === 0
}

export const appliedMigrations = async (ask: Ask): Promise<readonly Applied[]> => {
  const [list] = await ask(
    (sql) => sql<{ exists: boolean }[]>`select to_regclass('schema_migrations') is not null as exists`,
  )
  if (list?.exists !== true) return []
  // An older database lacks some columns, and a newer program may add some: then a prepared statement would fail.
  return ask((sql) => sql.unsafe<Applied[]>('select * from schema_migrations order by number'))
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
