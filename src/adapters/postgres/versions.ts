import type { ClaimedVersion, NamingContext, Versions } from '../../core/ports/versions.ts'
import { type Backlog, settledRow } from '../rows.ts'
import { claimFrom } from './claim.ts'
import { nothing, type Query, sql } from './sql.ts'
import { columns } from './statements.ts'

const DONE = columns(
  'done',
  `tenant_id, page_id, version_id, attempt int, status, published_at timestamptz, computed_name,
    failure_reason, claimable_at timestamptz, uncounted int`,
)

const QUEUE = {
  table: sql`page_versions v`,
  key: sql`v.tenant_id, v.page_id, v.version_id`,
  isClaimed: sql`v.page_id = claimed.page_id and v.version_id = claimed.version_id`,
  answered: sql`v.tenant_id, v.page_id, v.version_id, v.page_group_id`,
}

export const postgresVersions = (query: Query, isCluster: boolean): Versions => ({
  claim: claimFrom<ClaimedVersion>(query, isCluster, QUEUE),

  context: async ({ tenantId, pageGroupId, pageId }) => {
    const [context] = await query(tenantId)<NamingContext>`
      select g.title as group_title, g.page_context, p.supplementary_context
      from pages p join page_groups g on g.tenant_id = ${tenantId} and g.page_group_id = p.page_group_id
      where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id = ${pageId}`
    return context ?? null
  },

  settle: async (tenantId, settlements) => {
    const rows = settlements.map((done) => settledRow(tenantId, done))
    const settled = await query(tenantId)<{ versionId: string }>`
      with settled as (
        update page_versions v set status = done.status, published_at = done.published_at,
          failure_reason = done.failure_reason, claimable_at = coalesce(done.claimable_at, v.claimable_at),
          attempts = v.attempts - done.uncounted
        from ${DONE.from(rows)}
        where v.tenant_id = done.tenant_id and v.page_id = done.page_id and v.version_id = done.version_id
          and v.status not in ('published', 'failed') and v.attempts = done.attempt
          ${isCluster ? sql`and v.tenant_id = ${tenantId}` : nothing}
        returning v.tenant_id, v.page_group_id, v.page_id, v.version_id, v.status, done.published_at,
          done.computed_name
      ), published as (
        update pages p set published_version_id = settled.version_id, updated_at = settled.published_at,
          computed_name = coalesce(settled.computed_name, p.computed_name)
        from settled
        where p.tenant_id = settled.tenant_id and p.page_group_id = settled.page_group_id
          and p.page_id = settled.page_id and settled.status = 'published'
          ${isCluster ? sql`and p.tenant_id = ${tenantId}` : nothing}
      )
      select version_id from settled`
    return settled.map(({ versionId }) => versionId)
  },
})

/** For the metrics. It names no tenant, and reads at most `countMax` entries of the index of what waits. */
export const postgresBacklog =
  (query: Query) =>
  async (countMax: number): Promise<Backlog> => {
    const [backlog] = await query()<Backlog>`
      select count(*)::int as count, min(created_at) as oldest from (
        select created_at from page_versions where status = 'processing'
        order by tenant_id, claimable_at limit ${countMax}
      ) as waiting`
    return backlog ?? { count: 0, oldest: null }
  }
