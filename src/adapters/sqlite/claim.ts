import type { ClaimWant } from '../../core/ports/versions.ts'
import type { Backlog } from '../../core/ports/world.ts'
import type { Database, Values } from './open.ts'

type Queue = Readonly<Record<'table' | 'key' | 'answered', string>> & { readonly condition?: string }

/**
 * Claims from a table whose rows wait in `processing`. `key` is its primary key, without the tenant; `condition`
 * applies to the tenants `t`.
 */
export const claimFrom = <Claimed>(database: Database, { table, key, answered, condition = '' }: Queue) => {
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
      select tenant_id, ${key} from ${table}
      where status = 'processing' and tenant_id = :tenantId and claimable_at > :after and claimable_at <= :last
      order by claimable_at limit :max)
    returning tenant_id, ${key}, ${answered}, attempts as attempt`

  return async (want: ClaimWant): Promise<readonly Claimed[]> => {
    // A read first, so that other processes can go on writing while nothing is due.
    if (!database.has(DUE_TENANTS, { ...want, max: 1 })) return []
    return database.write(() => {
      const ranges = [
        { after: '', last: want.now },
        { after: want.horizon, last: '~' },
      ]
      const claimed: Claimed[] = []
      for (const tenant of database.all<Values>(DUE_TENANTS, want))
        for (const range of ranges) {
          const values = { ...want, ...tenant, ...range, max: want.max - claimed.length }
          claimed.push(...database.all<Claimed>(CLAIM, values))
        }
      return claimed
    })
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
