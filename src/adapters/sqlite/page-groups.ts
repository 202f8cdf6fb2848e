import type { PageGroups } from '../../core/ports/page-groups.ts'
import { AFTER_ALL_IDS, PAGE_GROUP_COLUMNS, type PageGroupRow, storedPageGroup, takeSlice } from '../rows.ts'
import { boundTo, insertInto } from './insert.ts'
import type { Database } from './open.ts'

const COLUMNS = Object.keys(PAGE_GROUP_COLUMNS)
const CHANGING = COLUMNS.filter((column) => column !== 'tenant_id' && column !== 'page_group_id')
const GROUP = `
  select ${COLUMNS.map((column) => `g.${column}`)}, c.pages_count
  from page_groups g
    join page_counts c on c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id`
const LIST_OPEN = `${GROUP}
  where g.tenant_id = ? and g.status <> 'deleted' and g.page_group_id < ?
  order by g.page_group_id desc`
const LIST_BY_STATUS = `${GROUP}
  where g.tenant_id = ? and g.status = ? and g.page_group_id < ?
  order by g.page_group_id desc`
const FIND = `${GROUP} where g.page_group_id = ?`
const ADD = insertInto('page_groups', PAGE_GROUP_COLUMNS)
const ADD_COUNT = 'insert into page_counts (tenant_id, page_group_id, pages_count) values (?, ?, ?)'
const CHANGE = `
  update page_groups set (${CHANGING}) = (${CHANGING.map(() => '?')})
  where tenant_id = ? and page_group_id = ? and updated_at = ?
  returning page_group_id`

const changedValues = boundTo(CHANGING)

export const sqlitePageGroups = (database: Database): PageGroups => ({
  list: async (wants) =>
    wants.map(({ tenantId, status, beforeId, limit }) => {
      const before = beforeId ?? AFTER_ALL_IDS
      const take = (rows: Iterable<PageGroupRow>) => takeSlice(rows, limit).map(storedPageGroup)
      return status === null
        ? database.from(take, LIST_OPEN, tenantId, before)
        : database.from(take, LIST_BY_STATUS, tenantId, status, before)
    }),

  find: async (pageGroupId) => {
    const row = database.get<PageGroupRow>(FIND, pageGroupId)
    return row === undefined ? null : storedPageGroup(row)
  },

  add: async (group) =>
    database.write(() => {
      database.run(ADD.sql, ...ADD.values(group))
      database.run(ADD_COUNT, group.tenantId, group.pageGroupId, group.pagesCount)
    }),

  change: async (group, lastUpdatedAt) => {
    const changed = await database.write(() =>
      database.get(CHANGE, ...changedValues(group), group.tenantId, group.pageGroupId, lastUpdatedAt),
    )
    return changed === undefined ? 'overtaken' : 'recorded'
  },
})
