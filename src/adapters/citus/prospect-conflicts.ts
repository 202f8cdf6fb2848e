import {
  CONFLICT_REST_MS,
  type ProspectConflicts,
  type StoredConflict,
} from '../../core/ports/prospect-conflicts.ts'
import type { Transact } from './transaction.ts'

/** The verb that differs from that of one PostgreSQL. */
export const citusProspectConflicts = (transact: Transact): Pick<ProspectConflicts, 'note'> => ({
  note: async (conflicts) => {
    for (const conflict of conflicts) await noteConflict(transact, conflict)
  },
})

/** Without the look at recent conflicts each activity would lock the row, and wait for others that do. */
const noteConflict = (
  transact: Transact,
  { tenantId, prospectId, otherId, field, at }: StoredConflict,
): Promise<void> =>
  transact(tenantId, async (send) => {
    const noted = await send`
      select 1
      where (
          select count(*) from prospects p
          where p.tenant_id = ${tenantId} and p.prospect_id in (${prospectId}, ${otherId})
            and p.erased_at is null and p.merged_into is null
        ) = 2
        and not exists (
          select 1 from prospect_conflicts c
          where c.tenant_id = ${tenantId} and c.prospect_id = ${prospectId} and c.other_id = ${otherId}
            and c.at > ${at}::timestamptz - ${CONFLICT_REST_MS} * interval '1 millisecond'
        )`
    if (noted.length === 0) return
    send`
      insert into prospect_conflicts as c (tenant_id, prospect_id, other_id, field, at)
      values (${tenantId}, ${prospectId}, ${otherId}, ${field}, ${at})
      on conflict (tenant_id, prospect_id, other_id) do update set field = excluded.field, at = excluded.at
        where c.at < excluded.at`
  })
