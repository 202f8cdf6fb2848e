import { askOn } from '../adapters/postgres/connect.ts'
import { appliedMigrations } from '../adapters/postgres/migrate.ts'
import { findObstacle } from '../adapters/postgres/obstacle.ts'
import { endPool, ONE_PLAN, openPostgres, type Sql } from '../adapters/postgres/open.ts'
import { findMissingPrivileges } from '../adapters/postgres/privileges.ts'
import { readSizes } from '../adapters/postgres/sizes.ts'
import { withTimeout } from '../adapters/postgres/with-timeout.ts'
import { lastOf, type Migration } from '../adapters/stores/migrations.ts'
import type { Config } from '../config/config.ts'
import type { DatabaseSizes } from '../core/ports/store.ts'
import type { Clock } from '../core/ports/world.ts'
import { type Check, checkMigrations, failed, failedBy, inWords, passed, warned } from './check.ts'
import { findClusterObstacle, findSessionObstacle, otherNodes, PLAN_EACH } from './cluster.ts'
import { examineNodes } from './examine-nodes.ts'
import { examineTenants } from './examine-tenants.ts'
import { asClause, POSTGRES_REMEDIES, remedyIn } from './remedies.ts'

const MS_MAX = 15_000
const DRIFT_MS_MAX = 5_000

type Settings = Pick<Config, 'databasePooler' | 'databaseDirectUrl' | 'databaseCluster' | 'statementMsMax'>

/** Checks PostgreSQL. Connects as the service does. */
export const examinePostgres = async (
  url: string,
  known: readonly Migration[],
  settings: Settings,
  clock: Clock = Date.now,
): Promise<readonly Check[]> => {
  const plans = settings.databaseCluster ? PLAN_EACH : ONE_PLAN
  const connection = { statement_timeout: settings.statementMsMax, lock_timeout: 1_000, ...plans }
  const session = settings.databasePooler ? { prepare: false } : { connection }
  const sql = openPostgres(url, { max: 1, ...session })
  try {
    return await withTimeout(examine(sql, url, known, settings, clock), MS_MAX)
  } catch (error) {
    return [failedBy(error, inWords(error as Error), remedyFor(error as Error))]
  } finally {
    await endPool(sql, 1)
  }
}

const ANY_REMEDY =
  'check that PostgreSQL runs, and the address, database, role, password and parameters (such as sslmode) in DATABASE_URL'

const remedyFor = (error: Error): string => {
  // The driver tries each address of a host.
  const [first = error] = error instanceof AggregateError ? error.errors : []
  const message = String(first.message).replace(/^DATABASE_DIRECT_URL: /, '')
  const setting = error.message.startsWith('DATABASE_DIRECT_URL') ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL'
  const remedy = remedyIn(POSTGRES_REMEDIES, message)?.remedy ?? ANY_REMEDY
  return asClause(remedy.replace('DATABASE_URL', setting))
}

const examine = async (
  sql: Sql,
  url: string,
  known: readonly Migration[],
  settings: Settings,
  clock: Clock,
) => {
  const { databasePooler, databaseDirectUrl: direct, databaseCluster, statementMsMax } = settings
  const find = databaseCluster ? findSessionObstacle : findObstacle
  const refusal = refusalOf(await find(askOn(sql), databasePooler, direct))
  if (refusal.length > 0) return refusal
  const cluster = databaseCluster ? refusalOf(await findClusterObstacle(askOn(sql))) : []
  if (databaseCluster && cluster.length === 0) {
    const others = await otherNodes(askOn(sql), direct ?? url)
    cluster.push(await examineNodes(sql, others), await examineTenants([direct ?? url, ...others]))
  }
  const beforeMs = clock()
  const [found] = await sql<[Found]>`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as version_number,
      current_database() as database, current_user as role, current_setting('is_superuser') = 'on' as is_superuser,
      (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms,
      (select string_agg(name, ', ' order by name) from pg_settings
        where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off') as settings_off,
      (select string_agg(distinct coalesce(r.rolname, 'every role'), ', ')
        from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
        where c.relnamespace = to_regnamespace(quote_ident(current_schema())) and c.relname in ('prospects', 'prospect_logs')
          and a.privilege_type = 'SELECT' and a.grantee not in (c.relowner, to_regrole(quote_ident(current_user)))
          and not coalesce(r.rolsuper, false)) as readers,
      current_schema() as schema, has_schema_privilege(current_schema(), 'create') as may_create`
  const afterMs = clock()
  const limits = { ...(databaseCluster ? {} : ONE_PLAN), statement_timeout: `${statementMsMax}ms` }
  const unset = databasePooler ? await findUnset(sql, limits) : []
  const sizes = await readSizes(askOn(sql)).then(sizesCheck)
  const checks = [
    ...cluster,
    server(found),
    sizes,
    durability(found),
    clocks(found, beforeMs, afterMs),
    ...unset,
  ]
  checks.push(readers(found))
  const missing = await findMissingPrivileges(askOn(sql))
  if (missing?.includes('schema_migrations')) return [...checks, role(found, missing)]
  const applied = lastOf(known, await appliedMigrations(askOn(sql)))
  const migrations = checkMigrations(applied, known.length)
  if (applied === 0 && !found.mayCreate)
    return [...checks, failed('migrations', migrations.detail, grantOf(found))]
  return applied === 0 ? [...checks, migrations] : [...checks, role(found, missing), migrations]
}

/** Nothing is there yet, and `migrate` would be refused to this role. */
const grantOf = ({ schema, role }: Found): string =>
  `as an administrator, run grant create, usage on schema ${schema} to ${role}, then prospect-pages migrate; or migrate as a role that has these rights`

/** The check that fails because the service refuses to start: an obstacle is a sentence and its remedy. */
const refusalOf = (obstacle: string | null): Check[] => {
  const [detail, remedy = ''] = obstacle?.split('. ') ?? []
  return detail === undefined ? [] : [failed('database', detail, remedy)]
}

type Found = {
  readonly version: string
  readonly versionNumber: number
  readonly database: string
  readonly role: string
  readonly isSuperuser: boolean
  readonly nowMs: number
  readonly settingsOff: string | null
  /** Where a migration would create tables, and whether the role may. */
  readonly schema: string
  readonly mayCreate: boolean
  /** Other roles that may read the people and what they did. */
  readonly readers: string | null
}

const server = ({ version, versionNumber, database }: Found): Check => {
  const detail = `PostgreSQL ${version}, database ${database}`
  if (versionNumber >= 140_000) return passed('database', detail)
  return failed('database', detail, 'upgrade to PostgreSQL 14 or newer')
}

const sizesCheck = ({ databaseBytes, journalBytes }: DatabaseSizes): Check => {
  const journal =
    journalBytes === null
      ? 'only a member of pg_monitor sees the write-ahead log'
      : `the write-ahead log of the server ${journalBytes} bytes`
  return passed('sizes', `the database has ${databaseBytes} bytes; ${journal}`)
}

const durability = ({ settingsOff }: Found): Check => {
  if (settingsOff === null) return passed('durability', 'commits are flushed to disk')
  const detail = `off: ${settingsOff}. A crash can lose acknowledged writes`
  return failed('durability', detail, `turn on ${settingsOff}`)
}

/** The clock of the database is compared with the middle of the query, so half the query's time counts as tolerance. */
const clocks = ({ nowMs }: Found, beforeMs: number, afterMs: number): Check => {
  const driftMs = Math.round(nowMs - (beforeMs + afterMs) / 2)
  const detail = `the database's clock is ${Math.abs(driftMs)} ms ${driftMs < 0 ? 'behind' : 'ahead of'} this machine's`
  if (Math.abs(driftMs) <= DRIFT_MS_MAX + (afterMs - beforeMs) / 2) return passed('clock', detail)
  return failed('clock', detail, 'synchronize both clocks with NTP')
}

/** A hosted PostgreSQL may grant every new table to the role of its public API. */
const readers = ({ readers: others }: Found): Check => {
  if (others === null) return passed('readers', 'no other role may read prospects or activities')
  const remedy = `unless that is on purpose, as the owner run: revoke all on all tables in schema … from ${others === 'every role' ? 'public' : others}`
  return warned('readers', `prospects or activities can be read by: ${others}`, remedy)
}

const RUN_ROLES = 'psql "$OWNER_URL" -v ON_ERROR_STOP=1 -1 -f sql/roles.sql'
const role = ({ role, isSuperuser }: Found, missing: string | null): Check => {
  if (missing !== null) {
    const remedy = `in the package's folder, as the owner of the tables, run ${RUN_ROLES}; SECURITY.md describes both roles`
    return failed('role', `${role} lacks the privileges ${missing}`, remedy)
  }
  const more = isSuperuser ? '. It is a superuser; SECURITY.md describes a role with fewer rights' : ''
  return passed('role', `${role} has the privileges that serving needs${more}`)
}

/** A pooler does not pass session settings on, so the role needs those that matter without prepared statements. */
const findUnset = (sql: Sql, settings: Readonly<Record<string, string>>) => {
  const needed = JSON.stringify({ ...settings, lock_timeout: '2s' })
  return sql<Check[]>`
    select 'pooler' as name, 'failed' as state, format('connections through the pooler have %s = %s', name, setting) as detail,
      format('alter role %I set %s = %L; -- then RECONNECT in PgBouncer', current_user, name, value) as remedy
    from json_each_text(${needed}::text::json) as needed (name, value) join pg_settings using (name)
    where setting in ('on', '0')`
}
