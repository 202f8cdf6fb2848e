import type { MergeChanges, Merges } from '../../core/ports/merges.ts'
import { columns, type Query } from '../postgres/sql.ts'
import { newMergeRow } from '../stores/people-rows.ts'
import { COLUMNS } from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import type { Outbox } from './outbox.ts'
import type { Send } from './transaction.ts'

const MERGE = columns('merge', COLUMNS.merges)
const KNOWN = columns('known', 'prospect_id, email, external_id, name, updated_at timestamptz')

/** The verbs that differ from those of one PostgreSQL. Calls `changed` after a prospect was merged. */
export const citusMerges = (
  query: Query,
  outbox: Outbox,
  changed: () => void,
): Pick<Merges, 'record' | 'moveLogs' | 'settle'> => ({
  record: async (changes, events) => {
    const { tenantId } = changes.merge
    const recorded = await outbox.change(tenantId, events, (send) => mergeProspects(send, changes))
    if (recorded === 'recorded') changed()
    return recorded
  },

  /** The tenant of logs is compared twice: in the `case` as on one PostgreSQL, and for Citus. */
  moveLogs: async ({ tenantId, mergeId, prospectId, intoId, attempt, status }, max) => {
    const [firstKey, lastKey] = timelineOf(prospectId)
    const [firstKeyThere] = timelineOf(intoId)
    const [row] = await query(tenantId)<{ found: number }>`
      with owned as materialized (
        select 1 from merges m
        where m.tenant_id = ${tenantId} and m.merge_id = ${mergeId} and m.into_id = ${intoId}
          and m.attempts = ${attempt} and m.status = ${status}
        for update
      ), due as materialized (
        select * from (
          select l.prospect_log_id from prospect_logs l
          where l.timeline_key between ${firstKey} and ${lastKey}
            and case when l.tenant_id = ${tenantId} then l.prospect_id = ${prospectId} end
            and l.tenant_id = ${tenantId} and exists (select 1 from owned)
          order by l.timeline_key limit (select ${max}::int)
        ) l limit ${max}
      ), moved as (
        update prospect_logs l
        set prospect_id = ${intoId}, timeline_key = l.timeline_key + ${firstKeyThere - firstKey}::bigint
        from due
        where l.tenant_id = ${tenantId} and l.prospect_log_id = due.prospect_log_id
      )
      select count(*)::int as found from due`
    return row?.found ?? 0
  },

  settle: (step, events) =>
    outbox.change(step.tenantId, events, async (send) => {
      const settled = await send`
        update merges m set pass = ${step.pass}, settles_after = ${step.settlesAfter}, claimable_at = ${step.claimableAt},
          completed_at = ${step.completedAt}, status = ${step.completedAt === null ? 'processing' : 'completed'}
        where m.tenant_id = ${step.tenantId} and m.merge_id = ${step.mergeId} and m.into_id = ${step.intoId}
          and m.attempts = ${step.attempt} and m.status = ${step.status}
        returning 1`
      return settled.length > 0
    }),
})

/** Locks both prospects first, in the order of their ids. Once they are locked, they stay as they were decided on. */
const mergeProspects = async (send: Send, { merge, merged, survivor }: MergeChanges): Promise<boolean> => {
  const { tenantId, prospectId, intoId } = merge
  const known = [merged.before, survivor.before]
  if (known.some(({ erasedAt, mergedInto }) => erasedAt !== null || mergedInto !== null)) return false
  const unchanged = await send`
    select 1 from ${KNOWN.from(known)}
      join prospects p on p.prospect_id = known.prospect_id
    where p.tenant_id = ${tenantId} and p.erased_at is null and p.merged_into is null
      and p.updated_at = known.updated_at and p.email is not distinct from known.email
      and p.external_id is not distinct from known.external_id and p.name is not distinct from known.name
    order by p.prospect_id for update of p`
  if (unchanged.length < 2) return false
  const save = ({ after }: typeof merged) => send`
    update prospects p set email = ${after.email}, external_id = ${after.externalId}, name = ${after.name},
      attributes = ${after.attributes?.rawJson ?? null}::text::json, merged_into = ${after.mergedInto}, updated_at = ${after.updatedAt}
    where p.tenant_id = ${tenantId} and p.prospect_id = ${after.prospectId}`
  // Those that led to the merged prospect, before it leads to the survivor itself.
  send`
    update prospects set merged_into = ${intoId}
    where tenant_id = ${tenantId} and merged_into = ${prospectId}`
  save(merged)
  save(survivor)
  send`
    update identifiers set prospect_id = ${intoId}
    where tenant_id = ${tenantId} and prospect_id = ${prospectId}`
  send`
    update merges set into_id = ${intoId}
    where tenant_id = ${tenantId} and into_id = ${prospectId} and status = 'processing'`
  send`insert into merges (${MERGE.names}) select ${MERGE.values} from ${MERGE.from([newMergeRow(merge)])}`
  return true
}
