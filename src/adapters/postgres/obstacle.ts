import { askOn, withTimeout } from './connect.ts'
import { endPool, ONE_PLAN, openPostgres } from './open.ts'
import type { Ask } from './sql.ts'

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
export const findObstacle = async (ask: Ask, isPooler: boolean, direct?: string | null) => {
  const found = await readServer(ask)
  if (!isPooler && found?.plans !== ONE_PLAN.plan_cache_mode)
    return 'DATABASE_URL is a connection pooler. Set DATABASE_POOLER=true.'
  if (found?.isHalfMoved) return HALF_MOVED
  if (!direct) return null
  const sql = openPostgres(direct, { max: 1, prepare: false, connection: ONE_PLAN })
  const looked = withTimeout(readServer(askOn(sql)), 5_000).catch(nameDirect)
  const { plans, identity } = (await looked.finally(() => endPool(sql, 1))) ?? {}
  if (plans !== ONE_PLAN.plan_cache_mode)
    return 'DATABASE_DIRECT_URL is a connection pooler. Set it to the address of PostgreSQL itself.'
  if (identity === found?.identity) return null
  return 'DATABASE_DIRECT_URL leads to another database than DATABASE_URL. Set it to the PostgreSQL behind that pooler.'
}

const readServer = async (ask: Ask) => {
  const looked = ask((sql) => sql.unsafe<{ plans: string; isHalfMoved: boolean; identity: string }[]>(LOOK))
  return (await looked.catch((error) => (isFromPooler(error) ? [] : Promise.reject(error))))[0]
}
/** Rethrows an error of the direct connection, with the name of its setting. */
export const nameDirect = (error: Error): never => {
  const reason = (error.cause ?? error) as NodeJS.ErrnoException
  reason.message = `DATABASE_DIRECT_URL: ${reason.message || reason.code}`
  throw error
}

const isFromPooler = (error: unknown): boolean =>
  error instanceof Error && (/unsupported startup parameter/.test(error.message) || isFromPooler(error.cause))
