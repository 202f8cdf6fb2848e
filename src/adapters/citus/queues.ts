import type { ClaimedErasure } from '../../core/ports/erasures.ts'
import type { ClaimedMerge } from '../../core/ports/merges.ts'
import type { Store } from '../../core/ports/store.ts'
import type { ClaimedVersion } from '../../core/ports/versions.ts'
import { claimOnCluster, processing, type Queries, waitingOnCluster } from './claims.ts'
import { SCHEDULED } from './schedules.ts'
import { sql } from './sql.ts'
import { isSuspended } from './tenants.ts'
import { QUEUED_VERSIONS } from './versions.ts'
import { type EndpointRow, QUEUED_ENDPOINTS, storedEndpoint } from './webhooks.ts'

type Lookup<Port extends 'schedules' | 'counts' | 'searchIndex'> = Parameters<Store[Port]['waiting']>[0]
const idsOf = (rows: readonly { readonly tenantId: string }[]) => rows.map(({ tenantId }) => tenantId)

const QUEUED_ERASURES = {
  table: sql`erasures v`,
  key: sql`v.tenant_id, v.erasure_id`,
  isClaimed: sql`v.erasure_id = claimed.erasure_id`,
  answered: sql`v.*`,
}
const QUEUED_MERGES = {
  table: sql`merges v`,
  key: sql`v.tenant_id, v.merge_id`,
  isClaimed: sql`v.merge_id = claimed.merge_id`,
  answered: sql`v.*`,
}
/** Whether activities of a tenant `v` wait to be counted. */
const isUncounted = ({ readSince, beforeId, beyondId }: Lookup<'counts'>) => sql`
  v.read_at >= ${readSince} and (v.closed_to > ${beyondId} or exists (
    select 1 from prospect_logs l
    where l.tenant_id = v.tenant_id and l.prospect_log_id > v.position and l.prospect_log_id < ${beforeId}
  ))`

/** Whether people of a tenant `v` wait to be indexed for the search. */
const isUnindexed = ({ searchedSince, beforeId, checkBeforeId }: Lookup<'searchIndex'>) => sql`
  v.searched_at >= ${searchedSince} and (v.position >= ${beforeId} or exists (
    select 1 from prospects p
    where p.tenant_id = v.tenant_id and p.prospect_id > v.position and p.prospect_id < ${beforeId}
  ) or exists (
    select 1 from prospects p
    where p.tenant_id = v.tenant_id and p.prospect_id > v.checked and p.prospect_id < ${checkBeforeId}
  ))`

/** The verbs that look for work on all nodes. */
export const queuesOn = (queries: Queries) => {
  const claimEndpoints = claimOnCluster<EndpointRow>(queries, QUEUED_ENDPOINTS)
  const deletions = waitingOnCluster(
    queries,
    sql`page_group_deletions v`,
    () => sql`not ${isSuspended(sql`v.tenant_id`)}`,
  )
  const unnumbered = waitingOnCluster(queries, sql`events v`, () => sql`v.sequence is null`)
  const uncounted = waitingOnCluster<Lookup<'counts'>>(queries, sql`counted_tenants v`, isUncounted)
  const unindexed = waitingOnCluster<Lookup<'searchIndex'>>(queries, sql`searched_tenants v`, isUnindexed)
  const scheduled = SCHEDULED.map(({ table, isScheduled, at }) => {
    const isDue = ({ until }: Lookup<'schedules'>) =>
      sql`${isScheduled} and ${at} <= ${until} and not ${isSuspended(sql`v.tenant_id`)}`
    return waitingOnCluster(queries, table, isDue)
  })
  return {
    versions: claimOnCluster<ClaimedVersion>(queries, processing(QUEUED_VERSIONS)),
    erasures: claimOnCluster<ClaimedErasure>(queries, processing(QUEUED_ERASURES)),
    merges: claimOnCluster<ClaimedMerge>(queries, processing(QUEUED_MERGES)),
    endpoints: async (...lookup: Parameters<typeof claimEndpoints>) =>
      (await claimEndpoints(...lookup)).map(storedEndpoint),
    scheduled: async (lookup: Lookup<'schedules'>) =>
      idsOf((await Promise.all(scheduled.map(({ findWaiting }) => findWaiting(lookup)))).flat()),
    deletions: async (afterTenantId: string, max: number) =>
      idsOf(await deletions.findWaiting({ afterTenantId, max })),
    unnumbered: async (afterTenantId: string, max: number) =>
      idsOf(await unnumbered.findWaiting({ afterTenantId, max })),
    unindexed: async (lookup: Lookup<'searchIndex'>) => idsOf(await unindexed.findWaiting(lookup)),
    uncounted: async (lookup: Lookup<'counts'>) => idsOf(await uncounted.findWaiting(lookup)),
  }
}
