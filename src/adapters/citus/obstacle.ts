import type { PostgresUrl } from '../../config/database-address.ts'
import { findServerObstacle } from '../postgres/obstacle.ts'
import { findMisplaced, type Misplaced } from './placement.ts'
import { PLAN_EACH } from './session.ts'
import type { Ask } from './sql.ts'

const IS_CITUS = `select to_regclass('pg_dist_partition')::text as list`
/** A message names this many tables. */
const NAMED_MAX = 5

/** The reason why a database is not the cluster that the service needs, with the remedy; or null. */
export const findClusterObstacle = async (ask: Ask, migrates = false): Promise<string | null> => {
  const [citus] = await ask((sql) => sql.unsafe<{ list: string | null }[]>(IS_CITUS))
  if (!citus?.list) return 'The database is not Citus. Unset DATABASE_CLUSTER, or create the extension citus.'
  const misplaced = migrates ? [] : await findMisplaced(ask)
  if (misplaced.length === 0) return null
  return `Citus has not distributed ${namesOf(misplaced)}. As the owner of the tables, run prospect-pages migrate on the coordinator.`
}

/** The names of the first tables, and how many more there are. */
export const namesOf = (tables: readonly Pick<Misplaced, 'table'>[]): string => {
  const names = tables.slice(0, NAMED_MAX).map(({ table }) => table)
  const more = tables.length - names.length
  return `the ${tables.length === 1 ? 'table' : 'tables'} ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
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
  const obstacle = await findClusterObstacle(ask, migrates)
  if (obstacle !== null) throw new Error(obstacle)
}

/** As on one PostgreSQL, whose statements are planned in another way: some poolers drop the parameters of a session. */
export const findSessionObstacle = async (ask: Ask, isPooler: boolean, direct?: PostgresUrl | null) => {
  const [session] = await ask(
    (sql) => sql<{ plans: string }[]>`select current_setting('plan_cache_mode') as plans`,
  )
  if (!isPooler && session?.plans !== PLAN_EACH.plan_cache_mode)
    return 'DATABASE_URL is a connection pooler. Set DATABASE_POOLER=true.'
  return findServerObstacle(ask, true, direct)
}
