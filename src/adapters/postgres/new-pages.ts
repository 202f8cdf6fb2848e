import type { PageGroupRead } from '../../core/ports/page-groups.ts'
import type { KnownPages, NewPageRow } from '../../core/ports/pages.ts'
import {
  COLUMNS,
  firstVersionRow,
  NEW_PAGE_COLUMNS,
  NEW_VERSION_COLUMNS,
  newPageRow,
} from '../stores/rows.ts'
import { sortedBy } from './by-tenant.ts'
import { type Query, sql } from './sql.ts'
import { columns, textArray } from './statements.ts'

const PAGES = columns('page', NEW_PAGE_COLUMNS)
const COUNTS = columns('added', COLUMNS.page_counts)
export const VERSIONS = columns('version', NEW_VERSION_COLUMNS)

/** The rows in the order in which they are locked. */
const rowsOf = (pages: readonly NewPageRow[]) => {
  const sorted = sortedBy(pages, 'tenantId', 'pageGroupId', 'idempotencyKey', 'pageId')
  const groups = Map.groupBy(sorted, ({ tenantId, pageGroupId }) => `${tenantId} ${pageGroupId}`)
  return {
    pages: sorted.map(newPageRow),
    versions: sorted.map(firstVersionRow),
    counts: [...groups.values()].map((its) => ({
      ...(its[0] as NewPageRow),
      pagesCount: its.length,
      changes: its.length,
    })),
  }
}

type Count = Parameters<typeof COUNTS.from>[0][number] & Pick<NewPageRow, 'tenantId' | 'pageGroupId'>

/**
 * The parts and the end of the statement that saves new pages. The count of a group that is no longer active is null,
 * which the table refuses: then nothing is saved.
 */
export const newPages = (created: readonly NewPageRow[], addedOf = addedTo) => {
  const { pages, versions, counts } = rowsOf(created)
  const parts = sql`
    counted as (
      insert into page_counts as c (${COUNTS.names})
      ${addedOf(counts)}
      on conflict (tenant_id, page_group_id)
        do update set pages_count = c.pages_count + excluded.pages_count, changes = c.changes + excluded.changes
    ), versioned as (
      insert into page_versions ${VERSIONS.into(versions)}
    )`
  return [[parts], sql`insert into pages ${PAGES.into(pages)}`] as const
}

const addedTo = (counts: readonly Count[]) => sql`
  select tenant_id, page_group_id, (
    select added.pages_count from page_groups g
    where g.tenant_id = added.tenant_id
      and (g.status || '/' || g.page_group_id) collate "C" = 'active/' || added.page_group_id
  ), changes
  from ${COUNTS.fromShortest(counts)}`

/** Citus refuses a subquery for each row. */
export const addedOnCluster = (counts: readonly Count[]) => sql`
  select tenant_id, page_group_id, case when tenant_id || page_group_id in (
    select g.tenant_id || g.page_group_id from page_groups g
    where g.tenant_id = any (${textArray(counts.map(({ tenantId }) => tenantId))}::text[])
      and (g.status || '/' || g.page_group_id) collate "C"
        = any (${textArray(counts.map(({ pageGroupId }) => `active/${pageGroupId}`))}::text[])
  ) then added.pages_count end, changes
  from ${COUNTS.from(counts)}`

/** Reads groups of any number of tenants on one machine by one statement. */
export const groupsTogether = (query: Query, [...groups]: readonly PageGroupRead[]) =>
  query(groups[0]?.tenantId)<KnownPages['groups'][number]>`
    select g.tenant_id, g.page_group_id, g.status, g.title, c.pages_count::int as pages_count
    from page_groups g
      left join page_counts c on c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id
    where g.tenant_id = any (${textArray(groups.map(({ tenantId }) => tenantId))}::text[])
      and (case when g.status <> 'deleted' then g.page_group_id end)
        = any (${textArray(groups.map(({ pageGroupId }) => pageGroupId))}::text[])`
