import { setImmediate as nextTurn } from 'node:timers/promises'
import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { ClaimedErasure, Erasures, StoredErasure } from '../../core/ports/erasures.ts'
import type { Served } from '../../core/ports/world.ts'
import { COLUMNS, ERASURE_SHOWN, newErasureRow } from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import { backlogOf, claimFrom } from './claim.ts'
import type { Outbox } from './events.ts'
import { BEFORE_ID, type Database, insertInto, type Values } from './open.ts'
import { removeSome } from './pages.ts'
import { rewriteFile } from './rewrite.ts'

const ERASURE = `
  select ${Object.keys(ERASURE_SHOWN)}, (
    select blocked_until from prospects p where p.tenant_id = e.tenant_id and p.prospect_id = e.block_id
  ) as blocked_until
  from erasures e where tenant_id = :tenantId`
const BY_ID = `${ERASURE} and erasure_id = :erasureId`
const BY_PROSPECT = `${ERASURE} and completed_at is null and prospect_id = :prospectId`
const BY_EMAIL = `${ERASURE} and email_hash = :emailHash`
const LIST = `${ERASURE} and erasure_id < ${BEFORE_ID} order by erasure_id desc`
const ADD = insertInto('erasures', COLUMNS.erasures)
const ERASE = `
  update prospects set email = null, email_hash = null, name = null, erased_at = :now, updated_at = :now
  where tenant_id = :tenantId and prospect_id = :prospectId and erased_at is null and email_hash is :emailHash`
const OWNER = `
  select 1 from prospects
  where tenant_id = :tenantId and email_hash = :emailHash and erased_at is null and prospect_id is not :erasedId`
const BLOCK = `
  insert into prospects as p (tenant_id, prospect_id, email_hash, created_at, updated_at, erased_at, blocked_until)
  values (:tenantId, :prospectId, :emailHash, :now, :now, :now, :until)
  on conflict (tenant_id, email_hash) where email_hash is not null
    do update set blocked_until = max(p.blocked_until, excluded.blocked_until) where p.erased_at is not null`
const QUEUE = {
  table: 'erasures',
  key: 'erasure_id',
  answered: '*',
}
const LOGS = `
  select tenant_id, prospect_log_id, octet_length(payload) + coalesce(octet_length(email), 0)
    + coalesce(octet_length(name), 0) as bytes
  from prospect_logs`
// The `+` keeps SQLite from going through all logs of the tenant instead of the timeline.
const LOGS_OF_PROSPECT = `
  ${LOGS} where +tenant_id = :tenantId and timeline_key >= :first and timeline_key <= :last
    and prospect_id = :prospectId
  order by timeline_key limit :limit`
// Before null there are none.
const LOGS_BEFORE = `
  ${LOGS} where tenant_id = :tenantId and prospect_log_id < :beforeLogId order by prospect_log_id limit :limit`
const LOG = 'where tenant_id = :tenantId and prospect_log_id = :prospectLogId'
const DELETE_LOG = `delete from prospect_logs ${LOG}`
const CLEAN_LOG = `update prospect_logs set email = null, name = null, request_hash = null ${LOG}`
const COUNT_LOGS = `
  update erasures set logs_erased = logs_erased + :deleted where tenant_id = :tenantId and erasure_id = :erasureId`
const EMAILS = `
  select prospect_log_id, email from prospect_logs where tenant_id = :tenantId and prospect_log_id > :afterId
  order by prospect_log_id limit :limit`
// In pass 3 the position belongs to the process that rewrites the file.
const SETTLE = `
  update erasures set pass = max(pass, :pass), position = iif(:pass = 3, position, :position),
    claimable_at = :claimableAt, status = :status, completed_at = :completedAt, email_hash = case when :completedAt is null then email_hash end
  where tenant_id = :tenantId and erasure_id = :erasureId and status = 'processing' and attempts = :attempt`
const UNBLOCK = `
  update prospects set blocked_until = :now where tenant_id = :tenantId and blocked_until > :now
    and prospect_id = (select block_id from erasures where tenant_id = :tenantId and erasure_id = :erasureId)`
const END_BLOCKS = `
  delete from prospects where (tenant_id, prospect_id) in (
    select tenant_id, prospect_id from prospects p
    where tenant_id = :tenantId and blocked_until <= :now and not exists (
      select 1 from erasures e where e.tenant_id = :tenantId and e.email_hash = p.email_hash)
    limit :max)`
const MARK_SERVED = `
  insert into served values (1, :servedAt, :pausedAt)
  on conflict do update set served_at = excluded.served_at, paused_at = excluded.paused_at`
const WAITING = "erasures where status = 'processing' order by tenant_id, claimable_at"

/** Calls `erased` after a person was erased. */
export const sqliteErasures = (
  database: Database,
  outbox: Outbox,
  erased: (tenantId: string) => () => void,
): Erasures => ({
  find: async (want) => {
    const by = 'erasureId' in want ? BY_ID : 'prospectId' in want ? BY_PROSPECT : BY_EMAIL
    return database.get<StoredErasure>(by, want)
  },

  list: async (wants) => wants.map((want) => database.slice<StoredErasure>(LIST, want)),

  record: ({ tenantId, now, erasure, block }, events) =>
    database.record(() => {
      if (erasure && block && database.has(OWNER, { ...block, tenantId, erasedId: erasure.prospectId }))
        return 'overtaken'
      if (erasure?.prospectId != null && database.run(ERASE, { ...erasure, now }) === 0) return 'overtaken'
      if (block !== null) database.run(BLOCK, { ...block, tenantId, now })
      if (erasure !== null) database.run(ADD, newErasureRow(erasure))
      outbox(events)
      return 'recorded'
    }, erased(tenantId)),

  claim: claimFrom<ClaimedErasure>(database, QUEUE),

  deleteLogs: async (erasure, max) => {
    const [first, last] = timelineOf(erasure.prospectId ?? '')
    for (let all = 0; ; await nextTurn()) {
      const wanted = { ...erasure, first, last, limit: max - all }
      const deleted = await database.write(() => {
        const deleted = deleteFirst(database, LOGS_OF_PROSPECT, wanted)
        if (deleted > 0) database.run(COUNT_LOGS, { ...erasure, deleted })
        return deleted
      })
      all += deleted
      if (deleted === 0 || all === max) return all
    }
  },

  emailsAfter: async (tenantId, afterId, limit) => database.slice(EMAILS, { tenantId, afterId, limit }),

  settle: (tenantId, steps, foreign = []) =>
    database.write(() => {
      for (const prospectLogId of foreign) database.run(CLEAN_LOG, { tenantId, prospectLogId })
      for (const step of steps) database.run(SETTLE, step)
    }),

  rewrite: (now) => rewriteFile(database, Date.parse(now)),

  unblock: async (want, now) => void (await database.write(() => database.run(UNBLOCK, { ...want, now }))),

  backlog: backlogOf(database, 'requested_at', WAITING),

  expire: (want) =>
    database.write(() => {
      const blocks = database.run(END_BLOCKS, want)
      const logs = deleteFirst(database, LOGS_BEFORE, { ...want, limit: want.max })
      return removeSome(database, want.tenantId) || blocks === want.max || logs > 0
    }),

  lastServed: async () => database.get<Served>('select served_at, paused_at from served', {}),
  markServed: (served) => database.write(() => void database.run(MARK_SERVED, served)),
})

/** The first of these logs, as many as fill a slice: what is deleted is overwritten, and callers wait meanwhile. */
const deleteFirst = (database: Database, logs: string, want: Values): number => {
  let [deleted, bytesDeleted] = [0, 0]
  for (const { bytes, ...log } of database.all<Values & { bytes: number }>(logs, want)) {
    if (bytesDeleted > SLICE_BYTES_MAX) break
    deleted += database.run(DELETE_LOG, log)
    bytesDeleted += bytes
  }
  return deleted
}
