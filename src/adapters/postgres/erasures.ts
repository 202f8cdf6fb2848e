import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import {
  type ClaimedErasure,
  ERASURE_NAMES_MAX,
  type Erasures,
  type NamingLog,
} from '../../core/ports/erasures.ts'
import type { StoredIdentifier } from '../../core/ports/identifiers.ts'
import type { Backlog, RowsQuery, Served } from '../../core/ports/world.ts'
import { newErasureRow } from '../stores/people-rows.ts'
import {
  COLUMNS,
  ERASURE_CLAIMED,
  ERASURE_SHOWN,
  type ErasureRow,
  storedErasure,
  without,
} from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import type { Together } from '../stores/together.ts'
import { numberedSlices, rowsOfEach } from './numbered.ts'
import type { Events, Outbox } from './outbox.ts'
import { columns, type Query, textArray } from './sql.ts'

const ERASURE = columns('erasure', without(COLUMNS.erasures, 'still_leads_to'))
const SHOWN = columns('e', ERASURE_SHOWN)
const CLAIMED = columns('e', ERASURE_CLAIMED)
const WANT = columns('lookup', 'number int, tenant_id, before_id, rows_max int')
const STEP = columns(
  'step',
  `tenant_id, erasure_id, attempt int, pass int, settles_after, position, claimable_at timestamptz, status,
    completed_at timestamptz`,
)

/**
 * The tenant of identifiers that an erasure blocks is compared in a `case`, so that they are found along the index of
 * erasures: without statistics the planner would go through all that the tenant has blocked. Calls `erased` after
 * prospects were erased.
 */
export const postgresErasures = (
  query: Query,
  outbox: Outbox,
  together: Together,
  erased: () => void,
): Erasures => ({
  /**
   * A lookup has one of the names; the others are null and match nothing. A part leads to the erasure that it is part of.
   */
  find: async (lookup) => {
    const { tenantId } = lookup
    const erasureId = 'erasureId' in lookup ? lookup.erasureId : null
    const erasedId = 'erasedId' in lookup ? lookup.erasedId : null
    const prospectId = 'prospectId' in lookup ? lookup.prospectId : null
    const [found] = await query(tenantId)<ErasureRow>`
      with named as (
        select f.erasure_id as id from erasures f
        where f.tenant_id = ${tenantId} and f.erasure_id = ${erasureId} and f.part_of is null
        union all
        select f.erasure_id from erasures f
        where f.tenant_id = ${tenantId} and f.prospect_id = ${prospectId} and f.completed_at is null
          and f.part_of is null
        union all
        select coalesce(f.part_of, f.erasure_id) from erasures f
        where f.tenant_id = ${tenantId} and f.prospect_id = ${erasedId}
      )
      select ${SHOWN.selected}, (
          select max(i.blocked_until) from identifiers i
          where i.erasure_id = e.erasure_id and case when i.tenant_id = ${tenantId} then true else false end
        ) as blocked_until
      from named
        cross join lateral (
          select * from erasures e where e.tenant_id = ${tenantId} and e.erasure_id = named.id limit 1
        ) e
      limit 1`
    return found === undefined ? null : storedErasure(found)
  },

  blockedBy: (tenantId, erasureIds) => query(tenantId)<StoredIdentifier>`
    select i.tenant_id, i.kind, i.hash, i.prospect_id, i.blocked_until, i.erasure_id from identifiers i
    where i.erasure_id = any (${textArray(erasureIds)}::text[])
      and case when i.tenant_id = ${tenantId} then true else false end`,

  /** The `case` is for the planner: with a plain condition it assumes that few rows match, and sorts them all. */
  list: together.read('erasures.list', async (lookups: readonly RowsQuery[]) => {
    const rows = await query()<ErasureRow & { readonly number: number }>`
      select lookup.number, e.*
      from ${WANT.from(numberedSlices(lookups))}
        cross join lateral (
          select ${SHOWN.selected}, (
              select max(i.blocked_until) from identifiers i
              where i.erasure_id = e.erasure_id and case when i.tenant_id = lookup.tenant_id then true else false end
            ) as blocked_until
          from erasures e
          where e.tenant_id = lookup.tenant_id and e.erasure_id < lookup.before_id
            and case when e.part_of is null then true else false end
          order by e.erasure_id desc limit lookup.rows_max
        ) e
      order by lookup.number, e.erasure_id desc`
    return rowsOfEach(lookups, rows).map((list) =>
      list.map(({ number, ...erasure }) => storedErasure(erasure)),
    )
  }),

  /**
   * The prospect is locked first, as it is by every write that adds an identifier to it: so none is left out. If the
   * identifier to block was added meanwhile, the table refuses it: an identifier leads to a prospect or is blocked.
   */
  record: async ({ tenantId, now, until, prospects, identifier, erasures }, events) => {
    const [prospect] = prospects
    const erasedIds = textArray(prospects.map(({ prospectId }) => prospectId))
    const erasureId = erasures[0]?.erasureId ?? null
    const result = await outbox.confirm(
      query()<Events>`
        with erased as (
          update prospects p set email = null, external_id = null, name = null, attributes = null, erased_at = ${now},
            updated_at = ${now}
          where p.tenant_id = ${tenantId} and p.prospect_id = ${prospect?.prospectId ?? null}
            and p.erased_at is null and p.merged_into is null and p.updated_at = ${prospect?.updatedAt ?? null}
            and p.email is not distinct from ${prospect?.email ?? null}
            and p.external_id is not distinct from ${prospect?.externalId ?? null}
            and p.name is not distinct from ${prospect?.name ?? null}
          returning 1
        ),
        -- A row if the prospect was unchanged or, without a prospect, if the identifier leads to no prospect.
        changed as (
          select 1 from erased
          union all
          select 1 where ${prospect === undefined} and (
            select true from identifiers i
            where i.tenant_id = ${tenantId} and i.kind = ${identifier?.kind ?? null}
              and i.hash = ${identifier?.hash ?? null} and i.prospect_id is not null limit 1
          ) is null
        ), erased_with_it as (
          update prospects p set email = null, external_id = null, name = null, attributes = null, erased_at = ${now},
            updated_at = ${now}
          where p.tenant_id = ${tenantId} and p.merged_into = ${prospect?.prospectId ?? null}
            and exists (select 1 from changed)
        ), ended_merges as (
          update merges m set status = 'completed', completed_at = ${now}
          where m.tenant_id = ${tenantId} and m.into_id = ${prospect?.prospectId ?? null} and m.status = 'processing'
            and exists (select 1 from changed)
        ), blocked as (
          update identifiers i set prospect_id = null, value = null, blocked_until = ${until}, erasure_id = ${erasureId}
          where i.tenant_id = ${tenantId} and i.prospect_id = ${prospect?.prospectId ?? null}
            and exists (select 1 from changed)
        ), forgotten as (
          delete from former_identifiers f
          where f.tenant_id = ${tenantId} and f.prospect_id = any (${erasedIds}::text[])
            and exists (select 1 from changed)
          returning f.kind, f.hash
        ), named as (
          select had.kind, had.hash, leads.prospect_id, leads.value
          from (
            select f.kind, f.hash from forgotten f
            union
            select ${identifier?.kind ?? null}, ${identifier?.hash ?? null} where exists (select 1 from changed)
          ) had
            left join lateral (
              select i.prospect_id, i.value from identifiers i
              where i.tenant_id = ${tenantId} and i.kind = had.kind and i.hash = had.hash limit 1
            ) leads on true
          where had.hash is not null
        ),
        -- One that leads to the erased prospect is blocked already. One that leads to another stays, and so does a
        -- placeholder of the tenant.
        also_blocked as (
          insert into identifiers as i (tenant_id, kind, hash, blocked_until, erasure_id)
          select ${tenantId}, named.kind, named.hash, ${until}::timestamptz, ${erasureId}
          from named where named.value is null
          on conflict (tenant_id, kind, hash) do update
            set blocked_until = greatest(i.blocked_until, excluded.blocked_until), erasure_id = excluded.erasure_id
        ), still_leading as (
          select distinct named.prospect_id from named where named.prospect_id <> ${prospect?.prospectId ?? ''}
          order by named.prospect_id desc limit ${ERASURE_NAMES_MAX}
        ), added_erasures as (
          insert into erasures (${ERASURE.names}, still_leads_to)
          select ${ERASURE.values}, case when erasure.part_of is null then still.ids else '[]' end
          from ${ERASURE.from(erasures.map(newErasureRow))}
            cross join (
              select coalesce(json_agg(s.prospect_id order by s.prospect_id desc), '[]') as ids from still_leading s
            ) still
          where exists (select 1 from changed)
        ), ${outbox.newEvents(events)}
        select (select count(*)::int from new_events) as events from changed`,
    )
    if (result === 'recorded') erased()
    return result
  },

  /** As `versions.claim`: from tenant to tenant, along the index of waiting erasures. */
  claim: ({ now, until, horizon, afterTenantId, max }) => query()<ClaimedErasure>`
    with recursive waiting (tenant_id) as (
      (
        select e.tenant_id from erasures e where e.status = 'processing' and e.tenant_id > ${afterTenantId}
        order by e.tenant_id limit 1
      )
      union all
      select (
        select e.tenant_id from erasures e where e.status = 'processing' and e.tenant_id > waiting.tenant_id
        order by e.tenant_id limit 1
      )
      from waiting where waiting.tenant_id is not null
    ), claimed as (
      select due.tenant_id, due.erasure_id
      from waiting
        cross join (
          values ('-infinity', ${now}::timestamptz), (${horizon}::timestamptz, 'infinity')
        ) as span (after, until)
        cross join lateral (
          select e.tenant_id, e.erasure_id from erasures e
          where e.status = 'processing' and e.tenant_id = waiting.tenant_id
            and e.claimable_at > span.after and e.claimable_at <= span.until
          order by e.claimable_at limit ${max} for update skip locked
        ) as due
      limit ${max}
    )
    update erasures e set claimable_at = ${until}, attempts = e.attempts + 1
    from claimed
    where e.tenant_id = claimed.tenant_id and e.erasure_id = claimed.erasure_id
    returning ${CLAIMED.selected}, e.attempts as attempt`,

  /**
   * Finds logs along the index of timelines, as `merges.moveLogs` does. Locks them by id: those with one timeline key come
   * in any order, and two erasers could wait for each other.
   */
  deleteLogs: async ({ tenantId, erasureId, partOf, prospectId }, max) => {
    const [firstKey, lastKey] = timelineOf(prospectId ?? '')
    const [row] = await query(tenantId)<{ found: number }>`
      with due as materialized (
        select * from (
          select l.prospect_log_id from prospect_logs l
          where l.timeline_key between ${firstKey} and ${lastKey}
            and case when l.tenant_id = ${tenantId} then l.prospect_id = ${prospectId} end
          order by l.timeline_key limit (select ${max}::int)
        ) l limit ${max}
      ), locked as materialized (
        select l.prospect_log_id from due
          join prospect_logs l on l.tenant_id = ${tenantId} and l.prospect_log_id = due.prospect_log_id
        order by l.prospect_log_id for update of l
      ), deleted as (
        delete from prospect_logs l using locked
        where l.tenant_id = ${tenantId} and l.prospect_log_id = locked.prospect_log_id
        returning 1
      )
      update erasures set logs_erased = logs_erased + (select count(*) from deleted)
      where tenant_id = ${tenantId} and erasure_id = ${partOf ?? erasureId} and exists (select 1 from due)
      returning (select count(*)::int from due) as found`
    return row?.found ?? 0
  },

  namesAfter: (tenantId, afterId, max) => query(tenantId)<NamingLog>`
    select l.prospect_log_id, l.email, l.external_id
    from (
      select l.*, sum(octet_length(l.email)) over (
        order by l.prospect_log_id rows between unbounded preceding and 2 preceding
      ) as bytes_before
      from (
        select l.prospect_log_id, l.email, l.external_id from prospect_logs l
        where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId}
        order by l.prospect_log_id limit ${max}
      ) l
    ) l
    where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
    order by l.prospect_log_id`,

  settle: async (tenantId, steps, foreign = []) => {
    await query(tenantId)`
      with cleaned as (
        update prospect_logs set email = null, external_id = null, name = null, request_hash = null
        where tenant_id = ${tenantId} and prospect_log_id = any (${textArray(foreign)}::text[])
      )
      update erasures e set pass = step.pass, settles_after = step.settles_after, position = step.position,
        claimable_at = step.claimable_at, status = step.status, completed_at = step.completed_at
      from ${STEP.from(steps)}
      where e.tenant_id = step.tenant_id and e.erasure_id = step.erasure_id
        and e.status = 'processing' and e.attempts = step.attempt and (step.completed_at is null or not exists (
          select 1 from erasures part
          where part.tenant_id = ${tenantId} and part.part_of = e.erasure_id and part.completed_at is null))`
  },

  // Vacuum removes deleted rows.
  purgeDeleted: async () => true,

  extend: async ({ tenantId, erasureId }, until) => {
    await query(tenantId)`
      update identifiers i set blocked_until = ${until}
      where i.erasure_id = ${erasureId} and i.blocked_until < ${until}
        and case when i.tenant_id = ${tenantId} then true else false end`
  },
  unblock: async ({ tenantId, erasureId }, now) => {
    await query(tenantId)`
      update identifiers i set blocked_until = ${now}
      where i.erasure_id = ${erasureId} and i.blocked_until > ${now}
        and case when i.tenant_id = ${tenantId} then true else false end`
  },

  /** Reads at most `countMax` entries of the index of waiting erasures. */
  backlog: async (countMax) => {
    const [backlog] = await query()<Backlog>`
      select count(*)::int as count, min(requested_at) as oldest
      from (
        select requested_at from erasures where status = 'processing' order by tenant_id, claimable_at
        limit ${countMax}
      ) as waiting`
    return backlog ?? { count: 0, oldest: null }
  },

  /** Several erasers share the rows that are due: each skips the rows that another has locked. */
  expire: async ({ tenantId, now, beforeLogId, max }) => {
    const [row] = await query(tenantId)<{ blocks: number; logs: number }>`
      with blocks as materialized (
        select i.kind, i.hash from identifiers i
        where i.tenant_id = ${tenantId} and i.blocked_until <= ${now} and not exists (
          select 1 from erasures e
          where e.tenant_id = ${tenantId} and e.erasure_id = i.erasure_id and e.completed_at is null
        )
        limit ${max} for update skip locked
      ), unblocked as (
        delete from identifiers i using blocks
        where i.tenant_id = ${tenantId} and i.kind = blocks.kind and i.hash = blocks.hash and i.blocked_until <= ${now}
      ), old as materialized (
        select l.prospect_log_id from prospect_logs l
        where l.tenant_id = ${tenantId} and l.prospect_log_id < ${beforeLogId ?? ''}
        order by l.prospect_log_id limit ${max} for update skip locked
      ), deleted as (
        delete from prospect_logs l using old
        where l.tenant_id = ${tenantId} and l.prospect_log_id = old.prospect_log_id
      )
      select (select count(*)::int from blocks) as blocks, (select count(*)::int from old) as logs`
    return row !== undefined && Math.max(row.blocks, row.logs) === max
  },

  lastServed: async () => (await query()<Served>`select served_at, paused_at from served`)[0] ?? null,
  saveClock: async ({ servedAt, pausedAt }) => {
    await query()`
      insert into served (id, served_at, paused_at) values (1, ${servedAt}, ${pausedAt})
      on conflict (id) do update set served_at = excluded.served_at, paused_at = excluded.paused_at`
  },
})
