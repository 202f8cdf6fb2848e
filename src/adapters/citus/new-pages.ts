import { NEW_PAGE_COLUMNS, NEW_VERSION_COLUMNS } from '../stores/page-rows.ts'
import { COLUMNS } from '../stores/rows.ts'
import { columns, sql } from './sql.ts'

export const PAGES = columns('page', NEW_PAGE_COLUMNS)
export const COUNTS = columns('added', COLUMNS.page_counts)
export const VERSIONS = columns('version', NEW_VERSION_COLUMNS)

export const COUNT_UP = sql`
  on conflict (tenant_id, page_group_id)
    do update set pages_count = c.pages_count + excluded.pages_count, changes = c.changes + excluded.changes`
