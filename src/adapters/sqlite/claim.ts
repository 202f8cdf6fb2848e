import type { ClaimWant } from '../../core/ports/versions.ts'
import { type Database, valuesFor } from './open.ts'

/** Tenants after this one that have something claimable. */
const dueTenants = (table: string) => `
  with recursive waiting (tenant_id) as (
    select min(tenant_id) from ${table} where status = 'processing' and tenant_id > :afterTenantId
    union all
    select (select min(v.tenant_id) from ${table} v
      where v.status = 'processing' and v.tenant_id > waiting.tenant_id)
    from waiting where waiting.tenant_id is not null
  )
  select tenant_id from waiting
  where (select min(v.claimable_at) from ${table} v
      where v.status = 'processing' and v.tenant_id = waiting.tenant_id) <= :now
    or (select max(v.claimable_at) from ${table} v
      where v.status = 'processing' and v.tenant_id = waiting.tenant_id) > :horizon
  limit :max`

/** Claims from a table whose rows wait in `processing`. */
export const claimFrom = <Claimed>(
  database: Database,
  table: string,
  primaryKey: readonly string[],
  ...answered: readonly string[]
) => {
  const DUE_TENANTS = dueTenants(table)
  const DUE = `
    select ${primaryKey} from ${table}
    where status = 'processing' and tenant_id = :tenantId and claimable_at > :after and claimable_at <= :last
    order by claimable_at limit :max`
  const CLAIM = `
    update ${table} set claimable_at = :until, attempts = attempts + 1
    where (${primaryKey}) = (${valuesFor(primaryKey)})
    returning ${[...primaryKey, ...answered]}, attempts as attempt`

  /** From tenant to tenant along the index of what waits, no further than `max`. */
  const findDue = (want: ClaimWant): readonly object[] => {
    const found: object[] = []
    const ranges = [
      { after: '', last: want.now },
      { after: want.horizon, last: '~' },
    ]
    for (const tenant of database.all<object>(DUE_TENANTS, want))
      for (const range of ranges)
        found.push(...database.all<object>(DUE, { ...tenant, ...range, max: want.max - found.length }))
    return found
  }

  return async (want: ClaimWant): Promise<readonly Claimed[]> => {
    // While nothing is due other processes can go on writing.
    if (findDue({ ...want, max: 1 }).length === 0) return []
    return database.write(() =>
      findDue(want).map((due) => database.get(CLAIM, { ...due, until: want.until }) as Claimed),
    )
  }
}
