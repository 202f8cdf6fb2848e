import type { PageGroups, StoredPageGroup } from '../../core/ports.ts'
import type { Database } from './open.ts'

type PageGroupRow = Omit<StoredPageGroup, 'actions' | 'footerLinks' | 'scripts'> & {
  readonly actions: string
  readonly footerLinks: string
  readonly scripts: string
}

const GROUP = `
  select g.tenant_id, g.page_group_id, g.brand_id, g.name, g.title, g.page_context, g.status, c.pages_count,
    g.actions, g.footer_links, g.scripts, g.header_action_id, g.created_at, g.updated_at, g.deleted_at
  from page_groups g
    join page_counts c on c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id`
const LIST_OPEN = `${GROUP}
  where g.tenant_id = ? and g.status <> 'deleted' and g.page_group_id < ?
  order by g.page_group_id desc limit ?`
const LIST_BY_STATUS = `${GROUP}
  where g.tenant_id = ? and g.status = ? and g.page_group_id < ?
  order by g.page_group_id desc limit ?`
const FIND = `${GROUP} where g.page_group_id = ?`
const ADD = `
  insert into page_groups (tenant_id, page_group_id, brand_id, name, title, page_context, status, actions,
    footer_links, scripts, header_action_id, created_at, updated_at, deleted_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const ADD_COUNT = 'insert into page_counts (tenant_id, page_group_id, pages_count) values (?, ?, ?)'
const CHANGE = `
  update page_groups set brand_id = ?, name = ?, title = ?, page_context = ?, status = ?, actions = ?,
    footer_links = ?, scripts = ?, header_action_id = ?, updated_at = ?, deleted_at = ?
  where tenant_id = ? and page_group_id = ? and updated_at = ?
  returning page_group_id`

/** Greater than every id: ids are of lower-case letters, digits and underscores. */
export const AFTER_ALL_IDS = '~'

export const sqlitePageGroups = (database: Database): PageGroups => ({
  list: async (wants) =>
    wants.map(({ tenantId, status, beforeId, rowsMax }) => {
      const before = beforeId ?? AFTER_ALL_IDS
      const rows =
        status === null
          ? database.all<PageGroupRow>(LIST_OPEN, tenantId, before, rowsMax)
          : database.all<PageGroupRow>(LIST_BY_STATUS, tenantId, status, before, rowsMax)
      return rows.map(stored)
    }),

  find: async (pageGroupId) => {
    const row = database.get<PageGroupRow>(FIND, pageGroupId)
    return row === undefined ? null : stored(row)
  },

  add: async (group) =>
    database.write(() => {
      database.run(
        ADD,
        group.tenantId,
        group.pageGroupId,
        group.brandId,
        group.name,
        group.title,
        group.pageContext,
        group.status,
        group.actions.rawJson,
        group.footerLinks.rawJson,
        group.scripts.rawJson,
        group.headerActionId,
        group.createdAt,
        group.updatedAt,
        group.deletedAt,
      )
      database.run(ADD_COUNT, group.tenantId, group.pageGroupId, group.pagesCount)
    }),

  change: async (group, lastUpdatedAt) => {
    const changed = await database.write(() =>
      database.get(
        CHANGE,
        group.brandId,
        group.name,
        group.title,
        group.pageContext,
        group.status,
        group.actions.rawJson,
        group.footerLinks.rawJson,
        group.scripts.rawJson,
        group.headerActionId,
        group.updatedAt,
        group.deletedAt,
        group.tenantId,
        group.pageGroupId,
        lastUpdatedAt,
      ),
    )
    return changed === undefined ? 'overtaken' : 'recorded'
  },
})

const stored = (row: PageGroupRow): StoredPageGroup => ({
  ...row,
  actions: { rawJson: row.actions },
  footerLinks: { rawJson: row.footerLinks },
  scripts: { rawJson: row.scripts },
})
