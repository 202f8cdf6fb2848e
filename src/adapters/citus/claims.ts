import { DomainFailure } from '../../core/engine/failures.ts'
import type { ClaimQuery } from '../../core/ports/versions.ts'
import { ATTEMPT, COUNTED, type Queue as Processing } from './claim.ts'
import { type Fragment, nothing, type Query, sql, textArray } from './sql.ts'

/** Limits each table to the tenants that a statement reads, or it would be sent to other machines too. */
type TenantFilter = (tenantIdColumn: Fragment) => Fragment
/** A table `v` whose rows wait to be claimed, and the parts of a statement that name its columns. */
type Queue = Readonly<Record<'table' | 'key' | 'isClaimed' | 'counted' | 'answered', Fragment>> & {
  readonly isClaimable: (lookup: ClaimQuery, ofTenants: TenantFilter) => Fragment
}

/** Tenants whose work is claimed at a time. */
const AT_ONCE_MAX = 4
/** How long machines are asked one by one after a machine was away. */
const ONE_BY_ONE_MS = 10_000
/** Tenants that one statement reads by name. */
const NAMED_MAX = 1_000

const V_TENANT = sql`v.tenant_id`
type WaitingQuery = Pick<ClaimQuery, 'afterTenantId' | 'max'>
/** The two brief queries may give up earlier than `query`; one of them asks all machines. */
export type Queries = { readonly query: Query; readonly briefQuery: Query; readonly briefQueryOfAll: Query }

/**
 * The tenants that wait, read from all machines of a cluster by one statement. While a machine is away, the others are
 * asked one by one, so that their tenants are served. A machine that is away delays a claim only once in a while.
 */
export const waitingOnCluster = <Lookup extends WaitingQuery>(
  { query, briefQuery, briefQueryOfAll }: Queries,
  table: Fragment,
  isWaiting: (lookup: Lookup, ofTenants: TenantFilter) => Fragment,
) => {
  let oneByOneUntil = 0
  const away = new Set<number>()
  const isOneByOne = () => performance.now() < oneByOneUntil
  /** Call it with the error of a machine that did not answer. Throws any other error. */
  const startOneByOne = (error: unknown): null => {
    if (!(error instanceof DomainFailure)) throw error
    if (isOneByOne()) return null
    away.clear()
    oneByOneUntil = performance.now() + ONE_BY_ONE_MS
    return null
  }
  const readWaiting = (send: ReturnType<Query>, lookup: Lookup, ofTenants: TenantFilter) =>
    send<{ tenantId: string; count: number }>`
      select v.tenant_id, count(*)::int as count from ${table}
      where ${isWaiting(lookup, ofTenants)} and v.tenant_id > ${lookup.afterTenantId} ${ofTenants(V_TENANT)}
      group by v.tenant_id order by v.tenant_id limit ${lookup.max}`

  /** The first tenants that wait. Tenants on nodes that cannot be reached are left out. */
  const findOneByOne = async (lookup: Lookup) => {
    let { afterTenantId } = lookup
    for (;;) {
      // Every node knows on which group of machines each tenant lives.
      const tenants = await query()<{ tenantId: string; node: number }>`
        select t.tenant_id, p.groupid as node
        from (
          select tenant_id, get_shard_id_for_distribution_column('page_versions', tenant_id) as shardid
          from tenants where tenant_id > ${afterTenantId} order by tenant_id limit ${NAMED_MAX}
        ) t join pg_dist_placement p using (shardid)
        order by t.tenant_id`
      const nodes = [...Map.groupBy(tenants, ({ node }) => node)].filter(([node]) => !away.has(node))
      const lists = nodes.map(([node, tenantsOfNode]) => {
        const tenantIds = tenantsOfNode.map(({ tenantId }) => tenantId)
        const ofTenants: TenantFilter = (column) => sql`and ${column} = any (${textArray(tenantIds)}::text[])`
        // Sent in the name of any of these tenants: they share a machine.
        return readWaiting(briefQuery(tenantIds[0]), { ...lookup, afterTenantId }, ofTenants).catch(
          (error) => {
            startOneByOne(error)
            away.add(node)
            return []
          },
        )
      })
      const waiting = (await Promise.all(lists)).flat().sort((a, b) => (a.tenantId < b.tenantId ? -1 : 1))
      if (waiting.length > 0 || tenants.length < NAMED_MAX) return waiting.slice(0, lookup.max)
      afterTenantId = tenants.at(-1)?.tenantId ?? ''
    }
  }

  const findAtOnce = (lookup: Lookup) =>
    isOneByOne() ? null : readWaiting(briefQueryOfAll(), lookup, () => nothing).catch(startOneByOne)
  return {
    findWaiting: async (lookup: Lookup) => (await findAtOnce(lookup)) ?? (await findOneByOne(lookup)),
    startOneByOne,
  }
}

/** Claims work on a cluster: each waiting tenant's work is claimed on the machine of the tenant. */
export const claimOnCluster = <Claimed extends object>(queries: Queries, queue: Queue) => {
  const { findWaiting, startOneByOne } = waitingOnCluster(queries, queue.table, queue.isClaimable)
  return async (lookup: ClaimQuery): Promise<readonly Claimed[]> => {
    const claimed: Claimed[] = []
    let { afterTenantId } = lookup
    for (;;) {
      const found = findWaiting({ ...lookup, afterTenantId, max: lookup.max - claimed.length })
      // Work that is already claimed must not be lost.
      const waiting = [...(await found.catch((error) => (claimed.length > 0 ? [] : Promise.reject(error))))]
      if (waiting.length === 0) return claimed
      while (waiting.length > 0) {
        const claims: Promise<readonly Claimed[]>[] = []
        let room = lookup.max - claimed.length
        while (room > 0 && claims.length < AT_ONCE_MAX) {
          const next = waiting.shift()
          if (next === undefined) break
          const max = Math.min(next.count, room)
          room -= max
          afterTenantId = next.tenantId
          claims.push(claimOf(queries.query, queue, next.tenantId, { ...lookup, max }))
        }
        for (const claim of await Promise.allSettled(claims))
          if (claim.status === 'fulfilled') claimed.push(...claim.value)
          else startOneByOne(claim.reason)
        if (claimed.length === lookup.max) return claimed
      }
    }
  }
}

/** A queue of rows that are `processing`. */
export const processing = ({ isHeld = () => sql`false`, ...queue }: Processing): Queue => ({
  ...queue,
  counted: COUNTED,
  answered: sql`${queue.answered}, ${ATTEMPT}`,
  isClaimable: ({ now, horizon }) => sql`
    v.status = 'processing' and (v.claimable_at <= ${now} or v.claimable_at > ${horizon}) and not ${isHeld(V_TENANT)}`,
})

/** Rows that another claim has locked are skipped. Materialized, or a join would read again and take more. */
const claimOf = <Claimed extends object>(query: Query, queue: Queue, tenantId: string, lookup: ClaimQuery) =>
  query(tenantId)<Claimed>`
    with claimed as materialized (
      select ${queue.key} from ${queue.table}
      where v.tenant_id = ${tenantId} and ${queue.isClaimable(lookup, (column) => sql`and ${column} = ${tenantId}`)}
      order by v.claimable_at limit ${lookup.max} for update skip locked
    )
    update ${queue.table} set claimable_at = ${lookup.until}, ${queue.counted} from claimed
    where v.tenant_id = ${tenantId} and v.tenant_id = claimed.tenant_id and ${queue.isClaimed}
    returning ${queue.answered}`
