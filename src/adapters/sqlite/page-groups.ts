import type { PageGroups } from '../../core/ports/page-groups.ts'
import type { PageGroupRow } from '../rows.ts'
import { AFTER_ALL_IDS, COLUMNS, PAGE_GROUP_CHANGES, storedPageGroup, takeSlice } from '../rows.ts'
import { boundTo, type Database, insertInto } from './open.ts'

const GROUP = `
  select ${Object.keys(COLUMNS.page_groups).map((column) => `g.${column}`)}, c.pages_count
  from page_groups g
    join page_counts c on c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id`
const OLDER = 'and g.tenant_id = ? and g.page_group_id < ? order by g.page_group_id desc'
const LIST_OPEN = `${GROUP} where g.status <> 'deleted' ${OLDER}`
const LIST_BY_STATUS = `${GROUP} where g.status = ? ${OLDER}`
const FIND = `${GROUP} where g.page_group_id = ?`
const CHANGING = Object.keys(PAGE_GROUP_CHANGES)
const CHANGE = `
  update page_groups set (${CHANGING}) = (${CHANGING.map(() => '?')})
  where tenant_id = ? and page_group_id = ? and updated_at = ?
  returning page_group_id`

const insertGroup = insertInto('page_groups', COLUMNS.page_groups)
const insertCount = insertInto('page_counts', COLUMNS.page_counts)
const changedValues = boundTo(PAGE_GROUP_CHANGES)

export const sqlitePageGroups = (database: Database): PageGroups => ({
  list: async (wants) =>
    wants.map(({ tenantId, status, beforeId, limit }) => {
      const before = beforeId ?? AFTER_ALL_IDS
      const take = (rows: Iterable<PageGroupRow>) => takeSlice(rows, limit).map(storedPageGroup)
      return status === null
        ? database.from(take, LIST_OPEN, tenantId, before)
        : database.from(take, LIST_BY_STATUS, status, tenantId, before)
    }),

  find: async (pageGroupId) => {
    const row = database.get<PageGroupRow>(FIND, pageGroupId)
    return row === undefined ? null : storedPageGroup(row)
  },

  add: (group) =>
    database.write(() => {
      insertGroup(database, group)
      insertCount(database, group)
    }),

  change: async (group, lastUpdatedAt) => {
    const changed = await database.write(() =>
      database.has(CHANGE, ...changedValues(group), group.tenantId, group.pageGroupId, lastUpdatedAt),
    )
    return changed ? 'recorded' : 'overtaken'
  },
})
