import type { PageGroups, PageGroupsQuery } from '../../core/ports/page-groups.ts'
import { columns as jsonColumns } from '../postgres/sql.ts'
import {
  COLUMNS,
  type FoundPageGroupRow,
  foundPageGroup,
  PAGE_GROUP_CHANGES,
  type PageGroupRow,
  storedPageGroup,
  without,
} from '../stores/rows.ts'
import type { Together } from '../stores/together.ts'
import { slicesByTenant } from './by-tenant.ts'
import type { Outbox } from './outbox.ts'
import { columns, type Query, sql } from './sql.ts'
import { slice } from './walk.ts'

type ListedRow = PageGroupRow & { readonly lookup: number }

const SHOWN = columns('l', without(COLUMNS.page_groups, 'revision', 'idempotency_key', 'request_hash'))
const GROUP = jsonColumns('l', COLUMNS.page_groups)
const CHANGE = jsonColumns('change', PAGE_GROUP_CHANGES)
const LOOKUPS = columns('lookup', 'number int, status, before_id, rows_max int')

export const citusPageGroups = (query: Query, outbox: Outbox, together: Together): PageGroups => ({
  list: together.read('pageGroups.list', async (lookups: readonly PageGroupsQuery[]) => {
    const lists = await slicesByTenant(lookups, async (tenantLookups, { tenantId }) => {
      const groups = [...Map.groupBy(tenantLookups, ({ status }) => (status === null ? open : filtered))]
      const asked = groups.map(([along, lookups]) => {
        const rows = sql`
          select ${SHOWN.selected} from page_groups l where l.tenant_id = ${tenantId} and ${along.isBefore}`
        return query(tenantId)<ListedRow>`
          select lookup.number as lookup, ${SHOWN.selected}, ${pagesCount(tenantId)}
          from ${LOOKUPS.from(lookups)}
            cross join lateral ${slice(rows, bytes, along.newest, sql`lookup.rows_max`)}
          order by lookup.number, l.page_group_id desc`
      })
      return (await Promise.all(asked)).flat()
    })
    return lists.map((list) => list.map(storedPageGroup))
  }),

  find: async (lookup) => {
    const { tenantId } = lookup
    const [column, key] =
      'pageGroupId' in lookup ? [ID, lookup.pageGroupId] : [IDEMPOTENCY_KEY, lookup.idempotencyKey]
    const [row] = await query(tenantId)<FoundPageGroupRow>`
      select ${SHOWN.selected}, l.request_hash, c.pages_count::int, (l.revision + c.changes)::int as revision
      from (select * from page_groups l where l.tenant_id = ${tenantId} and ${column} = ${key} limit 1) l
        cross join lateral (
          select * from page_counts c
          where c.tenant_id = ${tenantId} and c.page_group_id = l.page_group_id limit 1
        ) c`
    return row ? foundPageGroup(row) : null
  },

  add: (group, events) =>
    outbox.change(group.tenantId, events, async (send) => {
      const { tenantId, pageGroupId, pagesCount } = group
      send`
        insert into page_counts (tenant_id, page_group_id, pages_count, changes)
        values (${tenantId}, ${pageGroupId}, ${pagesCount}, 0)`
      send`
        insert into page_groups (${GROUP.names})
        select ${GROUP.values} from ${GROUP.from([{ ...group, revision: 1 }])}`
      return true
    }),

  /** A group's revision rises with its own changes and with those of its count. */
  change: (group, lastUpdatedAt, revision, events) =>
    outbox.change(group.tenantId, events, async (send) => {
      const { tenantId, pageGroupId } = group
      const changed = await send`
        update page_groups g set
          (${CHANGE.names}) = (select ${CHANGE.values} from ${CHANGE.from([group])}),
          revision = g.revision + 1
        where g.tenant_id = ${tenantId} and g.page_group_id = ${pageGroupId} and g.updated_at = ${lastUpdatedAt}
          and (${revision ?? null}::int is null or ${revision ?? null}::int = g.revision + (
            select c.changes from page_counts c
            where c.tenant_id = ${tenantId} and c.page_group_id = ${pageGroupId}
          ))
        returning 1`
      return changed.length > 0
    }),
})

const ID = sql`l.page_group_id`
const IDEMPOTENCY_KEY = sql`l.idempotency_key`

// Two statements, because each walks a separate index, by the expression of that index.
const ID_IF_OPEN = sql`(case when l.status <> 'deleted' then l.page_group_id end)`
const open = { isBefore: sql`${ID_IF_OPEN} < lookup.before_id`, newest: sql`${ID_IF_OPEN} desc` }
const STATUS_AND_ID = sql`(l.status || '/' || l.page_group_id) collate "C"`
const filtered = {
  isBefore: sql`
    ${STATUS_AND_ID} < lookup.status || '/' || lookup.before_id and ${STATUS_AND_ID} > lookup.status || '/'`,
  newest: sql`${STATUS_AND_ID} desc`,
}

const bytes = sql`
  coalesce(octet_length(l.page_context), 0) + octet_length(l.actions) + octet_length(l.footer_links)
    + octet_length(l.scripts)`

// A look-up for each row: the planner could turn a join into a walk over all the counts.
const pagesCount = (tenantId: string | null = null) => sql`
  (select c.pages_count::int from page_counts c
    where c.tenant_id = ${tenantId ?? TENANT_OF_GROUP} and c.page_group_id = l.page_group_id) as pages_count`
const TENANT_OF_GROUP = sql`l.tenant_id`
