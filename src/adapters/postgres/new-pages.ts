import type { NewPageRow } from '../../core/ports/pages.ts'
import { COLUMNS, NEW_PAGE_COLUMNS, newPageRow } from '../rows.ts'
import { sortedBy } from './by-tenant.ts'
import { joined, sql } from './sql.ts'
import { columns, textArray } from './statements.ts'

const PAGES = columns('page', NEW_PAGE_COLUMNS)
const NEW_PAGES = columns('page', { ...NEW_PAGE_COLUMNS, version_number: 'int' })
const COUNTS = columns('counted', COLUMNS.page_counts)
const VERSIONS = columns(
  'version',
  'tenant_id, page_id, version_id, page_group_id, version_number int, status, claimable_at timestamptz, created_at timestamptz',
)

/** The count of a group that is no longer active is null, which the table refuses: then nothing is saved. */
export const pagesFromArrays = (pages: readonly NewPageRow[]) => sql`
  with page as (
    select * from ${NEW_PAGES.from(pages.map(newPageRow))}
  ), counted as (
    insert into page_counts as c (tenant_id, page_group_id, pages_count)
    select tenant_id, page_group_id, (
      select added.pages_count from page_groups g
      where g.tenant_id = added.tenant_id
        and (g.status || '/' || g.page_group_id) collate "C" = 'active/' || added.page_group_id
    )
    from (select tenant_id, page_group_id, count(*) as pages_count from page group by 1, 2) as added
    order by tenant_id, page_group_id
    on conflict (tenant_id, page_group_id) do update set pages_count = c.pages_count + excluded.pages_count
  ), versioned as (
    insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, status,
      claimable_at, created_at)
    select tenant_id, page_id, latest_version_id, page_group_id, version_number, 'processing', created_at,
      created_at
    from page
  )
  insert into pages (${PAGES.names}) select ${PAGES.names} from page
  order by tenant_id, page_group_id, idempotency_key, page_id`

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
