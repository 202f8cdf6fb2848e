import type { NewPageRow } from '../../core/ports/pages.ts'
import {
  COLUMNS,
  firstVersionRow,
  NEW_PAGE_COLUMNS,
  NEW_VERSION_COLUMNS,
  newPageRow,
} from '../stores/rows.ts'
import { sortedBy } from './by-tenant.ts'
import { type Fragment, joined, sql } from './sql.ts'
import { columns, textArray } from './statements.ts'

const PAGES = columns('page', NEW_PAGE_COLUMNS)
const COUNTS = columns('added', COLUMNS.page_counts)
export const VERSIONS = columns('version', NEW_VERSION_COLUMNS)

const COUNT_UP = sql`
  on conflict (tenant_id, page_group_id)
    do update set pages_count = c.pages_count + excluded.pages_count, changes = c.changes + excluded.changes`

/** In the order in which rows are locked. */
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

type Write = { readonly parts: readonly Fragment[]; readonly done: Fragment }

/** The count of a group that is no longer active is null, which the table refuses: then nothing is saved. */
export const pagesFromArrays = (created: readonly NewPageRow[]): Write => {
  const { pages, versions, counts } = rowsOf(created)
  const parts = sql`
    counted as (
      insert into page_counts as c (${COUNTS.names})
      select tenant_id, page_group_id, (
        select added.pages_count from page_groups g
        where g.tenant_id = added.tenant_id
          and (g.status || '/' || g.page_group_id) collate "C" = 'active/' || added.page_group_id
      ), changes
      from ${COUNTS.fromShortest(counts)} ${COUNT_UP}
    ), versioned as (
      insert into page_versions ${VERSIONS.into(versions)}
    )`
  return { parts: [parts], done: sql`insert into pages ${PAGES.into(pages)}` }
}

/**
 * Pages as Citus inserts them: a table after the other. If a group of a tenant is no longer active, the count of those
 * that are is divided by zero: then nothing is saved.
 */
export const pagesOnCluster = (created: readonly NewPageRow[]): Write => {
  const { pages, versions, counts } = rowsOf(created)
  const checks = [...Map.groupBy(counts, ({ tenantId }) => tenantId)].map(
    ([tenantId, its]) => sql`
      select count(*) / (count(*) = ${its.length}::int)::int as active from page_groups g
      where g.tenant_id = ${tenantId} and (g.status || '/' || g.page_group_id) collate "C"
        = any (${textArray(its.map(({ pageGroupId }) => `active/${pageGroupId}`))}::text[])`,
  )
  const parts = sql`
    added as (
      insert into pages ${PAGES.values(pages)}
    ), versioned as (
      insert into page_versions ${VERSIONS.values(versions)}
    ), counted as (
      insert into page_counts as c ${COUNTS.values(counts)} ${COUNT_UP}
    )`
  return { parts: [parts], done: joined([...checks, sql`select 1`], sql` union all `) }
}
