import type { ClaimedMerge, Merges } from '../../core/ports/merges.ts'
import { nameKeysOf } from '../../core/prospects/search-keys.ts'
import { newMergeRow } from '../stores/people-rows.ts'
import { COLUMNS } from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import { backlogBy, claimFrom } from './claim.ts'
import { changeFirst, LOGS_OF_PROSPECT } from './erasures.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { IS_UNCHANGED } from './prospects.ts'
import { insertInto } from './statements.ts'

const ADD = insertInto('merges', COLUMNS.merges)
const PROSPECT = 'where tenant_id = :tenantId and prospect_id = :prospectId'
const CHANGE = `
  update prospects set email = :email, external_id = :externalId, name = :name, name_key = :nameKey,
    last_name_key = :lastNameKey, attributes = :attributes, merged_into = :mergedInto, updated_at = :updatedAt ${PROSPECT}`
const LEAD_IDENTIFIERS = `
  update identifiers indexed by identifiers_of_prospect set prospect_id = :intoId
  where tenant_id = :tenantId and prospect_id = :prospectId`
const LEAD = `
  update prospects indexed by prospects_merged set merged_into = :intoId where tenant_id = :tenantId and merged_into = :prospectId`
const REDIRECT = `
  update merges indexed by merges_into set into_id = :intoId
  where tenant_id = :tenantId and into_id = :prospectId and status = 'processing'`
const HELD = `
  where tenant_id = :tenantId and merge_id = :mergeId and into_id = :intoId and attempts = :attempt
    and status = :status`
const IS_HELD = `select 1 from merges ${HELD}`
const SETTLE = `
  update merges set pass = :pass, settles_after = :settlesAfter, claimable_at = :claimableAt, completed_at = :completedAt,
    status = iif(:completedAt is null, 'processing', 'completed') ${HELD}`
const MOVE_LOG = `
  update prospect_logs set prospect_id = :intoId, timeline_key = timeline_key + :distance
  where tenant_id = :tenantId and prospect_log_id = :prospectLogId`
const COMPLETED = `
  select *, attempts as attempt from merges
  where tenant_id = :tenantId and merge_id > :afterId and status = 'completed' order by merge_id limit :limit`
/** From one tenant to the next along the index of waiting rows. */
const DUE_TENANTS = `
  with recursive walk (tenant_id) as (
    select min(tenant_id) from merges where status = 'processing' and tenant_id > :afterTenantId
    union all
    select (
      select min(w.tenant_id) from merges w where w.status = 'processing' and w.tenant_id > walk.tenant_id
    )
    from walk where tenant_id is not null
  )
  select tenant_id from walk
  where (
    (select min(w.claimable_at) from merges w where w.status = 'processing' and w.tenant_id = walk.tenant_id) <= :now
    or (select max(w.claimable_at) from merges w where w.status = 'processing' and w.tenant_id = walk.tenant_id) > :horizon
  )
  limit :max`
const CLAIM = `
  update merges set claimable_at = :until, attempts = attempts + 1
  where (tenant_id, merge_id) in (
    select tenant_id, merge_id from merges
    where status = 'processing' and tenant_id = :tenantId and claimable_at > :after and claimable_at <= :last
    order by claimable_at limit :max
  )
  returning *, attempts as attempt`
const BACKLOG = `
  select count(*) as count, min(requested_at) as oldest
  from (
    select tenant_id, requested_at from merges where status = 'processing'
    order by tenant_id, claimable_at limit :countMax
  ) waiting`

/** Calls `changed` after a prospect was merged. */
export const sqliteMerges = (database: Database, outbox: Outbox, changed: () => void): Merges => ({
  record: ({ merge, merged, survivor }, events) =>
    database.record(() => {
      const both = [merged, survivor]
      if (!both.every(({ before }) => database.has(IS_UNCHANGED, before))) return 'overtaken'
      for (const { after } of both) database.run(CHANGE, { ...after, ...nameKeysOf(after.name) })
      database.run(LEAD_IDENTIFIERS, merge)
      database.run(LEAD, merge)
      database.run(REDIRECT, merge)
      database.run(ADD, newMergeRow(merge))
      outbox.add(events)
      return 'recorded'
    }, changed),

  claim: claimFrom<ClaimedMerge>(database, { dueTenants: DUE_TENANTS, claim: CLAIM }),

  moveLogs: (merge, max) =>
    database.write(() => {
      if (!database.has(IS_HELD, merge)) return 0
      const [first, last] = timelineOf(merge.prospectId)
      const distance = timelineOf(merge.intoId)[0] - first
      return changeFirst(
        database,
        LOGS_OF_PROSPECT,
        { ...merge, first, last, distance, limit: max },
        MOVE_LOG,
      )
    }),

  completed: async (lookup) => database.all<ClaimedMerge>(COMPLETED, lookup),

  settle: (step, events) =>
    database.record(() => {
      if (database.run(SETTLE, step) === 0) return 'overtaken'
      outbox.add(events)
      return 'recorded'
    }),

  backlog: backlogBy(database, BACKLOG),
})
