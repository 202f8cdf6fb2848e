import { setImmediate } from 'node:timers/promises'
import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import {
  type ClaimedErasure,
  ERASURE_NAMES_MAX,
  ERASURE_PASSES,
  type Erasures,
} from '../../core/ports/erasures.ts'
import type { StoredIdentifier } from '../../core/ports/identifiers.ts'
import type { ProspectKey } from '../../core/ports/prospects.ts'
import type { Served } from '../../core/ports/world.ts'
import { newErasureRow } from '../stores/people-rows.ts'
import { COLUMNS, ERASURE_CLAIMED, ERASURE_SHOWN, type ErasureRow, storedErasure } from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import { backlogBy, claimFrom } from './claim.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { removeSome } from './pages.ts'
import { IS_UNCHANGED } from './prospects.ts'
import { rewriteFile } from './rewrite.ts'
import { BEFORE_ID, insertInto, type Values } from './statements.ts'

// Without statistics SQLite would scan all identifiers of the tenant instead of this index.
const BLOCKED = `
  identifiers indexed by identifiers_of_erasure where tenant_id = :tenantId and erasure_id`
const ERASURE = `
  select ${Object.keys(ERASURE_SHOWN)}, (select max(blocked_until) from ${BLOCKED} = e.erasure_id) as blocked_until
  from erasures e where tenant_id = :tenantId`
const BY_ID = `${ERASURE} and part_of is null and erasure_id = :erasureId`
const BY_PROSPECT = `${ERASURE} and part_of is null and completed_at is null and prospect_id = :prospectId`
/** The row of a prospect may be a part: then finds the erasure that it is a part of. */
const BY_ERASED = `
  ${ERASURE} and erasure_id in (
    select coalesce(part_of, erasure_id) from erasures indexed by erasures_by_prospect
    where tenant_id = :tenantId and prospect_id = :erasedId
  )`
const LIST = `${ERASURE} and part_of is null and erasure_id < ${BEFORE_ID} order by erasure_id desc`
const ADD = insertInto('erasures', COLUMNS.erasures)
const ERASE = `
  update prospects set email = null, external_id = null, name = null, name_key = null, last_name_key = null,
    attributes = null, erased_at = :now, updated_at = :now
  where tenant_id = :tenantId and prospect_id = :prospectId`
const END_MERGES = `
  update merges indexed by merges_into set status = 'completed', completed_at = :now
  where tenant_id = :tenantId and into_id = :prospectId and status = 'processing'`
const BLOCK_OWN = `
  update identifiers indexed by identifiers_of_prospect
  set value = null, prospect_id = null, blocked_until = :until, erasure_id = :erasureId
  where tenant_id = :tenantId and prospect_id = :prospectId`
/** Blocks an identifier, unless it leads to a prospect or is a placeholder of the tenant. */
const blockOf = (rows: string) => `
  insert into identifiers as i (tenant_id, kind, hash, blocked_until, erasure_id) ${rows}
  on conflict (tenant_id, kind, hash) do update set blocked_until = max(i.blocked_until, excluded.blocked_until),
    erasure_id = excluded.erasure_id
  where i.prospect_id is null and i.value is null`
const BLOCK = blockOf('values (:tenantId, :kind, :hash, :until, :erasureId)')
const OF_PROSPECT = 'where tenant_id = :tenantId and prospect_id = :prospectId'
const BLOCK_FORMER = blockOf(
  `select tenant_id, kind, hash, :until, :erasureId from former_identifiers ${OF_PROSPECT}`,
)
/** Prospects that former identifiers of this one lead to. */
const LEADS_OF_FORMER = `
  select distinct i.prospect_id
  from former_identifiers f
    cross join identifiers i on i.tenant_id = f.tenant_id and i.kind = f.kind and i.hash = f.hash
  where f.tenant_id = :tenantId and f.prospect_id = :prospectId and i.prospect_id is not null`
const REMOVE_FORMER = `delete from former_identifiers ${OF_PROSPECT}`
const BLOCKED_BY = `
  select tenant_id, kind, hash, prospect_id, blocked_until, erasure_id from ${BLOCKED} = :erasureId order by kind, hash`
/** From one tenant to the next along the index of waiting rows. */
const DUE_TENANTS = `
  with recursive walk (tenant_id) as (
    select min(tenant_id) from erasures where status = 'processing' and tenant_id > :afterTenantId
    union all
    select (
      select min(w.tenant_id) from erasures w where w.status = 'processing' and w.tenant_id > walk.tenant_id
    )
    from walk where tenant_id is not null
  )
  select tenant_id from walk
  where (
    (select min(w.claimable_at) from erasures w where w.status = 'processing' and w.tenant_id = walk.tenant_id) <= :now
    or (select max(w.claimable_at) from erasures w where w.status = 'processing' and w.tenant_id = walk.tenant_id) > :horizon
  )
  limit :max`
const CLAIM = `
  update erasures set claimable_at = :until, attempts = attempts + 1
  where (tenant_id, erasure_id) in (
    select tenant_id, erasure_id from erasures
    where status = 'processing' and tenant_id = :tenantId and claimable_at > :after and claimable_at <= :last
    order by claimable_at limit :max
  )
  returning ${Object.keys(ERASURE_CLAIMED)}, attempts as attempt`
const LOGS = `
  select tenant_id, prospect_log_id, octet_length(payload) + coalesce(octet_length(email), 0)
    + coalesce(octet_length(name), 0) as bytes
  from prospect_logs`
// The `+` keeps SQLite from going through all logs of the tenant instead of the timeline.
export const LOGS_OF_PROSPECT = `
  ${LOGS} where +tenant_id = :tenantId and timeline_key >= :first and timeline_key <= :last
    and prospect_id = :prospectId
  order by timeline_key limit :limit`
// Without `beforeLogId` no log matches.
const LOGS_BEFORE = `
  ${LOGS} where tenant_id = :tenantId and prospect_log_id < :beforeLogId order by prospect_log_id limit :limit`
const LOG = 'where tenant_id = :tenantId and prospect_log_id = :prospectLogId'
const DELETE_LOG = `delete from prospect_logs ${LOG}`
const CLEAN_LOG = `
  update prospect_logs set email = null, external_id = null, name = null, request_hash = null ${LOG}`
const COUNT_LOGS = `
  update erasures set logs_erased = logs_erased + :deleted
  where tenant_id = :tenantId and erasure_id = coalesce(:partOf, :erasureId)`
const NAMES = `
  select prospect_log_id, email, external_id from prospect_logs where tenant_id = :tenantId and prospect_log_id > :afterId
  order by prospect_log_id limit :limit`
// While an erasure waits for a rewrite, the position belongs to the process that rewrites the file.
const SETTLE = `
  update erasures set pass = max(pass, :pass), settles_after = :settlesAfter,
    position = iif(:pass = ${ERASURE_PASSES.waitsForRewrite}, position, :position), claimable_at = :claimableAt, status = :status,
    completed_at = :completedAt
  where tenant_id = :tenantId and erasure_id = :erasureId and status = 'processing' and attempts = :attempt
    and (:completedAt is null or not exists (
      select 1 from erasures part indexed by erasures_parts
      where part.tenant_id = :tenantId and part.part_of = :erasureId and part.completed_at is null))`
const EXTEND = `
  update identifiers indexed by identifiers_of_erasure set blocked_until = :until
  where tenant_id = :tenantId and erasure_id = :erasureId and blocked_until < :until`
const UNBLOCK = `
  update identifiers indexed by identifiers_of_erasure set blocked_until = :now
  where tenant_id = :tenantId and erasure_id = :erasureId and blocked_until > :now`
const END_BLOCKS = `
  delete from identifiers where (tenant_id, kind, hash) in (
    select tenant_id, kind, hash from identifiers i indexed by identifiers_blocked
    where tenant_id = :tenantId and blocked_until <= :now and not exists (
      select 1 from erasures e
      where e.tenant_id = :tenantId and e.erasure_id = i.erasure_id and e.completed_at is null)
    limit :max)`
const MARK_SERVED = `
  insert into served values (1, :servedAt, :pausedAt)
  on conflict do update set served_at = excluded.served_at, paused_at = excluded.paused_at`
const BACKLOG = `
  select count(*) as count, min(requested_at) as oldest
  from (
    select tenant_id, requested_at from erasures where status = 'processing'
    order by tenant_id, claimable_at limit :countMax
  ) waiting`

/** Calls `erased` after a person was erased. */
export const sqliteErasures = (database: Database, outbox: Outbox, erased: () => void): Erasures => ({
  find: async (lookup) => {
    const byProspect = 'erasedId' in lookup ? BY_ERASED : BY_PROSPECT
    const row = database.get<ErasureRow>('erasureId' in lookup ? BY_ID : byProspect, lookup)
    return row === null ? null : storedErasure(row)
  },

  blockedBy: async (tenantId, erasureIds) =>
    [...new Set(erasureIds)].flatMap((erasureId) =>
      database.all<StoredIdentifier>(BLOCKED_BY, { tenantId, erasureId }),
    ),

  list: async (lookup) => database.slice<ErasureRow>(LIST, lookup).map(storedErasure),

  record: ({ tenantId, now, until, prospects, identifier, erasures }, events) =>
    database.record(() => {
      const [prospect] = prospects
      const block = { tenantId, until, erasureId: erasures[0]?.erasureId }
      const stillLeadsTo = new Set<string>()
      if (prospect !== undefined) {
        if (!database.has(IS_UNCHANGED, prospect)) return 'overtaken'
        database.run(BLOCK_OWN, { ...prospect, ...block })
        for (const erased of prospects) {
          for (const { prospectId } of database.all<ProspectKey>(LEADS_OF_FORMER, erased))
            stillLeadsTo.add(prospectId)
          database.run(ERASE, { ...erased, now })
          database.run(BLOCK_FORMER, { ...erased, ...block })
          database.run(REMOVE_FORMER, erased)
        }
        database.run(END_MERGES, { ...prospect, now })
      }
      if (identifier !== null && database.run(BLOCK, { ...identifier, ...block }) === 0) return 'overtaken'
      const newestFirst = [...stillLeadsTo].sort().reverse().slice(0, ERASURE_NAMES_MAX)
      for (const erasure of erasures) {
        const named = erasure.partOf === null ? newestFirst : []
        database.run(ADD, { ...newErasureRow(erasure), stillLeadsTo: JSON.stringify(named) })
      }
      outbox.add(events)
      return 'recorded'
    }, erased),

  claim: claimFrom<ClaimedErasure>(database, { dueTenants: DUE_TENANTS, claim: CLAIM }),

  deleteLogs: async (erasure, max) => {
    const [first, last] = timelineOf(erasure.prospectId ?? '')
    let total = 0
    for (;;) {
      const lookup = { ...erasure, first, last, limit: max - total }
      const deleted = await database.write(() => {
        const deleted = changeFirst(database, LOGS_OF_PROSPECT, lookup, DELETE_LOG)
        if (deleted > 0) database.run(COUNT_LOGS, { ...erasure, deleted })
        return deleted
      })
      total += deleted
      if (deleted === 0 || total === max) return total
      // Other callers can write in between.
      await setImmediate()
    }
  },

  namesAfter: async (tenantId, afterId, limit) => database.slice(NAMES, { tenantId, afterId, limit }),

  settle: (tenantId, steps, foreign = []) =>
    database.write(() => {
      for (const prospectLogId of foreign) database.run(CLEAN_LOG, { tenantId, prospectLogId })
      for (const step of steps) database.run(SETTLE, step)
    }),

  purgeDeleted: (now) => rewriteFile(database, Date.parse(now)),

  extend: async (lookup, until) =>
    void (await database.write(() => database.run(EXTEND, { ...lookup, until }))),
  unblock: async (lookup, now) =>
    void (await database.write(() => database.run(UNBLOCK, { ...lookup, now }))),

  backlog: backlogBy(database, BACKLOG),

  expire: (lookup) =>
    database.write(() => {
      const blocks = database.run(END_BLOCKS, lookup)
      const logs = changeFirst(database, LOGS_BEFORE, { ...lookup, limit: lookup.max }, DELETE_LOG)
      return removeSome(database, lookup.tenantId) || blocks === lookup.max || logs > 0
    }),

  lastServed: async () => database.get<Served>('select served_at, paused_at from served', {}),
  saveClock: (served) => database.write(() => void database.run(MARK_SERVED, served)),
})

/** Changes the first of these logs, as many as fill a slice: callers wait while they are written. */
export const changeFirst = (database: Database, logs: string, lookup: Values, change: string): number => {
  let changed = 0
  let bytesChanged = 0
  for (const { bytes, ...log } of database.all<Values & { bytes: number }>(logs, lookup)) {
    if (bytesChanged > SLICE_BYTES_MAX) break
    changed += database.run(change, { ...lookup, ...log })
    bytesChanged += bytes
  }
  return changed
}
