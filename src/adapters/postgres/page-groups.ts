import type { PageGroups } from '../../core/ports/page-groups.ts'
import { COLUMNS, PAGE_GROUP_CHANGES, type PageGroupRow, storedPageGroup } from '../rows.ts'
import { slicesByTenant } from './by-tenant.ts'
import { type Query, sql } from './sql.ts'
import { columns } from './statements.ts'
import { slice } from './walk.ts'

type ListedRow = PageGroupRow & { readonly want: number }

const GROUPS = columns('l', COLUMNS.page_groups)
const COUNTS = columns('c', COLUMNS.page_counts)
const CHANGES = columns('g', PAGE_GROUP_CHANGES)
const WANTS = columns('want', 'number int, status, before_id, rows_max int')

export const postgresPageGroups = (query: Query): PageGroups => ({
  list: async (wants) => {
    const lists = await slicesByTenant(wants, async (tenantId, its) => {
      const groups = [...Map.groupBy(its, ({ status }) => (status === null ? open : filtered))]
      const asked = groups.map(([along, some]) => {
        const rows = sql`
          select ${GROUPS.selected} from page_groups l where l.tenant_id = ${tenantId} and ${along.isBefore}`
        return query(tenantId)<ListedRow>`
          select want.number as want, ${GROUPS.selected}, ${pagesCount(tenantId)}
          from ${WANTS.from(some)}
            cross join lateral ${slice(rows, bytes, along.newest, sql`want.rows_max`)}
          order by want.number, l.page_group_id desc`
      })
      return (await Promise.all(asked)).flat()
    })
    return lists.map((list) => list.map(storedPageGroup))
  },

  find: async (pageGroupId) => {
    const [row] = await query()<PageGroupRow>`
      select ${GROUPS.selected}, ${pagesCount()} from page_groups l
      where l.page_group_id = ${pageGroupId}`
    return row === undefined ? null : storedPageGroup(row)
  },

  add: async (group) => {
    await query(group.tenantId)`
      with counted as (insert into page_counts ${COUNTS.values([group])})
      insert into page_groups ${GROUPS.values([group])}`
  },

  change: async (group, lastUpdatedAt) => {
    const changed = await query(group.tenantId)`
      update page_groups set (${CHANGES.names}) = (select * from ${CHANGES.from([group])})
      where tenant_id = ${group.tenantId} and page_group_id = ${group.pageGroupId}
        and updated_at = ${lastUpdatedAt}
      returning page_group_id`
    return changed.length === 1 ? 'recorded' : 'overtaken'
  },
})

// Two statements, because each walks its own index, by the expression that the index holds.
const ID_IF_OPEN = sql`(case when l.status <> 'deleted' then l.page_group_id end)`
const open = { isBefore: sql`${ID_IF_OPEN} < want.before_id`, newest: sql`${ID_IF_OPEN} desc` }
const STATUS_AND_ID = sql`(l.status || '/' || l.page_group_id) collate "C"`
const filtered = {
  isBefore: sql`
    ${STATUS_AND_ID} < want.status || '/' || want.before_id and ${STATUS_AND_ID} > want.status || '/'`,
  newest: sql`${STATUS_AND_ID} desc`,
}

const bytes = sql`
  coalesce(octet_length(l.page_context), 0) + octet_length(l.actions) + octet_length(l.footer_links)
    + octet_length(l.scripts)`

// A look-up for each row, which no planner turns into a walk over all the counts, as it does with a join.
export const pagesCount = (tenantId: string | null = null) => sql`
  (select c.pages_count::int from page_counts c
    where c.tenant_id = ${tenantId ?? TENANT_OF_GROUP} and c.page_group_id = l.page_group_id) as pages_count`
const TENANT_OF_GROUP = sql`l.tenant_id`
