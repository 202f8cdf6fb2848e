import {
  CONFLICT_REST_MS,
  type FoundConflict,
  type ProspectConflicts,
} from '../../core/ports/prospect-conflicts.ts'
import { COLUMNS, sortedBy } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { columns, type Query } from './sql.ts'

const CONFLICT = columns('conflict', COLUMNS.prospect_conflicts)
const SHOWN = columns('c', COLUMNS.prospect_conflicts)

export const postgresProspectConflicts = (query: Query): ProspectConflicts => ({
  /**
   * Without the conditions on recent conflicts each activity would lock the row, and wait for others that do. Rows are
   * locked in the order in which they are sent, so that two lists do not wait for each other.
   */
  note: async (conflicts) => {
    const [first] = conflicts
    await query(first?.tenantId)`
      insert into prospect_conflicts as c (${CONFLICT.names})
      select ${CONFLICT.values} from ${CONFLICT.from(sortedBy(conflicts, 'prospectId', 'otherId'))}
      where (
          select count(*) from prospects p
          where p.tenant_id = conflict.tenant_id and p.prospect_id in (conflict.prospect_id, conflict.other_id)
            and p.erased_at is null and p.merged_into is null
        ) = 2
        and (
          select true from prospect_conflicts c
          where c.tenant_id = conflict.tenant_id and c.prospect_id = conflict.prospect_id
            and c.other_id = conflict.other_id
            and c.at > conflict.at - ${CONFLICT_REST_MS} * interval '1 millisecond' limit 1
        ) is null
      on conflict (tenant_id, prospect_id, other_id) do update set field = excluded.field, at = excluded.at
        where c.at < excluded.at`
  },

  list: ({ tenantId, before, max }) => query(tenantId)<FoundConflict>`
    select ${SHOWN.selected}, (
        select count(*) from prospects p
        where p.tenant_id = ${tenantId} and p.prospect_id in (c.prospect_id, c.other_id)
          and p.erased_at is null and p.merged_into is null
      ) = 2 as is_current
    from (
      select * from prospect_conflicts c
      where c.tenant_id = ${tenantId} and (c.at, c.prospect_id, c.other_id) < (
        ${before?.at ?? 'infinity'}::timestamptz, ${before?.prospectId ?? AFTER_ALL_IDS}, ${before?.otherId ?? AFTER_ALL_IDS}
      )
      order by c.at desc, c.prospect_id desc, c.other_id desc limit ${max}
    ) c
    order by c.at desc, c.prospect_id desc, c.other_id desc`,

  removeOf: async ({ tenantId, prospectId }, max) => {
    const [row] = await query(tenantId)<{ found: number }>`
      with due as materialized (
        (
          select c.prospect_id, c.other_id from prospect_conflicts c
          where c.tenant_id = ${tenantId} and c.prospect_id = ${prospectId} limit ${max}
        ) union all (
          select c.prospect_id, c.other_id from prospect_conflicts c
          where c.tenant_id = ${tenantId} and c.other_id = ${prospectId} limit ${max}
        )
      ), removed as (
        delete from prospect_conflicts c using due
        where c.tenant_id = ${tenantId} and c.prospect_id = due.prospect_id and c.other_id = due.other_id
      )
      select count(*)::int as found from due`
    return row?.found ?? 0
  },
})
