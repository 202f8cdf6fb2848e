import type { NewPageRow } from '../../core/ports/pages.ts'
import { firstVersionRow, NEW_PAGE_COLUMNS, NEW_VERSION_COLUMNS, newPageRow } from '../stores/page-rows.ts'
import { COLUMNS, sortedBy } from '../stores/rows.ts'
import { columns, sql } from './sql.ts'

export const PAGES = columns('page', NEW_PAGE_COLUMNS)
/** With the number of pages after each in its group. */
const NEW_PAGES = columns('page', { ...NEW_PAGE_COLUMNS, after: 'int' })
const NUMBERED = sql([
  Object.keys(NEW_PAGE_COLUMNS)
    .map((name) =>
      name === 'page_number'
        ? 'coalesce(page.page_number, counted.pages_count - page.after)'
        : `page.${name}`,
    )
    .join(', '),
])
export const COUNTS = columns('added', COLUMNS.page_counts)
export const VERSIONS = columns('version', NEW_VERSION_COLUMNS)

export const COUNT_UP = sql`
  on conflict (tenant_id, page_group_id)
    do update set pages_count = c.pages_count + excluded.pages_count, changes = c.changes + excluded.changes`

/** The rows in the order in which they are locked. */
export const newPageRows = (pages: readonly NewPageRow[]) => {
  const sorted = sortedBy(pages, 'tenantId', 'pageGroupId', 'idempotencyKey', 'pageId')
  const groups = Map.groupBy(sorted, ({ tenantId, pageGroupId }) => `${tenantId} ${pageGroupId}`)
  const numbered = (its: readonly NewPageRow[]) =>
    its.map((page, i) => ({ ...newPageRow(page), after: its.length - 1 - i }))
  return {
    pages: [...groups.values()].flatMap(numbered),
    versions: sorted.map(firstVersionRow),
    counts: [...groups.values()].map((its) => ({
      ...(its[0] as NewPageRow),
      pagesCount: its.length,
      changes: its.length,
    })),
  }
}

/** The count of a group that is no longer active is null, which the table refuses: then nothing is saved. */
export const newPages = (created: readonly NewPageRow[]) => {
  const { pages, versions, counts } = newPageRows(created)
  const parts = sql`
    counted as (
      insert into page_counts as c (${COUNTS.names})
      select tenant_id, page_group_id, (
        select added.pages_count from page_groups g
        where g.tenant_id = added.tenant_id
          and (g.status || '/' || g.page_group_id) collate "C" = 'active/' || added.page_group_id
      ), changes
      from ${COUNTS.fromShortest(counts)} ${COUNT_UP}
      returning c.tenant_id, c.page_group_id, c.pages_count
    ), versioned as (
      insert into page_versions ${VERSIONS.into(versions)}
    ), added as (
      insert into pages (${PAGES.names})
      select ${NUMBERED} from ${NEW_PAGES.fromShortest(pages)}
        join counted on counted.tenant_id = page.tenant_id and counted.page_group_id = page.page_group_id
    )`
  return { parts }
}
