import type { Timestamp } from '../../core/ports/world.ts'
import type { Ask } from './connect.ts'

/** How many versions are `processing`, up to a bound, and when the oldest of those counted was created. */
type Backlog = { readonly count: number; readonly oldest: Timestamp | null }

/** For the metrics. It names no tenant, and reads at most `countMax` entries of the index of what waits. */
export const postgresBacklog =
  (ask: Ask) =>
  async (countMax: number): Promise<Backlog> => {
    const [backlog] = await ask(
      (sql) => sql<Backlog[]>`
        select count(*)::int as count, min(created_at) as oldest from (
          select created_at from page_versions where status = 'processing'
          order by tenant_id, claimable_at limit ${countMax}
        ) as waiting`,
    )
    return backlog ?? { count: 0, oldest: null }
  }
