import { asOutcome } from '../../core/engine/outcome.ts'
import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type {
  FoundPageGroup,
  PageGroupLookup,
  PageGroups,
  PageGroupsQuery,
  StoredPageGroup,
} from '../../core/ports/page-groups.ts'
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
import { numberedSlices, rowsOfEach } from './numbered.ts'
import type { Events, Outbox } from './outbox.ts'
import { columns, type Piece, piece, type Query } from './sql.ts'

type ListedRow = PageGroupRow & { readonly number: number }

const LISTED = columns('lookup', 'number int, tenant_id, status, before_id, rows_max int')
const SHOWN = columns('l', without(COLUMNS.page_groups, 'revision', 'idempotency_key', 'request_hash'))
const GROUP = columns('l', COLUMNS.page_groups)
const COUNT = columns('c', COLUMNS.page_counts)
const CHANGE = columns('change', PAGE_GROUP_CHANGES)
const GROUPS_MAX = 4

/** A walk along an index, by the expression of that index, for look-ups that are sent in this form. */
type Walk = { readonly lookups: (rows: readonly object[]) => Piece; readonly groups: Piece }
const NOT_DELETED: Walk = {
  lookups: LISTED.fromFew,
  groups: piece`
    select ${SHOWN.selected}, (case when l.status <> 'deleted' then l.page_group_id end) as position
    from page_groups l
    where l.tenant_id = lookup.tenant_id
      and (case when l.status <> 'deleted' then l.page_group_id end) < lookup.before_id
    order by (case when l.status <> 'deleted' then l.page_group_id end) desc limit lookup.rows_max`,
}
/** By parameters the planner, without statistics, would collect and sort all groups of a status. */
const BY_STATUS: Walk = {
  lookups: LISTED.from,
  groups: piece`
    select ${SHOWN.selected}, (l.status || '/' || l.page_group_id) collate "C" as position
    from page_groups l
    where l.tenant_id = lookup.tenant_id
      and (l.status || '/' || l.page_group_id) collate "C" < lookup.status || '/' || lookup.before_id
      and (l.status || '/' || l.page_group_id) collate "C" > lookup.status || '/'
    order by (l.status || '/' || l.page_group_id) collate "C" desc limit lookup.rows_max`,
}

export const postgresPageGroups = (
  query: Query,
  { confirm, newEvents }: Outbox,
  together: Together,
): PageGroups => {
  const listAlong = (walk: Walk) =>
    together.read('pageGroups.list', (lookups: readonly PageGroupsQuery[]) => listAll(query, lookups, walk))
  const listNotDeleted = listAlong(NOT_DELETED)
  const listByStatus = listAlong(BY_STATUS)

  return {
    list: (lookup) => (lookup.status === null ? listNotDeleted(lookup) : listByStatus(lookup)),

    /** A group may have 4 MiB: few are read at a time. */
    find: together.read(
      'pageGroups.find',
      (lookups: readonly PageGroupLookup[]) =>
        Promise.all(lookups.map((lookup) => findPageGroup(query, lookup).catch(asOutcome))),
      { listLengthMax: GROUPS_MAX },
    ),

    add: (group, events) =>
      confirm(
        query()<Events>`
          -- The part with the new events needs a part 'changed'.
          with changed as (
            select 1
          ), counted as (
            insert into page_counts (${COUNT.names})
            select ${COUNT.values} from ${COUNT.from([{ ...group, changes: 0 }])}
          ), added as (
            insert into page_groups (${GROUP.names})
            select ${GROUP.values} from ${GROUP.from([{ ...group, revision: 1 }])}
          ), ${newEvents(events)}
          select (select count(*)::int from new_events) as events`,
      ),

    /** A group's revision rises with its own changes and with those of its count. */
    change: (group, lastUpdatedAt, revision, events) =>
      confirm(
        query()<Events>`
          with changed as (
            update page_groups g set
              (${CHANGE.names}) = (select ${CHANGE.values} from ${CHANGE.from([group])}),
              revision = g.revision + 1
            where g.tenant_id = ${group.tenantId} and g.page_group_id = ${group.pageGroupId}
              and g.updated_at = ${lastUpdatedAt}
              and (${revision ?? null}::int is null or ${revision ?? null}::int = g.revision + (
                select c.changes from page_counts c
                where c.tenant_id = ${group.tenantId} and c.page_group_id = ${group.pageGroupId}
              ))
            returning 1
          ), ${newEvents(events)}
          select (select count(*)::int from new_events) as events from changed`,
      ),
  }
}

/** The pages are counted by a look-up for each row: the planner could turn a join into a walk over all counts. */
const listAll = async (
  query: Query,
  lookups: readonly PageGroupsQuery[],
  walk: Walk,
): Promise<StoredPageGroup[][]> => {
  const rows = await query()<ListedRow>`
    select lookup.number, ${SHOWN.selected}, (
      select c.pages_count::int from page_counts c
      where c.tenant_id = l.tenant_id and c.page_group_id = l.page_group_id
    ) as pages_count
    from ${walk.lookups(numberedSlices(lookups))}
      cross join lateral (
        select * from (
          select l.*, sum(
            coalesce(octet_length(l.page_context), 0) + octet_length(l.actions) + octet_length(l.footer_links)
              + octet_length(l.scripts)
          ) over (
            order by l.position desc rows between unbounded preceding and 2 preceding
          ) as bytes_before
          from (${walk.groups}) l
        ) l
        where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
      ) l
    order by lookup.number, l.position desc`
  return rowsOfEach(lookups, rows).map((list) => list.map(storedPageGroup))
}

/** With its limit each look-up uses its whole key, whatever the planner assumes of the tenant. */
const findPageGroup = async (query: Query, lookup: PageGroupLookup): Promise<FoundPageGroup | null> => {
  const { tenantId } = lookup
  const pageGroupId = 'pageGroupId' in lookup ? lookup.pageGroupId : null
  const idempotencyKey = 'idempotencyKey' in lookup ? lookup.idempotencyKey : null
  const [row] = await query(tenantId)<FoundPageGroupRow>`
    select ${SHOWN.selected}, l.request_hash, c.pages_count::int, (l.revision + c.changes)::int as revision
    from (
      (select * from page_groups l where l.tenant_id = ${tenantId} and l.page_group_id = ${pageGroupId} limit 1)
      union all
      (select * from page_groups l where l.tenant_id = ${tenantId} and l.idempotency_key = ${idempotencyKey} limit 1)
    ) l
      cross join lateral (
        select * from page_counts c
        where c.tenant_id = ${tenantId} and c.page_group_id = l.page_group_id limit 1
      ) c`
  return row ? foundPageGroup(row) : null
}
