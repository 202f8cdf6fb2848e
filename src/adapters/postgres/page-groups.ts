import type { PageGroups } from '../../core/ports/page-groups.ts'
import { SLICE_BYTES_MAX } from '../../core/slices.ts'
import { COLUMNS, PAGE_GROUP_CHANGES, type PageGroupRow, storedPageGroup } from '../rows.ts'
import type { Ask } from './connect.ts'
import { fixed, type Sql } from './open.ts'
import { columns, listsByTenant } from './statements.ts'

type ListedRow = PageGroupRow & { readonly want: number }

const GROUPS = columns('g', COLUMNS.page_groups)
const COUNTS = columns('c', COLUMNS.page_counts)
const CHANGES = columns('g', PAGE_GROUP_CHANGES)
const WANTS = columns('want', 'number int, status, before_id, rows_max int')

export const postgresPageGroups = (ask: Ask): PageGroups => ({
  list: async (wants) => {
    const lists = await listsByTenant(wants, async (tenantId, its) => {
      const groups = [...Map.groupBy(its, ({ status }) => (status === null ? open : filtered))]
      const asked = groups.map(([newest, some]) =>
        ask((sql) => listed(sql, tenantId, some, newest), tenantId),
      )
      return (await Promise.all(asked)).flat()
    })
    return lists.map((list) => list?.map(({ want, ...row }) => storedPageGroup(row)) ?? [])
  },

  find: async (pageGroupId) => {
    const [row] = await ask(
      (sql) => sql<PageGroupRow[]>`
        select ${GROUPS.selected(sql)}, ${pagesCount(sql)}
        from page_groups g
        where g.page_group_id = ${pageGroupId}`,
    )
    return row === undefined ? null : storedPageGroup(row)
  },

  add: async (group) => {
    await ask(
      (sql) => sql`
        with counted as (insert into page_counts ${COUNTS.values(sql, [group])})
        insert into page_groups ${GROUPS.values(sql, [group])}`,
      group.tenantId,
    )
  },

  change: async (group, lastUpdatedAt) => {
    const changed = await ask(
      (sql) => sql`
        update page_groups set (${CHANGES.names(sql)}) = (select * from ${CHANGES.from(sql, [group])})
        where tenant_id = ${group.tenantId} and page_group_id = ${group.pageGroupId}
          and updated_at = ${lastUpdatedAt}
        returning page_group_id`,
      group.tenantId,
    )
    return changed.length === 1 ? 'recorded' : 'overtaken'
  },
})

// Two statements, because each walks its own index, by the expression that the index holds.
const open = fixed(
  (sql) => sql`
  and (case when g.status <> 'deleted' then g.page_group_id end) < want.before_id
  order by (case when g.status <> 'deleted' then g.page_group_id end) desc`,
)

const filtered = fixed(
  (sql) => sql`
  and (g.status || '/' || g.page_group_id) collate "C" < want.status || '/' || want.before_id
  and (g.status || '/' || g.page_group_id) collate "C" > want.status || '/'
  order by (g.status || '/' || g.page_group_id) collate "C" desc`,
)

/** The rows of each want, until they fill a slice. */
const listed = (sql: Sql, tenantId: string, wants: object[], newest: typeof open) => sql<ListedRow[]>`
  select want.number as want, ${GROUPS.selected(sql)}, ${pagesCount(sql, tenantId)}
  from ${WANTS.from(sql, wants)}
    cross join lateral (
      select g.*, sum(
        coalesce(octet_length(g.page_context), 0) + octet_length(g.actions) + octet_length(g.footer_links)
          + octet_length(g.scripts)
      ) over (
        order by g.page_group_id desc rows between unbounded preceding and 2 preceding
      ) as bytes_before
      from (
        select ${GROUPS.selected(sql)} from page_groups g
        where g.tenant_id = ${tenantId} ${newest(sql)} limit want.rows_max
      ) g
    ) g
  where coalesce(g.bytes_before, 0) <= ${SLICE_BYTES_MAX}
  order by want.number, g.page_group_id desc`

// A look-up for each row, which no planner turns into a walk over all the counts, as it does with a join.
export const pagesCount = (sql: Sql, tenantId: string | null = null) => sql`
  (select c.pages_count::int from page_counts c
    where c.tenant_id = ${tenantId ?? tenantOfGroup(sql)} and c.page_group_id = g.page_group_id) as pages_count`
const tenantOfGroup = fixed((sql) => sql`g.tenant_id`)
