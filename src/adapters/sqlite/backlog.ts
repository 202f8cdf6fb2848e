import type { Timestamp } from '../../core/ports/world.ts'
import type { Database } from './open.ts'

/** How many versions are `processing`, up to a bound, and when the oldest of those counted was created. */
type Backlog = { readonly count: number; readonly oldest: Timestamp | null }

const BACKLOG = `
  select count(*) as count, min(created_at) as oldest from (
    select created_at from page_versions where status = 'processing' order by tenant_id, claimable_at limit ?
  )`

/** For the metrics: see postgres/backlog.ts. */
export const sqliteBacklog =
  (database: Database) =>
  async (countMax: number): Promise<Backlog> =>
    database.get<Backlog>(BACKLOG, countMax) ?? { count: 0, oldest: null }
