import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { ClaimWant } from '../../core/ports/versions.ts'
import type { Backlog } from '../../core/ports/world.ts'
import type { Database } from './open.ts'

type Queue = Readonly<Record<'table' | 'key' | 'answered', string>> & {
  readonly condition?: string
  readonly bytes?: string
}

/**
 * Claims from a table whose rows wait in `processing`. `key` is its primary key, without the tenant; `condition`
 * applies to the tenants `t`; `bytes` is the size of a row.
 *
 * Changing a row writes all of it, and callers wait meanwhile. So a transaction changes as many bytes as fill a slice, and
 * each tenant gets as much in its turn.
 */
export const claimFrom = <Claimed>(database: Database, queue: Queue) => {
  const { table, key, answered, condition = '', bytes = '0' } = queue
  const waiting = (asked: string, tenants: string) =>
    `(select ${asked} from ${table} v where v.status = 'processing' and v.tenant_id ${tenants})`
  /** Tenants after a given one that have claimable rows: from one to the next along the index of waiting rows. */
  const DUE_TENANTS = `
    with recursive t (tenant_id) as (
      select ${waiting('min(v.tenant_id)', '> :afterTenantId')}
      union all
      select ${waiting('min(v.tenant_id)', '> t.tenant_id')} from t where tenant_id is not null
    )
    select tenant_id from t
    where (${waiting('min(v.claimable_at)', '= t.tenant_id')} <= :now
      or ${waiting('max(v.claimable_at)', '= t.tenant_id')} > :horizon)
    ${condition}
    limit :max`
  const CLAIM = `
    update ${table} set claimable_at = :until, attempts = attempts + 1
    where (tenant_id, ${key}) in (
      select tenant_id, ${key} from (
        select *, sum(bytes) over (order by claimable_at rows between unbounded preceding and 1 preceding) as before
        from (
          select tenant_id, ${key}, claimable_at, ${bytes} as bytes from ${table}
          where status = 'processing' and tenant_id = :tenantId and claimable_at > :after and claimable_at <= :last
          order by claimable_at limit :max
        )
      )
      where coalesce(before, 0) <= ${SLICE_BYTES_MAX}
    )
    returning tenant_id, ${key}, ${answered}, attempts as attempt, ${bytes} as bytes`

  /** `next`: the tenant after which more may be claimed; null if that is all. */
  const claimSome = (want: ClaimWant) => {
    const ranges = [
      { after: '', last: want.now },
      { after: want.horizon, last: '~' },
    ]
    const claimed: Claimed[] = []
    let sum = 0
    for (const tenant of database.all<{ tenantId: string }>(DUE_TENANTS, want)) {
      for (const range of ranges) {
        const values = { ...want, ...tenant, ...range, max: want.max - claimed.length }
        for (const { bytes, ...row } of database.all<Claimed & { bytes: number }>(CLAIM, values)) {
          claimed.push(row as Claimed)
          sum += bytes
        }
      }
      if (sum > SLICE_BYTES_MAX) return { claimed, next: tenant.tenantId }
    }
    return { claimed, next: null }
  }

  return async (want: ClaimWant): Promise<readonly Claimed[]> => {
    const claimed: Claimed[] = []
    for (let next: string | null = want.afterTenantId; next !== null; ) {
      const rest: ClaimWant = { ...want, afterTenantId: next, max: want.max - claimed.length }
      // A read first, so that other processes can go on writing while nothing is due.
      if (rest.max === 0 || !database.has(DUE_TENANTS, { ...rest, max: 1 })) break
      const some = await database.write(() => claimSome(rest))
      claimed.push(...some.claimed)
      next = some.next
    }
    return claimed
  }
}

/** The backlog for the metrics: see the same on PostgreSQL. */
export const backlogOf = (database: Database, since: string, waiting: string, isHeld = 'false') => {
  const backlog = `
    select count(*) as count, min(since) as oldest
    from (select tenant_id, ${since} as since from ${waiting} limit :countMax) waiting
    where not ${isHeld}`
  return async (countMax: number) =>
    database.get<Backlog>(backlog, { countMax }) ?? { count: 0, oldest: null }
}
