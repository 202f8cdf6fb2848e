import type { PageGroups } from '../../core/ports/page-groups.ts'
import { COLUMNS, PAGE_GROUP_CHANGES, type PageGroupRow, storedPageGroup } from '../rows.ts'
import { BEFORE_ID, type Database, insertInto, valuesFor } from './open.ts'

const GROUP = `
  select ${Object.keys(COLUMNS.page_groups).map((column) => `g.${column}`)}, c.pages_count
  from page_groups g
    join page_counts c on c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id`
const OLDER = `and g.tenant_id = :tenantId and g.page_group_id < ${BEFORE_ID} order by g.page_group_id desc`
const LIST_OPEN = `${GROUP} where g.status <> 'deleted' ${OLDER}`
const LIST_BY_STATUS = `${GROUP} where g.status = :status ${OLDER}`
const FIND = `${GROUP} where g.page_group_id = :pageGroupId`
const ADD = insertInto('page_groups', COLUMNS.page_groups)
const ADD_COUNT = insertInto('page_counts', COLUMNS.page_counts)
const CHANGING = Object.keys(PAGE_GROUP_CHANGES)
const CHANGE = `
  update page_groups set (${CHANGING}) = (${valuesFor(CHANGING)})
  where tenant_id = :tenantId and page_group_id = :pageGroupId and updated_at = :lastUpdatedAt`

export const sqlitePageGroups = (database: Database): PageGroups => ({
  list: async (wants) =>
    wants.map((want) => {
      const list = want.status === null ? LIST_OPEN : LIST_BY_STATUS
      return database.slice<PageGroupRow>(list, want).map(storedPageGroup)
    }),

  find: async (pageGroupId) => {
    const row = database.get<PageGroupRow>(FIND, { pageGroupId })
    return row && storedPageGroup(row)
  },

  add: (group) =>
    database.write(() => {
      database.run(ADD, group)
      database.run(ADD_COUNT, group)
    }),

  change: async (group, lastUpdatedAt) => {
    const changed = await database.write(() => database.run(CHANGE, { ...group, lastUpdatedAt }))
    return changed === 1 ? 'recorded' : 'overtaken'
  },
})
