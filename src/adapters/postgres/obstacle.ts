import { askOn } from './connect.ts'
import { endPool, ONE_PLAN, openPostgres } from './open.ts'
import type { Ask } from './sql.ts'
import { withTimeout } from './with-timeout.ts'

/** `move` creates this table before it copies the first row, and drops it after the last. */
export const MOVE_MARK = 'unfinished_move'
export const HALF_MOVED =
  'The move into this database is not complete. Run the same prospect-pages move again, or empty the database.'
const READ_SERVER = `
  select current_setting('plan_cache_mode') as plans, to_regclass('${MOVE_MARK}') is not null as is_half_moved,
    current_database() || extract(epoch from pg_postmaster_start_time()) as identity`

type Server = { readonly plans: string; readonly isHalfMoved: boolean; readonly identity: string }
const READ_MS_MAX = 5_000

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
  const directServer = await readDirectServer(direct).catch(nameDirect)
  if (directServer?.plans !== ONE_PLAN.plan_cache_mode)
    return 'DATABASE_DIRECT_URL is a connection pooler. Set it to the address of PostgreSQL itself.'
  if (directServer.identity === found?.identity) return null
  return 'DATABASE_DIRECT_URL leads to another database than DATABASE_URL. Set it to the PostgreSQL behind that pooler.'
}

const readDirectServer = async (url: string): Promise<Server | undefined> => {
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
/** Rethrows an error of the direct connection, with the name of its setting. */
export const nameDirect = (error: Error): never => {
  const reason = (error.cause ?? error) as NodeJS.ErrnoException
  reason.message = `DATABASE_DIRECT_URL: ${reason.message || reason.code}`
  throw error
}

const isFromPooler = (error: unknown): boolean =>
  error instanceof Error && (/unsupported startup parameter/.test(error.message) || isFromPooler(error.cause))
