import type { PageGroups } from '../../core/ports/page-groups.ts'
import { COLUMNS, PAGE_GROUP_CHANGES, type PageGroupRow, storedPageGroup } from '../rows.ts'
import { slicesByTenant } from './by-tenant.ts'
import type { Ask } from './connect.ts'
import { fixed, type Sql } from './open.ts'
import { columns } from './statements.ts'
import { slice } from './walk.ts'

type ListedRow = PageGroupRow & { readonly want: number }

const GROUPS = columns('l', COLUMNS.page_groups)
const COUNTS = columns('c', COLUMNS.page_counts)
const CHANGES = columns('g', PAGE_GROUP_CHANGES)
const WANTS = columns('want', 'number int, status, before_id, rows_max int')

export const postgresPageGroups = (ask: Ask): PageGroups => ({
  list: async (wants) => {
    const lists = await slicesByTenant(wants, async (tenantId, its) => {
      const groups = [...Map.groupBy(its, ({ status }) => (status === null ? open : filtered))]
      const asked = groups.map(([along, some]) => {
        const rows = (sql: Sql) => sql`
          select ${GROUPS.selected(sql)} from page_groups l where l.tenant_id = ${tenantId} and ${along.isBefore(sql)}`
        return ask(
          (sql) => sql<ListedRow[]>`
            select want.number as want, ${GROUPS.selected(sql)}, ${pagesCount(sql, tenantId)}
            from ${WANTS.from(sql, some)}
              cross join lateral ${slice(sql, rows(sql), bytes(sql), along.newest(sql), sql`want.rows_max`)}
            order by want.number, l.page_group_id desc`,
          tenantId,
        )
      })
      return (await Promise.all(asked)).flat()
    })
    return lists.map((list) => list.map(({ want, ...row }) => storedPageGroup(row)))
  },

  find: async (pageGroupId) => {
    const [row] = await ask(
      (sql) => sql<PageGroupRow[]>`
        select ${GROUPS.selected(sql)}, ${pagesCount(sql)}
        from page_groups l
        where l.page_group_id = ${pageGroupId}`,
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
const open = {
  isBefore: fixed((sql) => sql`(case when l.status <> 'deleted' then l.page_group_id end) < want.before_id`),
  newest: fixed((sql) => sql`(case when l.status <> 'deleted' then l.page_group_id end) desc`),
}
const filtered = {
  isBefore: fixed(
    (sql) => sql`
    (l.status || '/' || l.page_group_id) collate "C" < want.status || '/' || want.before_id
      and (l.status || '/' || l.page_group_id) collate "C" > want.status || '/'`,
  ),
  newest: fixed((sql) => sql`(l.status || '/' || l.page_group_id) collate "C" desc`),
}

const bytes = fixed(
  (sql) => sql`
  coalesce(octet_length(l.page_context), 0) + octet_length(l.actions) + octet_length(l.footer_links)
    + octet_length(l.scripts)`,
)

// A look-up for each row, which no planner turns into a walk over all the counts, as it does with a join.
export const pagesCount = (sql: Sql, tenantId: string | null = null) => sql`
  (select c.pages_count::int from page_counts c
    where c.tenant_id = ${tenantId ?? tenantOfGroup(sql)} and c.page_group_id = l.page_group_id) as pages_count`
const tenantOfGroup = fixed((sql) => sql`l.tenant_id`)
