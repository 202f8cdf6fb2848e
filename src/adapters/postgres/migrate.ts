import { setTimeout as pause } from 'node:timers/promises'
import type postgres from 'postgres'
import type { PostgresUrl } from '../../config/database-address.ts'
import { VERSION } from '../../config/version.ts'
import { unavailable } from '../../core/engine/failures.ts'
import { type Applied, checksumOf, type Migration, missingMigrations } from '../stores/migrations.ts'
import { askOn } from './connect.ts'
import { isConnectionFatal, isTransient, sqlStateOf } from './error-codes.ts'
import { endPool, openPostgres, type Sql } from './open.ts'
import type { Ask } from './sql.ts'
import { withTimeout } from './with-timeout.ts'

/** An arbitrary number that must never change. */
const LOCK = 7_238_114_005
/** Time limit to connect and to check whether there is anything to migrate. */
const CHECK_MS_MAX = 5_000
/** How often a migration tries to acquire its locks, for a second each: requests wait behind it, two seconds at most. */
const LOCK_TRIES_MAX = 20
const LOCK_PAUSE_MS = 2_000
/** Time limit to apply the missing migrations only to show them. */
const PLAN_MS_MAX = 60_000
/** A migration has no time limit, nor has the wait for another process that migrates. */
const BEGIN = `
  begin;
  set local statement_timeout = 0;
  set local lock_timeout = 0;
  select pg_advisory_xact_lock(${LOCK});
  set local lock_timeout = '1s';
  create table if not exists schema_migrations (
    number integer primary key, name text not null, applied_at timestamptz(3) not null default now(),
    checksum text not null, version text not null
  )`
/** Locks on tables that this transaction did not create: `alter table` does not rewrite the row of a table's `ctid`. */
const LOCKS = `
  select c.relname as "table", string_agg(l.mode, ', ' order by l.mode) as modes
  from pg_locks l join pg_class c on c.oid = l.relation
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'ctid' and a.xmin <> pg_current_xact_id()::xid
  where l.pid = pg_backend_pid() and c.relnamespace = current_schema()::regnamespace
  group by 1 order by 1`

export type Warn = (message: string) => void

/**
 * Brings the schema up to date, in one transaction under a lock, so that several processes may start at once. Returns
 * the names of the migrations that it applied.
 * Refuses a newer database and a PostgreSQL older than 14; warns of settings that can lose a committed write.
 */
export const migratePostgres = (url: PostgresUrl, migrations: readonly Migration[], warn: Warn) =>
  ifIncomplete(url, migrations, warn, [], async (sql) => {
    const connection = await withTimeout(sql.reserve(), CHECK_MS_MAX).catch(unavailableIfTransient)
    return migrateOn(connection, askOn(connection), migrations)
  })

type Lock = Readonly<Record<'table' | 'modes', string>>
type Plan = { readonly pending: readonly string[]; readonly locks: readonly Lock[] }
/**
 * The migrations that `migratePostgres` would apply, and the locks that it would take. It takes these locks: the
 * migrations are applied and rolled back.
 */
export const planPostgres = (url: PostgresUrl, migrations: readonly Migration[]) =>
  ifIncomplete<Plan>(
    url,
    migrations,
    () => {},
    { pending: [], locks: [] },
    async (sql) => {
      const applying = sql.unsafe(BEGIN).then(() => applyMissing(askOn(sql), migrations))
      const pending = await withTimeout(applying, PLAN_MS_MAX).catch(unavailableIfTransient)
      return { pending, locks: await sql.unsafe<Lock[]>(LOCKS) }
    },
  )

/** Prepares no statement, so it works through a pooler too. */
const ifIncomplete = async <Done>(
  url: PostgresUrl,
  migrations: readonly Migration[],
  warn: Warn,
  nothing: Done,
  migrate: (sql: Sql) => Promise<Done>,
): Promise<Done> => {
  const sql = openPostgres(url, { max: 1, prepare: false })
  try {
    if (await withTimeout(isUpToDate(askOn(sql), migrations, warn), CHECK_MS_MAX)) return nothing
    return await migrate(sql)
  } finally {
    await endPool(sql, 1)
  }
}

/** Migrates on a reserved connection, which `ask` uses and this releases. */
export const migrateOn = (
  connection: postgres.ReservedSql,
  ask: Ask,
  migrations: readonly Migration[],
): Promise<readonly string[]> => inMigration(connection, ask, () => applyMissing(ask, migrations))

/**
 * Does its work in one transaction on a reserved connection, which `ask` uses and this releases. No other process migrates
 * meanwhile. While a server holds a lock that it needs, it begins again. Sends plain statements: a transaction of the
 * driver can throw errors that nothing catches.
 */
export const inMigration = async <Done>(
  connection: postgres.ReservedSql,
  ask: Ask,
  work: () => Promise<Done>,
): Promise<Done> => {
  let isLost = false
  try {
    for (let tries = 1; ; tries++) {
      try {
        await ask((sql) => sql.unsafe(BEGIN))
        const done = await work()
        await ask((sql) => sql`commit`)
        return done
      } catch (error) {
        // The driver has already taken a lost connection back, and would crash if it were used again.
        isLost = isTransient(error) && isConnectionFatal(error)
        if (!isLost) await ask((sql) => sql`rollback`).catch(() => {})
        if (!isLocked(error) || tries === LOCK_TRIES_MAX) return unavailableIfTransient(error)
        await pause(LOCK_PAUSE_MS)
      }
    }
  } finally {
    if (!isLost) connection.release()
  }
}

/** Applies missing migrations, each file whole. */
const applyMissing = async (ask: Ask, migrations: readonly Migration[]): Promise<readonly string[]> => {
  const missing = missingMigrations(migrations, await appliedMigrations(ask))
  for (const { number, name, sql: text } of missing) {
    await ask((sql) => sql.unsafe(text).simple())
    await ask(
      (sql) => sql`
      insert into schema_migrations (number, name, checksum, version)
      values (${number}, ${name}, ${checksumOf(text)}, ${VERSION})`,
    )
  }
  return missing.map(({ name }) => name)
}

/** Whether a statement of a running server held a lock. */
const isLocked = (error: unknown): boolean => ['55P03', '40P01'].includes(sqlStateOf(error))
const unavailableIfTransient = (error: unknown): never => {
  if (isTransient(error) || isLocked(error)) throw unavailable('The database cannot answer yet.', error)
  throw error
}

/** Checked first, so that a role that may not change the schema can start if there is nothing to change. */
export const isUpToDate = async (ask: Ask, migrations: readonly Migration[], warn: Warn) => {
  const applied = await checkServer(ask, warn)
    .then(() => appliedMigrations(ask))
    .catch(unavailableIfTransient)
  return applied.length > 0 && missingMigrations(migrations, applied).length === 0
}

export const appliedMigrations = async (ask: Ask): Promise<readonly Applied[]> => {
  const [list] = await ask(
    (sql) => sql<{ exists: boolean }[]>`select to_regclass('schema_migrations') is not null as exists`,
  )
  if (list?.exists !== true) return []
  // Not prepared: a prepared statement would fail once a newer program adds columns. Older databases lack some.
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
