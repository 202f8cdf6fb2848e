import type { Check, Examined } from '../check.ts'
import type { Grant } from '../read-grants.ts'
import { textArray } from './arrays.ts'
import { askOn, endPool, ONE_PLAN, openPostgres, type Sql } from './connect.ts'
import { examineRole } from './examine-role.ts'
import { lastMigration } from './migrate.ts'
import { withTimeout } from './with-timeout.ts'

export type Wanted = {
  readonly url: string
  /** Where `url` is a pooler: the address of PostgreSQL itself, if it is known. */
  readonly pooler: { readonly directUrl: string | null } | null
  readonly workers: number
  readonly connectionsMax: number
  readonly statementMsMax: number
  readonly grants: readonly Grant[]
  readonly clock: () => number
}

const DRIFT_MS_MAX = 5_000
const MS_MAX = 15_000
const DIRECT_MS_MAX = 5_000

/** What can be wrong with PostgreSQL, and with the way there; nothing is changed. Connects as the service does. */
export const examinePostgres = async (wanted: Wanted): Promise<Examined> => {
  const { url, pooler, statementMsMax } = wanted
  const sql = openPostgres(url, {
    max: 1,
    ...(pooler ? { prepare: false } : { connection: { statement_timeout: statementMsMax, ...ONE_PLAN } }),
  })
  try {
    return await withTimeout(look(sql, wanted), MS_MAX)
  } catch (error) {
    return { checks: [cannotAsk(error)], applied: null }
  } finally {
    await endPool(sql, 1)
  }
}

const look = async (sql: Sql, wanted: Wanted): Promise<Examined> => {
  const checks = [await server(sql), await durability(sql), await clock(sql, wanted.clock)]
  if (wanted.pooler === null) checks.push(await connections(sql, wanted))
  else checks.push(...(await throughPooler(sql, wanted.pooler.directUrl)))
  const applied = await lastMigration(askOn(sql)).catch(() => null)
  // Where it is null the role may not even see that.
  if (applied !== 0) checks.push(await examineRole(sql, wanted.grants))
  return { checks, applied }
}

const cannotAsk = (error: unknown): Check => {
  const detail = (error as Error).message
  return {
    name: 'database',
    ok: false,
    detail,
    remedy: /unsupported startup parameter/.test(detail)
      ? 'DATABASE_URL is a pooler: set DATABASE_POOLER=true'
      : 'see that PostgreSQL runs, and that DATABASE_URL has its address, database, role and password',
  }
}

const server = async (sql: Sql): Promise<Check> => {
  const [row] = await sql<{ number: number; version: string; name: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
      current_database() as name`
  const check = { name: 'database', detail: `PostgreSQL ${row?.version}, database ${row?.name}` }
  return (row?.number ?? 0) >= 140_000
    ? { ...check, ok: true }
    : { ...check, ok: false, remedy: 'move to PostgreSQL 14 or newer' }
}

const durability = async (sql: Sql): Promise<Check> => {
  const rows = await sql<{ setting: string }[]>`
    select name as setting from pg_settings
    where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name`
  if (rows.length === 0)
    return { name: 'durability', ok: true, detail: 'what is committed is flushed to disk' }
  const off = rows.map(({ setting }) => setting).join(', ')
  const detail = `off: ${off}; a crash can lose acknowledged writes`
  return { name: 'durability', ok: false, detail, remedy: `turn ${off} on` }
}

/** The database is asked in between: half of the time that the question took may be the way there. */
const clock = async (sql: Sql, here: () => number): Promise<Check> => {
  const before = here()
  const [row] = await sql<{ there: number }[]>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as there`
  const after = here()
  const driftMs = Math.round((row?.there ?? 0) - (before + after) / 2)
  const check = { name: 'clock', detail: `the database's is ${driftMs} ms ahead of this machine's` }
  return Math.abs(driftMs) <= DRIFT_MS_MAX + (after - before) / 2
    ? { ...check, ok: true }
    : { ...check, ok: false, remedy: 'set both clocks, and keep them by NTP' }
}

const connections = async (sql: Sql, { workers, connectionsMax }: Wanted): Promise<Check> => {
  const [row] = await sql<{ most: number }[]>`
    select current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int as most`
  const most = row?.most ?? 0
  const needed = workers * (connectionsMax + 1)
  const check = { name: 'connections', detail: `this machine takes up to ${needed} of ${most}` }
  return needed <= most
    ? { ...check, ok: true }
    : {
        ...check,
        ok: false,
        remedy: 'raise max_connections, lower DATABASE_CONNECTIONS_MAX, or use a pooler',
      }
}

/** What the role must bring, because a pooler refuses what the service sets elsewhere: see the README. */
const throughPooler = async (sql: Sql, directUrl: string | null): Promise<Check[]> => {
  const wanted = { ...OFF, statement_timeout: null, lock_timeout: null }
  const rows = await sql<{ name: string; setting: string }[]>`
    select name, setting from pg_settings where name = any(${textArray(Object.keys(wanted))}::text[])`
  const unset = rows.filter(({ name, setting }) => setting === (name in OFF ? 'on' : '0'))
  const names = unset.map(({ name }) => name).sort()
  const settings: Check =
    names.length === 0
      ? { name: 'pooler', ok: true, detail: 'the role brings the settings of its sessions' }
      : {
          name: 'pooler',
          ok: false,
          detail: `the role does not set ${names.join(', ')}`,
          remedy: "give them to the role by alter role, as in the README's part on PgBouncer",
        }
  return directUrl === null ? [settings] : [settings, await behindPooler(sql, directUrl)]
}
const OFF = { enable_seqscan: null, enable_hashjoin: null, enable_mergejoin: null, jit: null }

const behindPooler = async (sql: Sql, directUrl: string): Promise<Check> => {
  const name = 'direct address'
  const direct = openPostgres(directUrl, { max: 1 })
  try {
    const [there, here] = [await withTimeout(placeOf(direct), DIRECT_MS_MAX), await placeOf(sql)]
    if (there === here)
      return { name, ok: true, detail: 'DATABASE_DIRECT_URL is the database behind the pooler' }
    const detail = 'DATABASE_DIRECT_URL is another database than the one behind the pooler'
    return { name, ok: false, detail, remedy: 'give both the same database' }
  } catch (error) {
    const remedy = 'see that DATABASE_DIRECT_URL is PostgreSQL itself; without it the service polls'
    return { name, ok: false, detail: (error as Error).message, remedy }
  } finally {
    await endPool(direct, 1)
  }
}

const placeOf = async (sql: Sql): Promise<string> => {
  const [row] = await sql<{ place: string }[]>`
    select current_database() || ' since ' || pg_postmaster_start_time()::text as place`
  return row?.place ?? ''
}
