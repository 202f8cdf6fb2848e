import type { PostgresUrl } from '../../config/database-address.ts'
import { SEARCHED_TENANTS, TABLES } from '../stores/tables.ts'
import { askOn } from './connect.ts'
import { endPool, ONE_PLAN, openPostgres } from './open.ts'
import type { Ask } from './sql.ts'
import { withTimeout } from './with-timeout.ts'

/** `move` creates this table before it copies the first row, and drops it after the last. */
export const MOVE_MARK = 'unfinished_move'
export const HALF_MOVED =
  'The move into this database is not complete. Run the same prospect-pages move again, or empty the database.'
const OUR_TABLES = [
  'schema_migrations',
  'served',
  ...[...TABLES, SEARCHED_TENANTS].map(({ name }) => name),
].map((name) => `'${name}'`)
const HIDDEN_TABLES = `
  select string_agg(relname, ', ' order by relname) as hidden_tables from pg_class
  where relnamespace = to_regnamespace(quote_ident(current_schema())) and relname in (${OUR_TABLES.join(', ')})
    and row_security_active(oid)`
const READ_SERVER = `
  select current_setting('plan_cache_mode') as plans, to_regclass('${MOVE_MARK}') is not null as is_half_moved,
    current_database() || extract(epoch from pg_postmaster_start_time()) as identity,
    current_setting('server_encoding') as encoding, current_setting('array_nulls') as array_nulls,
    current_setting('search_path') as search_path, current_schema() as schema, current_user as role,
    (${HIDDEN_TABLES}) as hidden_tables`

type Server = {
  readonly plans: string
  readonly isHalfMoved: boolean
  readonly identity: string
  readonly encoding: string
  readonly arrayNulls: string
  readonly searchPath: string
  /** Where tables are created; null if no schema of the search path exists. */
  readonly schema: string | null
  readonly role: string
  /** Tables with rows that this role may not see. */
  readonly hiddenTables: string | null
}
const READ_MS_MAX = 5_000

/** The reason why this store must not use a database, with the remedy; or null. */
export const findObstacle = async (ask: Ask, isPooler: boolean, direct?: PostgresUrl | null) =>
  (await findServerObstacle(ask, isPooler, direct)) ?? (await findDistribution(ask))

const FIND_CITUS = `select to_regclass('pg_dist_partition')::text as list`
const ARE_DISTRIBUTED = `
  select 1 from pg_dist_partition where logicalrelid = to_regclass('tenants') or logicalrelid = to_regclass('brands') limit 1`
/** Statements for one PostgreSQL would fail on the tables of a cluster, or be sent to every node. */
const findDistribution = async (ask: Ask): Promise<string | null> => {
  const [citus] = await ask((sql) => sql.unsafe<{ list: string | null }[]>(FIND_CITUS))
  if (!citus?.list) return null
  const distributed = await ask((sql) => sql.unsafe(ARE_DISTRIBUTED))
  return distributed.length > 0 ? 'The tables are distributed by Citus. Set DATABASE_CLUSTER=citus.' : null
}

/**
 * The reason to refuse a server, with the remedy; or null. Some poolers refuse the parameters of a session, others
 * drop them. The statement is not prepared: a pooler that was not configured as one mixes prepared statements up.
 */
export const findServerObstacle = async (ask: Ask, isPooler: boolean, direct?: PostgresUrl | null) => {
  const found = await readServer(ask)
  if (!isPooler && found?.plans !== ONE_PLAN.plan_cache_mode)
    return 'DATABASE_URL is a connection pooler. Set DATABASE_POOLER=true.'
  if (found?.isHalfMoved) return HALF_MOVED
  const fault = found && faultOf(found)
  if (fault) return fault
  if (!direct) return null
  const directServer = await readDirectServer(direct).catch(nameDirect)
  if (directServer?.plans !== ONE_PLAN.plan_cache_mode)
    return 'DATABASE_DIRECT_URL is a connection pooler. Set it to the address of PostgreSQL itself.'
  if (directServer.identity === found?.identity) return null
  return 'DATABASE_DIRECT_URL leads to another database than DATABASE_URL. Set it to the PostgreSQL behind that pooler.'
}

/** Settings of the database under which the service would fail later, for some texts or with a misleading error. */
const faultOf = ({ encoding, arrayNulls, searchPath, schema, role, hiddenTables }: Server): string | null => {
  if (encoding !== 'UTF8')
    return `The database has the encoding ${encoding}, which lacks most characters. Create one with createdb --encoding=UTF8 --template=template0, and use that.`
  if (schema === null)
    return `The role ${role} can use no schema of its search_path (${searchPath}). Create the schema and grant usage on it, or correct options in DATABASE_URL.`
  if (arrayNulls !== 'on')
    return `The setting array_nulls is off. Run alter role ${role} set array_nulls = on, then restart.`
  if (hiddenTables !== null)
    return `Row security hides rows of ${hiddenTables} from the role ${role}. As their owner, run alter table … disable row level security for each, or run alter role ${role} bypassrls.`
  return null
}

const readDirectServer = async (url: PostgresUrl): Promise<Server | undefined> => {
  const sql = openPostgres(url, { max: 1, prepare: false, connection: ONE_PLAN })
  try {
    return await withTimeout(readServer(askOn(sql)), READ_MS_MAX)
  } finally {
    await endPool(sql, 1)
  }
}

/** Undefined if a pooler refuses the parameters of the session. */
const readServer = async (ask: Ask): Promise<Server | undefined> => {
  try {
    const [server] = await ask((sql) => sql.unsafe<Server[]>(READ_SERVER))
    return server
  } catch (error) {
    if (isFromPooler(error)) return undefined
    throw error
  }
}
/** The tables with rows that row security hides from this role, in words, or null. */
export const findHiddenTables = async (ask: Ask): Promise<string | null> => {
  const [found] = await ask((sql) => sql.unsafe<Pick<Server, 'hiddenTables'>[]>(HIDDEN_TABLES))
  return found?.hiddenTables ?? null
}
/** Rethrows an error of the direct connection, with the name of its setting. */
export const nameDirect = (error: Error): never => {
  const reason = (error.cause ?? error) as NodeJS.ErrnoException
  reason.message = `DATABASE_DIRECT_URL: ${reason.message || reason.code}`
  throw error
}

const isFromPooler = (error: unknown): boolean =>
  error instanceof Error && (/unsupported startup parameter/.test(error.message) || isFromPooler(error.cause))
