import type { ClaimedMerge, Merges, ProspectStates } from '../../core/ports/merges.ts'
import type { KnownProspect } from '../../core/ports/prospects.ts'
import { newMergeRow } from '../stores/people-rows.ts'
import { COLUMNS } from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import { backlogOf, claimFrom } from './claim.ts'
import type { Forms } from './forms.ts'
import { AND_CHANGED, IS_CHANGED, type Outbox } from './outbox.ts'
import { alongTimeline } from './prospect-logs.ts'
import { columns, type Query, sql } from './sql.ts'

const ROW = columns('merge', COLUMNS.merges)
const WAITING = sql`merges where status = 'processing' order by tenant_id, claimable_at`
export const QUEUED_MERGES = {
  table: sql`merges v`,
  key: sql`v.tenant_id, v.merge_id`,
  isClaimed: sql`v.merge_id = claimed.merge_id`,
  answered: sql`v.*`,
}

/** Calls `changed` after a prospect was merged. */
export const postgresMerges = (
  query: Query,
  { pinned, inserted }: Forms,
  changed: (tenantId: string) => void,
  outbox: Outbox,
): Merges => ({
  /**
   * Locks both prospects first. The merged one gives up its email before the survivor takes it: a part runs when it is
   * read.
   */
  record: async ({ merge, merged, survivor }, events) => {
    const { tenantId, prospectId, intoId } = merge
    const parts = [
      sql`held as materialized (
        select * from (
          select p.prospect_id from prospects p
          where ${isUnchanged(merged.before)} or ${isUnchanged(survivor.before)}
          order by p.prospect_id for update
        ) held
      )`,
      sql`changed as (select 1 as done from held having count(*) = 2)`,
      sql`merged as (${prospectChanged(merged)} ${AND_CHANGED} returning 1)`,
      sql`survivor as (${prospectChanged(survivor)} and exists (select 1 from merged))`,
      sql`led as (
        update prospects set merged_into = ${intoId}
        where tenant_id = ${tenantId} and merged_into = ${prospectId} ${AND_CHANGED})`,
      sql`redirected as (
        update merges set into_id = ${intoId}
        where tenant_id = ${tenantId} and into_id = ${prospectId} and status = 'processing' ${AND_CHANGED})`,
      sql`added as (
        insert into merges ${inserted(ROW, [newMergeRow(merge)], IS_CHANGED)})`,
    ]
    const recorded = await outbox.change(merge, events, parts)
    if (recorded === 'recorded') changed(tenantId)
    return recorded
  },

  claim: claimFrom<ClaimedMerge>(query, QUEUED_MERGES),

  /** Locks the merge, so that no log is moved to a prospect that is itself being merged or erased. */
  moveLogs: async (merge, max) => {
    const { tenantId, prospectId, intoId } = merge
    const [first] = timelineOf(prospectId)
    const [firstThere] = timelineOf(intoId)
    const [row] = await query(tenantId)<{ found: number }>`
      with held as materialized (select 1 from merges m where ${isHeld(merge)} for update), due as materialized (
        select * from (
          select l.prospect_log_id ${alongTimeline(pinned, merge)} and exists (select 1 from held)
          order by l.timeline_key limit (select ${max}::int)
        ) l limit ${max}
      ), moved as (
        update prospect_logs l
        set prospect_id = ${intoId}, timeline_key = l.timeline_key + ${firstThere - first}::bigint
        from due
        where l.tenant_id = ${tenantId} and l.prospect_log_id = due.prospect_log_id
      )
      select count(*)::int as found from due`
    return row?.found ?? 0
  },

  completed: ({ tenantId, afterId, limit }) => query(tenantId)<ClaimedMerge>`
    select m.*, m.attempts as attempt from merges m
    where m.tenant_id = ${tenantId} and m.merge_id > ${afterId} and m.status = 'completed'
    order by m.merge_id limit ${limit}`,

  settle: (step, events) => {
    const { pass, claimableAt, completedAt } = step
    const settled = sql`changed as (
      update merges m set pass = ${pass}, claimable_at = ${claimableAt}, completed_at = ${completedAt},
        status = ${completedAt === null ? 'processing' : 'completed'}
      where ${isHeld(step)}
      returning 1)`
    return outbox.change(step, events, [settled])
  },

  backlog: backlogOf(query, sql`requested_at`, WAITING),
})

const isHeld = ({ tenantId, mergeId, intoId, attempt, status }: ClaimedMerge) => sql`
  m.tenant_id = ${tenantId} and m.merge_id = ${mergeId} and m.into_id = ${intoId} and m.attempts = ${attempt}
    and m.status = ${status}`

/** Whether a prospect `p` is unchanged, along with all prospects that were merged into it. */
export const isUnchanged = (before: KnownProspect) => sql`
  p.tenant_id = ${before.tenantId} and p.prospect_id = ${before.prospectId}
    and p.erased_at is null and p.merged_into is null and p.updated_at = ${before.updatedAt}
    and p.email_hash is not distinct from ${before.emailHash}
    and p.external_id_hash is not distinct from ${before.externalIdHash}
    and p.name is not distinct from ${before.name}`

const prospectChanged = ({ before, after }: ProspectStates) => sql`
  update prospects p set email = ${after.email}, email_hash = ${after.emailHash}, external_id = ${after.externalId},
    external_id_hash = ${after.externalIdHash}, name = ${after.name}, merged_into = ${after.mergedInto},
    updated_at = ${after.updatedAt}
  where ${isUnchanged(before)}`
