import type { ClaimedMerge, Merges } from '../../core/ports/merges.ts'
import type { Backlog } from '../../core/ports/world.ts'
import { newMergeRow } from '../stores/people-rows.ts'
import { COLUMNS } from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import type { Events, Outbox } from './outbox.ts'
import { columns, type Query } from './sql.ts'

const MERGE = columns('merge', COLUMNS.merges)
const SHOWN = columns('m', COLUMNS.merges)
const KNOWN = columns(
  'known',
  'tenant_id, prospect_id, email, external_id, name, updated_at timestamptz, merged_into, erased_at timestamptz',
)

/** Calls `changed` after a prospect was merged. */
export const postgresMerges = (query: Query, outbox: Outbox, changed: () => void): Merges => ({
  /** Locks both prospects first, in the order of their ids. Once they are locked, they stay as they were decided on. */
  record: async ({ merge, merged, survivor }, events) => {
    const { tenantId, prospectId, intoId } = merge
    const recorded = await outbox.confirm(
      query()<Events>`
        with unchanged as (
          select p.prospect_id
          from ${KNOWN.from([merged.before, survivor.before])}
            join prospects p on p.tenant_id = known.tenant_id and p.prospect_id = known.prospect_id
          where p.erased_at is null and p.merged_into is null and p.updated_at = known.updated_at
            and known.erased_at is null and known.merged_into is null
            and p.email is not distinct from known.email
            and p.external_id is not distinct from known.external_id
            and p.name is not distinct from known.name
          order by p.prospect_id for update of p
        ), changed as (
          select 1 from unchanged having count(*) = 2
        ), merged as (
          update prospects p set email = ${merged.after.email}, external_id = ${merged.after.externalId},
            name = ${merged.after.name},
            attributes = ${merged.after.attributes?.rawJson ?? null}::text::json, merged_into = ${merged.after.mergedInto},
            updated_at = ${merged.after.updatedAt}
          where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId} and exists (select 1 from changed)
        ), identified as (
          update identifiers set prospect_id = ${intoId}
          where tenant_id = ${tenantId} and prospect_id = ${prospectId} and exists (select 1 from changed)
        ), survivor as (
          update prospects p set email = ${survivor.after.email}, external_id = ${survivor.after.externalId},
            name = ${survivor.after.name},
            attributes = ${survivor.after.attributes?.rawJson ?? null}::text::json, merged_into = ${survivor.after.mergedInto},
            updated_at = ${survivor.after.updatedAt}
          where p.tenant_id = ${tenantId} and p.prospect_id = ${intoId} and exists (select 1 from changed)
        ), led as (
          update prospects set merged_into = ${intoId}
          where tenant_id = ${tenantId} and merged_into = ${prospectId} and exists (select 1 from changed)
        ), redirected as (
          update merges set into_id = ${intoId}
          where tenant_id = ${tenantId} and into_id = ${prospectId} and status = 'processing'
            and exists (select 1 from changed)
        ), added as (
          insert into merges (${MERGE.names})
          select ${MERGE.values} from ${MERGE.from([newMergeRow(merge)])} where exists (select 1 from changed)
        ), ${outbox.newEvents(events)}
        select (select count(*)::int from new_events) as events from changed`,
    )
    if (recorded === 'recorded') changed()
    return recorded
  },

  /** As `versions.claim`: from tenant to tenant, along the index of waiting merges. */
  claim: ({ now, until, horizon, afterTenantId, max }) => query()<ClaimedMerge>`
    with recursive waiting (tenant_id) as (
      (
        select m.tenant_id from merges m where m.status = 'processing' and m.tenant_id > ${afterTenantId}
        order by m.tenant_id limit 1
      )
      union all
      select (
        select m.tenant_id from merges m where m.status = 'processing' and m.tenant_id > waiting.tenant_id
        order by m.tenant_id limit 1
      )
      from waiting where waiting.tenant_id is not null
    ), claimed as (
      select due.tenant_id, due.merge_id
      from waiting
        cross join (
          values ('-infinity', ${now}::timestamptz), (${horizon}::timestamptz, 'infinity')
        ) as span (after, until)
        cross join lateral (
          select m.tenant_id, m.merge_id from merges m
          where m.status = 'processing' and m.tenant_id = waiting.tenant_id
            and m.claimable_at > span.after and m.claimable_at <= span.until
          order by m.claimable_at limit ${max} for update skip locked
        ) as due
      limit ${max}
    )
    update merges m set claimable_at = ${until}, attempts = m.attempts + 1
    from claimed
    where m.tenant_id = claimed.tenant_id and m.merge_id = claimed.merge_id
    returning ${SHOWN.selected}, m.attempts as attempt`,

  /**
   * Locks the merge, so that no log is moved to a prospect that is itself being merged or erased. The tenant of logs is
   * compared in a `case`, and the inner limit is a `select`, so that they are found along the index of timelines: see
   * `prospectLogs.timeline`. The outer limit, a number, shows the planner how few rows are joined.
   */
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
            and exists (select 1 from owned)
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

  completed: ({ tenantId, afterId, limit }) => query(tenantId)<ClaimedMerge>`
    select ${SHOWN.selected}, m.attempts as attempt from merges m
    where m.tenant_id = ${tenantId} and m.merge_id > ${afterId} and m.status = 'completed'
    order by m.merge_id limit ${limit}`,

  settle: (step, events) =>
    outbox.confirm(
      query()<Events>`
        with changed as (
          update merges m set pass = ${step.pass}, settles_after = ${step.settlesAfter}, claimable_at = ${step.claimableAt},
            completed_at = ${step.completedAt}, status = ${step.completedAt === null ? 'processing' : 'completed'}
          where m.tenant_id = ${step.tenantId} and m.merge_id = ${step.mergeId} and m.into_id = ${step.intoId}
            and m.attempts = ${step.attempt} and m.status = ${step.status}
          returning 1
        ), ${outbox.newEvents(events)}
        select (select count(*)::int from new_events) as events from changed`,
    ),

  /** Reads at most `countMax` entries of the index of waiting merges. */
  backlog: async (countMax) => {
    const [backlog] = await query()<Backlog>`
      select count(*)::int as count, min(requested_at) as oldest
      from (
        select requested_at from merges where status = 'processing' order by tenant_id, claimable_at limit ${countMax}
      ) as waiting`
    return backlog ?? { count: 0, oldest: null }
  },
})
