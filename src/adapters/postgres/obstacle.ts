import type { Ask } from './connect.ts'
import { ONE_PLAN } from './open.ts'

/** `move` creates this table before it copies the first row, and drops it after the last. */
export const MOVE_MARK = 'unfinished_move'
const LOOK = `
  select current_setting('plan_cache_mode') as plans, to_regclass('${MOVE_MARK}') is not null as is_half_moved`

/**
 * Why the service refuses to use a database, with the remedy; or null. Some poolers refuse the parameters of a session,
 * others drop them. The look is not prepared: a pooler that is not known as one mixes prepared statements up.
 */
export const findObstacle = async (ask: Ask, isPooler: boolean): Promise<string | null> => {
  const look = ask((sql) => sql.unsafe<{ plans: string; isHalfMoved: boolean }[]>(LOOK))
  const [found] = await look.catch((error) => (isFromPooler(error) ? [] : Promise.reject(error)))
  if (!isPooler && found?.plans !== ONE_PLAN.plan_cache_mode)
    return 'DATABASE_URL is a connection pooler. Set DATABASE_POOLER=true.'
  if (!found?.isHalfMoved) return null
  return 'The move into this database is not complete. Run the same prospect-pages move again, or empty the database.'
}

const isFromPooler = (error: unknown): boolean =>
  error instanceof Error && (/unsupported startup parameter/.test(error.message) || isFromPooler(error.cause))
