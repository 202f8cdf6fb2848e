import type { PostgresUrl } from '../../config/database-address.ts'
import { findObstacle } from '../postgres/obstacle.ts'
import { PLAN_EACH } from './session.ts'
import type { Ask } from './sql.ts'

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

const COORDINATOR_ADDRESS = `
  select nodename || ':' || nodeport as coordinator from pg_dist_node
  where groupid = 0 and noderole = 'primary' and exists (select 1 from pg_dist_local_group g where g.groupid <> 0)`

/** Migrations of a cluster must run on its coordinator. */
export const refuseWorker = async (ask: Ask): Promise<void> => {
  const [citus] = await ask((sql) => sql.unsafe<{ list: string | null }[]>(IS_CITUS))
  if (!citus?.list) return
  const [found] = await ask((sql) => sql.unsafe<{ coordinator: string }[]>(COORDINATOR_ADDRESS))
  if (found === undefined) return
  throw new Error(
    `DATABASE_URL is a worker of Citus. Run prospect-pages migrate with the coordinator, ${found.coordinator}.`,
  )
}

/** Refuses a database that is no cluster. A migration may find tables that are not distributed yet. */
export const refuseOtherDatabase = async (ask: Ask, migrates: boolean): Promise<void> => {
  const obstacle = await findClusterObstacle(ask, 'citus', migrates)
  if (obstacle !== null) throw new Error(obstacle)
}

/** As on one PostgreSQL, whose statements are planned in another way: some poolers drop the parameters of a session. */
export const findSessionObstacle = async (ask: Ask, isPooler: boolean, direct?: PostgresUrl | null) => {
  const [session] = await ask(
    (sql) => sql<{ plans: string }[]>`select current_setting('plan_cache_mode') as plans`,
  )
  if (!isPooler && session?.plans !== PLAN_EACH.plan_cache_mode)
    return 'DATABASE_URL is a connection pooler. Set DATABASE_POOLER=true.'
  return findObstacle(ask, true, direct)
}
