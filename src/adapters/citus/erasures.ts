import type {
  ClaimedErasure,
  Erasures,
  ErasureWant,
  NamingLog,
  StoredErasure,
} from '../../core/ports/erasures.ts'
import type { Served } from '../../core/ports/world.ts'
import { ERASURE_SHOWN } from '../stores/rows.ts'
import { slicesByTenant } from './by-tenant.ts'
import { backlogOf, claimFrom } from './claim.ts'
import type { Forms } from './forms.ts'
import type { Outbox } from './outbox.ts'
import { alongTimeline } from './prospect-logs.ts'
import { columns, type Query, sql, textArray } from './sql.ts'
import { tombstones } from './tombstones.ts'
import { slice } from './walk.ts'

const SHOWN = columns('e', ERASURE_SHOWN)
const STEPS = columns(
  'step',
  'erasure_id, attempt int, pass int, position, claimable_at timestamptz, status, completed_at timestamptz',
)
const WANTS = columns('want', 'number int, before_id, rows_max int')
// An expression, because for a plain condition the planner assumes that few rows match, and sorts them all.
const IS_WHOLE = sql`case when e.part_of is null then true else false end`
const WAITING = sql`erasures where status = 'processing' order by tenant_id, claimable_at`
export const QUEUED_ERASURES = {
  table: sql`erasures v`,
  key: sql`v.tenant_id, v.erasure_id`,
  isClaimed: sql`v.erasure_id = claimed.erasure_id`,
  answered: sql`v.*`,
}

export const postgresErasures = (
  query: Query,
  forms: Forms,
  erased: (tenantId: string) => void,
  outbox: Outbox,
): Erasures => ({
  find: async (want) => {
    const { tenantId } = want
    const [found] = await query(tenantId)<StoredErasure>`
      select ${SHOWN.names}, ${blockedUntil(tenantId)} from erasures e
      where e.tenant_id = ${tenantId} and ${isWanted(want)} limit 1`
    return found ?? null
  },

  list: async (wants) => {
    const lists = await slicesByTenant(wants, (its, { tenantId }) => {
      return query(tenantId)<StoredErasure & { readonly want: number }>`
        select want.number as want, e.*
        from ${WANTS.from(its)}
          cross join lateral (
            select ${SHOWN.names}, ${blockedUntil(tenantId)} from erasures e
            where e.tenant_id = ${tenantId} and e.erasure_id < want.before_id and ${IS_WHOLE}
            order by e.erasure_id desc limit want.rows_max
          ) e
        order by want.number, e.erasure_id desc`
    })
    return lists.map((list) => list.map(({ want, ...row }) => row))
  },

  record: async (changes, events) => {
    const recorded = await outbox.change(changes, events, ...tombstones(forms, changes))
    if (recorded === 'recorded') erased(changes.tenantId)
    return recorded
  },

  claim: claimFrom<ClaimedErasure>(query, QUEUED_ERASURES),

  /** Locks the logs by id: those with one timeline key come in any order, and two workers could wait for each other. */
  deleteLogs: async ({ tenantId, erasureId, partOf, prospectId }, max) => {
    const its = alongTimeline(forms.pinned, { tenantId, prospectId: prospectId ?? '' })
    const [row] = await query(tenantId)<{ found: number }>`
      with due as materialized (
        select * from (select l.prospect_log_id ${its} order by l.timeline_key limit (select ${max}::int)) l
        limit ${max}
      ), held as materialized (
        select l.prospect_log_id from due
          join prospect_logs l on l.tenant_id = ${tenantId} and l.prospect_log_id = due.prospect_log_id
        order by l.prospect_log_id for update of l
      ), deleted as (
        delete from prospect_logs l using held
        where l.tenant_id = ${tenantId} and l.prospect_log_id = held.prospect_log_id
        returning 1
      )
      update erasures set logs_erased = logs_erased + (select count(*) from deleted)
      where tenant_id = ${tenantId} and erasure_id = ${partOf ?? erasureId} and exists (select 1 from due)
      returning (select count(*)::int from due) as found`
    return row?.found ?? 0
  },

  namesAfter: (tenantId, afterId, max) => {
    const after = sql`
      select l.prospect_log_id, l.email, l.external_id from prospect_logs l
      where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId}`
    return query(tenantId)<NamingLog>`
      select l.prospect_log_id, l.email, l.external_id
      from ${slice(after, sql`octet_length(l.email)`, sql`l.prospect_log_id`, max)}
      order by l.prospect_log_id`
  },

  settle: async (tenantId, steps, foreign = []) => {
    await query(tenantId)`
      with cleaned as (
        update prospect_logs set email = null, external_id = null, name = null, request_hash = null
        where tenant_id = ${tenantId} and prospect_log_id = any (${textArray(foreign)}::text[])
      )
      update erasures e set pass = step.pass, position = step.position, claimable_at = step.claimable_at,
        status = step.status, completed_at = step.completed_at,
        email_hash = case when step.completed_at is null then e.email_hash end,
        external_id_hash = case when step.completed_at is null then e.external_id_hash end
      from ${STEPS.from(steps)}
      where e.tenant_id = ${tenantId} and e.erasure_id = step.erasure_id
        and e.status = 'processing' and e.attempts = step.attempt and (step.completed_at is null or not exists (
          select 1 from erasures part
          where part.tenant_id = ${tenantId} and part.part_of = e.erasure_id and part.completed_at is null))`
  },

  // Vacuum removes deleted rows.
  rewrite: async () => true,

  extend: async (want, until) => {
    await query(want.tenantId)`
      update prospects set blocked_until = ${until} where blocked_until < ${until} and ${isBlockOf(want)}`
  },
  unblock: async (want, now) => {
    await query(want.tenantId)`
      update prospects set blocked_until = ${now} where blocked_until > ${now} and ${isBlockOf(want)}`
  },

  backlog: backlogOf(query, sql`requested_at`, WAITING),

  /** Several workers share the rows that are due: each skips the rows that another has locked. */
  expire: async ({ tenantId, now, beforeLogId, max }) => {
    const [row] = await query(tenantId)<{ blocks: number; logs: number }>`
      with blocks as materialized (
        select p.prospect_id from prospects p
        where p.tenant_id = ${tenantId} and p.blocked_until <= ${now} and not exists (
          select 1 from erasures e
          where e.tenant_id = ${tenantId} and e.block_id = p.prospect_id and e.completed_at is null
        )
        limit ${max} for update skip locked
      ), unblocked as (
        delete from prospects p using blocks
        where p.tenant_id = ${tenantId} and p.prospect_id = blocks.prospect_id and p.blocked_until <= ${now}
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

/** The end of the block of an erasure `e`. */
const blockedUntil = (tenantId: string | null) => sql`(
  select b.blocked_until from prospects b where b.tenant_id = ${tenantId} and b.prospect_id = e.block_id
) as blocked_until`

const isWanted = (by: ErasureWant) => {
  if ('erasureId' in by) return sql`e.part_of is null and e.erasure_id = ${by.erasureId}`
  if ('prospectId' in by)
    return sql`e.part_of is null and e.completed_at is null and e.prospect_id = ${by.prospectId}`
  return sql`e.erasure_id in (
    select coalesce(f.part_of, f.erasure_id) from erasures f where f.tenant_id = ${by.tenantId} and ${isNamed(by)})`
}
const isNamed = (by: Exclude<ErasureWant, { erasureId: string } | { prospectId: string }>) => {
  if ('erasedId' in by) return sql`f.prospect_id = ${by.erasedId}`
  if ('emailHash' in by) return sql`f.email_hash = ${by.emailHash}`
  return sql`f.external_id_hash = ${by.externalIdHash}`
}

const isBlockOf = ({ tenantId, erasureId }: Pick<StoredErasure, 'tenantId' | 'erasureId'>) => sql`
  tenant_id = ${tenantId} and prospect_id in (
    select block_id from erasures where tenant_id = ${tenantId} and erasure_id = ${erasureId}
    union all select block_id from erasures where tenant_id = ${tenantId} and part_of = ${erasureId})`
