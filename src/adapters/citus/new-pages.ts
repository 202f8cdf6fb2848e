import type { NewPageRow } from '../../core/ports/pages.ts'
import { firstVersionRow, NEW_PAGE_COLUMNS, NEW_VERSION_COLUMNS, newPageRow } from '../stores/page-rows.ts'
import { COLUMNS, sortedBy } from '../stores/rows.ts'
import { columns, sql } from './sql.ts'

export const PAGES = columns('page', NEW_PAGE_COLUMNS)
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
