import { type Ask, askOn } from './connect.ts'
import { endPool, ONE_PLAN, openPostgres, PLAN_EACH } from './open.ts'
import { withTimeout } from './with-timeout.ts'

/** `move` creates this table before it copies the first row, and drops it after the last. */
export const MOVE_MARK = 'unfinished_move'
export const HALF_MOVED =
  'The move into this database is not complete. Run the same prospect-pages move again, or empty the database.'
const LOOK = `
  select current_setting('plan_cache_mode') as plans, to_regclass('${MOVE_MARK}') is not null as is_half_moved,
    current_database() || extract(epoch from pg_postmaster_start_time()) as identity`

/**
 * The reason to refuse a database, with the remedy; or null. Some poolers refuse the parameters of a session, others
 * drop them. The statement is not prepared: a pooler that was not configured as one mixes prepared statements up.
 */
export const findObstacle = async (ask: Ask, isPooler: boolean, cluster: Cluster, direct?: string | null) => {
  const found = await look(ask)
  if (!isPooler && found?.plans !== (cluster ? PLAN_EACH : ONE_PLAN).plan_cache_mode)
    return 'DATABASE_URL is a connection pooler. Set DATABASE_POOLER=true.'
  if (found?.isHalfMoved) return HALF_MOVED
  if (!direct) return null
  const sql = openPostgres(direct, { max: 1, prepare: false, connection: ONE_PLAN })
  const looked = withTimeout(look(askOn(sql)), 5_000).catch(nameDirect)
  const { plans, identity } = (await looked.finally(() => endPool(sql, 1))) ?? {}
  if (plans !== ONE_PLAN.plan_cache_mode)
    return 'DATABASE_DIRECT_URL is a connection pooler. Set it to the address of PostgreSQL itself.'
  if (identity === found?.identity) return null
  return 'DATABASE_DIRECT_URL leads to another database than DATABASE_URL. Set it to the PostgreSQL behind that pooler.'
}

const look = async (ask: Ask) => {
  const looked = ask((sql) => sql.unsafe<{ plans: string; isHalfMoved: boolean; identity: string }[]>(LOOK))
  return (await looked.catch((error) => (isFromPooler(error) ? [] : Promise.reject(error))))[0]
}
/** Rethrows an error of the direct connection, with the name of its setting. */
export const nameDirect = (error: Error): never => {
  const reason = (error.cause ?? error) as NodeJS.ErrnoException
  reason.message = `DATABASE_DIRECT_URL: ${reason.message || reason.code}`
  throw error
}

const IS_CITUS = `select to_regclass('pg_dist_partition')::text as list`
type Cluster = 'citus' | null | undefined
/** The first and the last table that sql/citus.sql distributes. It may not have been run since the last migration. */
const DISTRIBUTED = `
  select count(*) = 2 as are_distributed from pg_dist_partition
  where partmethod = 'h' and logicalrelid in (to_regclass('brands'), to_regclass('identity_copies'))`

/** The reason why the setting `DATABASE_CLUSTER` does not fit the database, with the remedy; or null. */
export const findClusterObstacle = async (ask: Ask, cluster: Cluster, migrates = false) => {
  const [found] = await ask((sql) => sql.unsafe<{ list: string | null }[]>(IS_CITUS))
  if (!found?.list && !cluster) return null
  if (!found?.list) return 'The database is not Citus. Unset DATABASE_CLUSTER, or create the extension citus.'
  const [tables] = await ask((sql) => sql.unsafe<{ areDistributed: boolean }[]>(DISTRIBUTED))
  if (Boolean(cluster) === tables?.areDistributed || (cluster && migrates)) return null
  if (!cluster) return 'The tables are distributed by Citus. Set DATABASE_CLUSTER=citus.'
  return 'The tables are not distributed. Run prospect-pages migrate, then psql -1 -f sql/citus.sql.'
}

const COORDINATOR_OF_WORKER = `
  select nodename || ':' || nodeport as coordinator from pg_dist_node
  where groupid = 0 and noderole = 'primary' and exists (select 1 from pg_dist_local_group g where g.groupid <> 0)`

/** Migrations of a cluster must run on its coordinator. */
export const refuseWorker = async (ask: Ask): Promise<void> => {
  const [citus] = await ask((sql) => sql.unsafe<{ list: string | null }[]>(IS_CITUS))
  if (!citus?.list) return
  const [found] = await ask((sql) => sql.unsafe<{ coordinator: string }[]>(COORDINATOR_OF_WORKER))
  if (found === undefined) return
  throw new Error(
    `DATABASE_URL is a worker of Citus. Run prospect-pages migrate with the coordinator, ${found.coordinator}.`,
  )
}

/** A migration of a cluster may find tables that are not distributed yet. */
export const refuseOtherCluster = async (...given: Parameters<typeof findClusterObstacle>): Promise<void> => {
  const obstacle = await findClusterObstacle(...given)
  if (obstacle !== null) throw new Error(obstacle)
}

const isFromPooler = (error: unknown): boolean =>
  error instanceof Error && (/unsupported startup parameter/.test(error.message) || isFromPooler(error.cause))
