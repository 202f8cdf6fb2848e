import type { PageGroups, PageGroupsWant, StoredPageGroup } from '../../core/ports.ts'
import type { RawJson } from '../../shapes/json.ts'
import { plainArray, textArray } from './arrays.ts'
import { byTenant } from './by-tenant.ts'
import type { Ask, Sql } from './connect.ts'

type PageGroupRow = Omit<StoredPageGroup, 'actions' | 'footerLinks' | 'scripts'> & {
  readonly actions: string
  readonly footerLinks: string
  readonly scripts: string
}
type ListedRow = PageGroupRow & { readonly want: number }

export const postgresPageGroups = (ask: Ask): PageGroups => ({
  list: async (wants) => {
    const rows = await byTenant(wants, async (tenantId, its) => {
      const { open = [], filtered = [] } = Object.groupBy(its, ({ status }) =>
        status === null ? 'open' : 'filtered',
      )
      const [openRows, filteredRows] = await Promise.all([
        open.length > 0 ? ask((sql) => listOpen(sql, tenantId, open)) : [],
        filtered.length > 0 ? ask((sql) => listFiltered(sql, tenantId, filtered)) : [],
      ])
      return [...openRows, ...filteredRows]
    })
    const lists: StoredPageGroup[][] = wants.map(() => [])
    for (const { want, ...row } of rows) lists[want]?.push(stored(row))
    return lists
  },

  find: async (pageGroupId) => {
    const [row] = await ask(
      (sql) => sql<PageGroupRow[]>`
        select ${columns(sql)}
        from page_groups g
        where g.page_group_id = ${pageGroupId}`,
    )
    return row === undefined ? null : stored(row)
  },

  add: async (group) => {
    await ask(
      (sql) => sql`
        with counted as (
          insert into page_counts (tenant_id, page_group_id, pages_count)
          values (${group.tenantId}, ${group.pageGroupId}, ${group.pagesCount})
        )
        insert into page_groups (tenant_id, page_group_id, brand_id, name, title, page_context, status, actions,
          footer_links, scripts, header_action_id, created_at, updated_at, deleted_at)
        values (${group.tenantId}, ${group.pageGroupId}, ${group.brandId}, ${group.name}, ${group.title},
          ${group.pageContext}, ${group.status}, ${group.actions.rawJson}::text::json,
          ${group.footerLinks.rawJson}::text::json, ${group.scripts.rawJson}::text::json, ${group.headerActionId},
          ${group.createdAt}, ${group.updatedAt}, ${group.deletedAt})`,
    )
  },

  change: async (group, lastUpdatedAt) => {
    const changed = await ask(
      (sql) => sql`
        update page_groups set brand_id = ${group.brandId}, name = ${group.name}, title = ${group.title},
          page_context = ${group.pageContext}, status = ${group.status},
          actions = ${group.actions.rawJson}::text::json, footer_links = ${group.footerLinks.rawJson}::text::json,
          scripts = ${group.scripts.rawJson}::text::json, header_action_id = ${group.headerActionId},
          updated_at = ${group.updatedAt}, deleted_at = ${group.deletedAt}
        where tenant_id = ${group.tenantId} and page_group_id = ${group.pageGroupId}
          and updated_at = ${lastUpdatedAt}
        returning page_group_id`,
    )
    return changed.length === 1 ? 'recorded' : 'overtaken'
  },
})

type NumberedWant = PageGroupsWant & { readonly number: number }

// Two statements, because each walks an index of its own, by the text that the index holds.
const listOpen = (sql: Sql, tenantId: string, wants: readonly NumberedWant[]) => sql<ListedRow[]>`
  select want.number as want, ${columns(sql)}
  from ${numbered(sql, wants)}
    cross join lateral (
      select * from page_groups g
      where g.tenant_id = ${tenantId}
        and (case when g.status <> 'deleted' then g.page_group_id end) < want.before_id
      order by (case when g.status <> 'deleted' then g.page_group_id end) desc limit want.rows_max
    ) g
  order by want.number, g.page_group_id desc`

const listFiltered = (sql: Sql, tenantId: string, wants: readonly NumberedWant[]) => sql<ListedRow[]>`
  select want.number as want, ${columns(sql)}
  from ${numbered(sql, wants)}
    cross join lateral (
      select * from page_groups g
      where g.tenant_id = ${tenantId}
        and (g.status || '/' || g.page_group_id) collate "C" < want.status || '/' || want.before_id
        and (g.status || '/' || g.page_group_id) collate "C" > want.status || '/'
      order by (g.status || '/' || g.page_group_id) collate "C" desc limit want.rows_max
    ) g
  order by want.number, g.page_group_id desc`

const numbered = (sql: Sql, wants: readonly NumberedWant[]) => sql`
  unnest(${plainArray(wants.map((want) => want.number))}::int[],
    ${textArray(wants.map((want) => want.status))}::text[],
    ${textArray(wants.map((want) => want.beforeId ?? AFTER_ALL_IDS))}::text[],
    ${plainArray(wants.map((want) => want.rowsMax))}::int[])
    as want (number, status, before_id, rows_max)`

/** Greater than every id: ids are of lower-case letters, digits and underscores. */
const AFTER_ALL_IDS = '~'

const columns = (sql: Sql) => sql`
  g.tenant_id, g.page_group_id, g.brand_id, g.name, g.title, g.page_context, g.status,
  ${pagesCount(sql)}, g.actions::text as actions, g.footer_links::text as footer_links,
  g.scripts::text as scripts, g.header_action_id, g.created_at, g.updated_at, g.deleted_at`

// A look-up for each row, which no planner turns into a walk over all the counts, as it does with a join.
const pagesCount = (sql: Sql) => sql`
  (select c.pages_count::int from page_counts c
    where c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id) as pages_count`

const stored = (row: PageGroupRow): StoredPageGroup => ({
  ...row,
  actions: raw(row.actions),
  footerLinks: raw(row.footerLinks),
  scripts: raw(row.scripts),
})
const raw = (rawJson: string): RawJson => ({ rawJson })
