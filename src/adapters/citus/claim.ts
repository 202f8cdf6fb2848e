import type { Backlog } from '../../core/ports/world.ts'
import { type Fragment, type Query, sql } from './sql.ts'

/** A table `v` whose rows are processed, and the parts of a statement that name its columns. */
export type Queue = Readonly<Record<'table' | 'key' | 'isClaimed' | 'answered', Fragment>> & {
  /** Whether a tenant is held: none of its rows are claimed. */
  readonly isHeld?: (tenantId: Fragment) => Fragment
}
export const COUNTED = sql`attempts = v.attempts + 1`
export const ATTEMPT = sql`v.attempts as attempt`
const NEVER = (_: Fragment) => sql`false`

/** The backlog for the metrics. It names no tenant, and reads at most `countMax` entries of the index of waiting rows. */
export const backlogOf =
  (query: Query, since: Fragment, waiting: Fragment, isHeld = NEVER) =>
  async (countMax: number) => {
    const [backlog] = await query()<Backlog>`
    select count(*)::int as count, min(since) as oldest
    from (select tenant_id, ${since} as since from ${waiting} limit ${countMax}) as waiting
    where not ${isHeld(sql`waiting.tenant_id`)}`
    return backlog ?? { count: 0, oldest: null }
  }

/** Recursive `each (id)`: the values of a column after a given one, each found by the index of these rows; then null. */
export const eachAlong = (column: Fragment, rows: Fragment, after: string) => sql`
  each (id) as (
    (select ${column} from ${rows} and ${column} > ${after} order by ${column} limit 1)
    union all
    select (select ${column} from ${rows} and ${column} > each.id order by ${column} limit 1)
    from each where each.id is not null
  )`
