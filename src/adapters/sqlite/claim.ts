import type { ClaimWant } from '../../core/ports/versions.ts'
import type { Database, Values } from './open.ts'

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

/** Claims from a table whose rows wait in `processing`. `key` is its primary key, without the tenant. */
export const claimFrom = <Claimed>(
  database: Database,
  { table, key, answered }: { readonly table: string; readonly key: string; readonly answered: string },
) => {
  const DUE_TENANTS = dueTenants(table)
  const CLAIM = `
    update ${table} set claimable_at = :until, attempts = attempts + 1
    where (tenant_id, ${key}) in (
      select tenant_id, ${key} from ${table}
      where status = 'processing' and tenant_id = :tenantId and claimable_at > :after and claimable_at <= :last
      order by claimable_at limit :max)
    returning tenant_id, ${key}, ${answered}, attempts as attempt`

  return async (want: ClaimWant): Promise<readonly Claimed[]> => {
    // While nothing is due other processes can go on writing.
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
