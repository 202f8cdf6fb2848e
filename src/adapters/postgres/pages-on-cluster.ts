import type { NewPageRow } from '../../core/ports/pages.ts'
import { COLUMNS, NEW_PAGE_COLUMNS, newPageRow } from '../rows.ts'
import { sortedBy } from './by-tenant.ts'
import { joined, sql } from './sql.ts'
import { columns, textArray } from './statements.ts'

const PAGES = columns('page', NEW_PAGE_COLUMNS)
const COUNTS = columns('counted', COLUMNS.page_counts)
const VERSIONS = columns(
  'version',
  'tenant_id, page_id, version_id, page_group_id, version_number int, status, claimable_at timestamptz, created_at timestamptz',
)

/**
 * Pages as Citus inserts them: a table after the other. If a group of a tenant is no longer active, the count of those
 * that are is divided by zero: then nothing is saved.
 */
export const pagesOnCluster = (pages: readonly NewPageRow[]) => {
  const sorted = sortedBy(pages, 'tenantId', 'pageGroupId', 'idempotencyKey', 'pageId')
  const groups = Map.groupBy(sorted, ({ tenantId, pageGroupId }) => `${tenantId} ${pageGroupId}`)
  const counts = [...groups.values()].map((its) => ({ ...(its[0] as NewPageRow), pagesCount: its.length }))
  const versions = sorted.map((page) => ({ ...page, status: 'processing', claimableAt: page.createdAt }))
  const checks = [...Map.groupBy(counts, ({ tenantId }) => tenantId)].map(
    ([tenantId, its]) => sql`
      select count(*) / (count(*) = ${its.length}::int)::int as active from page_groups g
      where g.tenant_id = ${tenantId} and (g.status || '/' || g.page_group_id) collate "C"
        = any (${textArray(its.map(({ pageGroupId }) => `active/${pageGroupId}`))}::text[])`,
  )
  return sql`
    with added as (
      insert into pages ${PAGES.values(sorted.map(newPageRow))}
    ), versioned as (
      insert into page_versions ${VERSIONS.values(versions)}
    ), counted as (
      insert into page_counts as c ${COUNTS.values(counts)}
      on conflict (tenant_id, page_group_id) do update set pages_count = c.pages_count + excluded.pages_count
    )
    ${joined(checks, sql` union all `)}`
}
