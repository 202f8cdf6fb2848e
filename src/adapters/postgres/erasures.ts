import type { ClaimedErasure, Erasures, ErasureWant, StoredErasure } from '../../core/ports/erasures.ts'
import type { Served } from '../../core/ports/world.ts'
import { COLUMNS, ERASURE_SHOWN, newErasureRow } from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import { slicesByTenant } from './by-tenant.ts'
import { backlogOf, claimFrom } from './claim.ts'
import type { Outbox } from './outbox.ts'
import { joined, type Query, sql } from './sql.ts'
import { columns, textArray } from './statements.ts'
import { slice } from './walk.ts'

const ROW = columns('erasure', COLUMNS.erasures)
const SHOWN = columns('e', ERASURE_SHOWN)
const STEPS = columns(
  'step',
  'erasure_id, attempt int, pass int, position, claimable_at timestamptz, status, completed_at timestamptz',
)
const WANTS = columns('want', 'number int, before_id, rows_max int')
const WAITING = sql`erasures where status = 'processing' order by tenant_id, claimable_at`
const QUEUE = {
  table: sql`erasures v`,
  key: sql`v.tenant_id, v.erasure_id`,
  isClaimed: sql`v.erasure_id = claimed.erasure_id`,
  answered: sql`v.*`,
}

export const postgresErasures = (
  query: Query,
  isCluster: boolean,
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
    const lists = await slicesByTenant(wants, (tenantId, its) => {
      return query(tenantId)<StoredErasure & { readonly want: number }>`
        select want.number as want, e.*
        from ${WANTS.from(its)}
          cross join lateral (
            select ${SHOWN.names}, ${blockedUntil(tenantId)} from erasures e
            where e.tenant_id = ${tenantId} and e.erasure_id < want.before_id
            order by e.erasure_id desc limit want.rows_max
          ) e
        order by want.number, e.erasure_id desc`
    })
    return lists.map((list) => list.map(({ want, ...row }) => row))
  },

  /**
   * The old row of the erased prospect must be gone before its email is blocked, so that the email is free. PostgreSQL runs
   * a part when it is read: the checks at the end read one after the other. If they ran in another order, or a part changed
   * nothing because another writer was faster, a division by zero would take everything back.
   */
  record: async ({ tenantId, now, erasure, block }, events) => {
    const parts = []
    const checks = []
    if (erasure?.prospectId != null) {
      parts.push(sql`erased as (
        update prospects set email = null, email_hash = null, name = null, erased_at = ${now}, updated_at = ${now}
        where tenant_id = ${tenantId} and prospect_id = ${erasure.prospectId} and erased_at is null
          and email_hash is not distinct from ${erasure.emailHash}
        returning 1)`)
      checks.push(sql`select 1 / count(*) from erased`)
    }
    if (block !== null) {
      parts.push(sql`blocked as (
        insert into prospects as p (tenant_id, prospect_id, email_hash, created_at, updated_at, erased_at, blocked_until)
        values (${tenantId}, ${block.prospectId}, ${block.emailHash}, ${now}, ${now}, ${now}, ${block.until})
        on conflict (tenant_id, email_hash) where email_hash is not null
          do update set blocked_until = greatest(p.blocked_until, excluded.blocked_until) where p.erased_at is not null
        returning 1)`)
      if (erasure !== null) checks.push(sql`select 1 / count(*) from blocked`)
    }
    if (erasure !== null)
      parts.push(sql`added as (insert into erasures ${ROW.values([newErasureRow(erasure)])})`)
    const done = joined([...checks, sql`select 1`], sql` union all `)
    const recorded = await outbox.record([{ tenantId }], events, parts, done)
    if (recorded === 'recorded') erased(tenantId)
    return recorded
  },

  claim: claimFrom<ClaimedErasure>(query, isCluster, QUEUE),

  deleteLogs: async ({ tenantId, erasureId, prospectId }, max) => {
    const [first, last] = timelineOf(prospectId ?? '')
    const [row] = await query(tenantId)<{ found: number }>`
      with due as materialized (
        select l.prospect_log_id from prospect_logs l
        where l.tenant_id = ${tenantId} and l.timeline_key >= ${first} and l.timeline_key <= ${last}
          and l.prospect_id = ${prospectId}
        order by l.timeline_key limit ${max}
      ), deleted as (
        delete from prospect_logs l using due
        where l.tenant_id = ${tenantId} and l.prospect_log_id = due.prospect_log_id
        returning 1
      )
      update erasures set logs_erased = logs_erased + (select count(*) from deleted)
      where tenant_id = ${tenantId} and erasure_id = ${erasureId}
      returning (select count(*)::int from due) as found`
    return row?.found ?? 0
  },

  emailsAfter: (tenantId, afterId, max) => {
    const after = sql`
      select l.prospect_log_id, l.email from prospect_logs l
      where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId}`
    return query(tenantId)<{ prospectLogId: string; email: string | null }>`
      select l.prospect_log_id, l.email
      from ${slice(after, sql`octet_length(l.email)`, sql`l.prospect_log_id`, max)}
      order by l.prospect_log_id`
  },

  settle: async (tenantId, steps, foreign = []) => {
    await query(tenantId)`
      with cleaned as (
        update prospect_logs set email = null, name = null, request_hash = null
        where tenant_id = ${tenantId} and prospect_log_id = any (${textArray(foreign)}::text[])
      )
      update erasures e set pass = step.pass, position = step.position, claimable_at = step.claimable_at,
        status = step.status, completed_at = step.completed_at,
        email_hash = case when step.completed_at is null then e.email_hash end
      from ${STEPS.from(steps)}
      where e.tenant_id = ${tenantId} and e.erasure_id = step.erasure_id
        and e.status = 'processing' and e.attempts = step.attempt`
  },

  // Vacuum does it.
  rewrite: async () => true,

  unblock: async ({ tenantId, erasureId }, now) => {
    await query(tenantId)`
      update prospects set blocked_until = ${now}
      where tenant_id = ${tenantId} and blocked_until > ${now} and prospect_id = (
        select block_id from erasures where tenant_id = ${tenantId} and erasure_id = ${erasureId}
      )`
  },

  backlog: backlogOf(query, sql`requested_at`, WAITING),

  /** Several workers share what is due: each skips the rows that another one has locked. */
  expire: async ({ tenantId, now, beforeLogId, max }) => {
    const [row] = await query(tenantId)<{ blocks: number; logs: number }>`
      with blocks as materialized (
        select p.prospect_id from prospects p
        where p.tenant_id = ${tenantId} and p.blocked_until <= ${now} and not exists (
          select 1 from erasures e where e.tenant_id = ${tenantId} and e.email_hash = p.email_hash
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
  markServed: async ({ servedAt, pausedAt }) => {
    await query()`
      insert into served (id, served_at, paused_at) values (1, ${servedAt}, ${pausedAt})
      on conflict (id) do update set served_at = excluded.served_at, paused_at = excluded.paused_at`
  },
})

/** Of an erasure `e`. */
const blockedUntil = (tenantId: string | null) => sql`(
  select b.blocked_until from prospects b where b.tenant_id = ${tenantId} and b.prospect_id = e.block_id
) as blocked_until`

const isWanted = (by: ErasureWant) => {
  if ('erasureId' in by) return sql`e.erasure_id = ${by.erasureId}`
  if ('prospectId' in by) return sql`e.completed_at is null and e.prospect_id = ${by.prospectId}`
  return sql`e.email_hash = ${by.emailHash}`
}
