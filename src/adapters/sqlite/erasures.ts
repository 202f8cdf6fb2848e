import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ClaimedErasure, Erasures, StoredErasure } from '../../core/ports/erasures.ts'
import { SLICE_BYTES_MAX } from '../../core/slices.ts'
import { AFTER_ALL_IDS, COLUMNS, ERASURE_SHOWN, newErasureRow, takeSlice } from '../rows.ts'
import { timelineOf } from '../timeline-key.ts'
import { claimFrom } from './claim.ts'
import { type Database, insertInto } from './open.ts'

const ERASURE = `select ${Object.keys(ERASURE_SHOWN)} from erasures where tenant_id = ?`
const BY_ID = `${ERASURE} and erasure_id = ?`
const BY_PROSPECT = `${ERASURE} and completed_at is null and prospect_id = ?`
const BY_EMAIL = `${ERASURE} and email_hash = ?`
const LIST = `${ERASURE} and erasure_id < ? order by erasure_id desc`
const ERASE = `
  update prospects set email = null, email_hash = null, name = null, erased_at = ?, updated_at = ?
  where tenant_id = ? and prospect_id = ? and erased_at is null and email_hash is ?`
const OWNER = `
  select 1 from prospects where tenant_id = ? and email_hash = ? and erased_at is null and prospect_id <> ?`
const BLOCK = `
  insert into prospects as p (tenant_id, prospect_id, email_hash, created_at, updated_at, erased_at, blocked_until)
  values (?, ?, ?, ?, ?, ?, ?)
  on conflict (tenant_id, email_hash) where email_hash is not null
    do update set blocked_until = max(p.blocked_until, excluded.blocked_until) where p.erased_at is not null`
const QUEUE = {
  table: 'erasures',
  key: ['erasure_id'],
  answered: ['prospect_id', 'email_hash', 'requested_at', 'pass', 'position'],
}
/** The first of these logs, as many as fill a slice: what is deleted is overwritten, and callers wait meanwhile. */
const deleteFirst = (wanted: string, order: string): string => `
  delete from prospect_logs where (tenant_id, prospect_log_id) in (
    select tenant_id, prospect_log_id
    from (
      select tenant_id, prospect_log_id, sum(bytes) over (
        order by ${order} rows between unbounded preceding and 1 preceding
      ) as bytes_before
      from (
        select tenant_id, prospect_log_id, timeline_key, octet_length(payload)
          + coalesce(octet_length(email), 0) + coalesce(octet_length(name), 0) as bytes
        from prospect_logs
        where ${wanted} order by ${order} limit ?
      )
    )
    where coalesce(bytes_before, 0) <= ${SLICE_BYTES_MAX})`
// The `+` keeps SQLite from going through all logs of the tenant instead of the timeline.
const DELETE_LOGS = deleteFirst(
  '+tenant_id = ? and timeline_key >= ? and timeline_key <= ? and prospect_id = ?',
  'timeline_key',
)
const COUNT_LOGS = 'update erasures set logs_erased = logs_erased + ? where tenant_id = ? and erasure_id = ?'
const EMAILS = `
  select prospect_log_id, email from prospect_logs where tenant_id = ? and prospect_log_id > ?
  order by prospect_log_id limit ?`
const CLEAN = 'update prospect_logs set email = null, name = null where tenant_id = ? and prospect_log_id = ?'
const OURS = "where tenant_id = ? and erasure_id = ? and status = 'processing' and attempts = ?"
const COMPLETE = `update erasures set status = 'completed', completed_at = ?, email_hash = null ${OURS}`
const GO_ON = `update erasures set pass = ?, position = ?, claimable_at = ? ${OURS}`
const UNBLOCK = `
  delete from prospects where (tenant_id, prospect_id) in (
    select tenant_id, prospect_id from prospects where tenant_id = ? and blocked_until <= ? limit ?)`
const DELETE_OLD = deleteFirst('tenant_id = ? and prospect_log_id < ?', 'prospect_log_id')

const insertErasure = insertInto('erasures', COLUMNS.erasures)

/** Calls `erased` after a person was erased. */
export const sqliteErasures = (database: Database, erased: () => void): Erasures => ({
  find: async ({ tenantId, ...by }) => {
    if ('erasureId' in by) return database.get<StoredErasure>(BY_ID, tenantId, by.erasureId) ?? null
    if ('prospectId' in by) return database.get<StoredErasure>(BY_PROSPECT, tenantId, by.prospectId) ?? null
    return database.get<StoredErasure>(BY_EMAIL, tenantId, by.emailHash) ?? null
  },

  list: async (wants) =>
    wants.map(({ tenantId, beforeId, limit }) => {
      const take = (rows: Iterable<StoredErasure>) => takeSlice(rows, limit)
      return database.from(take, LIST, tenantId, beforeId ?? AFTER_ALL_IDS)
    }),

  record: async ({ tenantId, now, erasure, block }) => {
    const recorded = await database.record(() => {
      const prospectId = erasure?.prospectId ?? ''
      if (erasure && block && database.has(OWNER, tenantId, block.emailHash, prospectId)) return 'overtaken'
      if (erasure?.prospectId != null)
        if (database.run(ERASE, now, now, tenantId, prospectId, erasure.emailHash) === 0) return 'overtaken'
      if (block !== null)
        database.run(BLOCK, tenantId, block.prospectId, block.emailHash, now, now, now, block.until)
      if (erasure !== null) insertErasure(database, newErasureRow(erasure))
      return 'recorded'
    })
    if (recorded === 'recorded') erased()
    return recorded
  },

  claim: claimFrom<ClaimedErasure>(database, QUEUE),

  deleteLogs: async ({ tenantId, erasureId, prospectId }, max) => {
    const deleteSome = (limit: number) =>
      database.write(() => {
        const deleted = database.run(
          DELETE_LOGS,
          tenantId,
          ...timelineOf(prospectId ?? ''),
          prospectId,
          limit,
        )
        if (deleted > 0) database.run(COUNT_LOGS, deleted, tenantId, erasureId)
        return deleted
      })
    for (let all = 0; ; await nextTurn()) {
      const deleted = await deleteSome(max - all)
      all += deleted
      if (deleted === 0 || all === max) return all
    }
  },

  emailsAfter: async (tenantId, afterId, max) => {
    const take = (rows: Iterable<{ prospectLogId: string; email: string | null }>) => takeSlice(rows, max)
    return database.from(take, EMAILS, tenantId, afterId, max)
  },

  settle: async ({ tenantId, erasureId, attempt }, step) => {
    const ours = [tenantId, erasureId, attempt] as const
    if (step.status === 'completed' && !database.emptyJournal()) return false
    return database.write(() => {
      if (step.status === 'completed') return database.run(COMPLETE, step.at, ...ours) === 1
      for (const prospectLogId of step.foreign) database.run(CLEAN, tenantId, prospectLogId)
      return database.run(GO_ON, step.pass, step.position, step.claimableAt, ...ours) === 1
    })
  },

  expire: ({ tenantId, now, beforeLogId, max }) =>
    database.write(() => {
      const blocks = database.run(UNBLOCK, tenantId, now, max)
      const logs = beforeLogId === null ? 0 : database.run(DELETE_OLD, tenantId, beforeLogId, max)
      return blocks === max || logs > 0
    }),
})
