import { type NoWrites, takesNoWrites } from '../../core/engine/obstacles.ts'
import { refusedWrites, sqlStateOf } from './error-codes.ts'
import { findHiddenTables } from './obstacle.ts'
import { findMissingPrivileges } from './privileges.ts'
import type { Ask } from './sql.ts'

/**
 * A commit that waits for a synchronous standby is answered only once that is back, whatever the limits of its statement
 * are. Its session stays when the client has given up.
 */
const FIND_REASON = `
  select case when pg_is_in_recovery() then 'standby' when current_setting('transaction_read_only') = 'on' then 'read_only'
    when exists (
      select 1 from pg_stat_activity
      where usename = current_user and wait_event = 'SyncRep' and query_start < now() - interval '3 s'
    ) then 'no_standby'
    end as reason`
/** Needs as much room as a large body, four megabytes, and ends with a cast that fails, so that nothing is kept. */
const TAKE_ROOM = `
  with added as (
    insert into usage_counts (tenant_id, at, api_key_id, requests, activities, bytes)
    select 'room', now(), n || repeat(md5(n::text), 56), 0, 0, 0 from generate_series(1, 1000) n returning 1
  ) select cast(count(*) || ' rows' as int) from added`

/** Why PostgreSQL takes no writes, or null. Only `thoroughly` shows missing privileges and a full disk: it tries a write. */
export const findNoWrites = async (ask: Ask, thoroughly: boolean): Promise<NoWrites | null> => {
  const [found] = await ask((sql) => sql.unsafe<{ reason: NoWrites | null }[]>(FIND_REASON))
  if (found?.reason || !thoroughly) return found?.reason ?? null
  if ((await findMissingPrivileges(ask)) !== null) return 'no_privilege'
  if ((await findHiddenTables(ask)) !== null) return 'row_security'
  const isFull = (error: Error) => [error, error.cause].some((cause) => sqlStateOf(cause) === '53100')
  return ask((sql) => sql.unsafe(TAKE_ROOM)).then(
    () => null,
    (error) => (isFull(error) ? 'disk_full' : null),
  )
}

/** Refuses while the database takes no writes. It looks thoroughly only after a write was refused: reads still work. */
export const refuserOfNoWrites = (ask: Ask) => {
  let seen = refusedWrites.count
  return async (): Promise<void> => {
    const { count } = refusedWrites
    const reason = await findNoWrites(ask, count !== seen)
    if (reason === null) {
      seen = count
      return
    }
    // A session that began as read-only stays so: a write that it refuses ends its connection.
    await ask((sql) => sql.unsafe(TAKE_ROOM)).catch(() => {})
    throw takesNoWrites(reason)
  }
}
