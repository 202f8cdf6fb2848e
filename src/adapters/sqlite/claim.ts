import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { ClaimQuery } from '../../core/ports/versions.ts'
import type { Backlog } from '../../core/ports/world.ts'
import type { Database } from './open.ts'

/** The statements of a queue whose rows wait in `processing`. */
type Queue = {
  /** Tenants after `:afterTenantId` that have claimable rows. */
  readonly dueTenants: string
  /** Claims rows of a tenant that are claimable after `:after` and until `:last`. Large rows return their `bytes`. */
  readonly claim: string
}

/**
 * Claims rows from tenant to tenant.
 *
 * Changing a row writes all of it, and callers wait meanwhile. So a transaction changes as many bytes as fill a slice, and
 * each tenant gets as much in its turn.
 */
export const claimFrom = <Claimed>(database: Database, { dueTenants, claim }: Queue) => {
  /** `next`: the tenant after which more may be claimed; null if that is all. */
  const claimSome = (query: ClaimQuery) => {
    const claimed: Claimed[] = []
    let bytesClaimed = 0
    const claimBetween = (tenantId: string, after: string, last: string): void => {
      const values = { ...query, tenantId, after, last, max: query.max - claimed.length }
      for (const { bytes = 0, ...row } of database.all<Claimed & { bytes?: number }>(claim, values)) {
        claimed.push(row as Claimed)
        bytesClaimed += bytes
      }
    }
    for (const { tenantId } of database.all<{ tenantId: string }>(dueTenants, query)) {
      claimBetween(tenantId, '', query.now)
      claimBetween(tenantId, query.horizon, '~')
      if (bytesClaimed > SLICE_BYTES_MAX) return { claimed, next: tenantId }
    }
    return { claimed, next: null }
  }

  return async (query: ClaimQuery): Promise<readonly Claimed[]> => {
    const claimed: Claimed[] = []
    let next: string | null = query.afterTenantId
    while (next !== null) {
      const rest: ClaimQuery = { ...query, afterTenantId: next, max: query.max - claimed.length }
      // A read first, so that other processes can go on writing while nothing is due.
      if (rest.max === 0 || !database.has(dueTenants, { ...rest, max: 1 })) break
      const some = await database.write(() => claimSome(rest))
      claimed.push(...some.claimed)
      next = some.next
    }
    return claimed
  }
}

/** The backlog for the metrics, by a statement that reads at most `:countMax` waiting rows. */
export const backlogBy = (database: Database, statement: string) => async (countMax: number) =>
  database.get<Backlog>(statement, { countMax }) ?? { count: 0, oldest: null }
