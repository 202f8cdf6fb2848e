import type { ClaimWant } from '../../core/ports/versions.ts'
import type { Database } from './open.ts'

/** Tenants after this one that have something claimable. */
const dueTenants = (table: string) => `
  with recursive waiting (tenant_id) as (
    select min(tenant_id) from ${table} where status = 'processing' and tenant_id > ?
    union all
    select (select min(v.tenant_id) from ${table} v
      where v.status = 'processing' and v.tenant_id > waiting.tenant_id)
    from waiting where waiting.tenant_id is not null
  )
  select tenant_id from waiting
  where (select min(v.claimable_at) from ${table} v
      where v.status = 'processing' and v.tenant_id = waiting.tenant_id) <= ?
    or (select max(v.claimable_at) from ${table} v
      where v.status = 'processing' and v.tenant_id = waiting.tenant_id) > ?
  limit ?`

/** Claims from a table whose rows wait in `processing`. `key` is its primary key, without the tenant. */
export const claimFrom = <Claimed>(
  database: Database,
  { table, key, answered }: { readonly table: string; readonly key: string[]; readonly answered: string[] },
) => {
  const DUE_TENANTS = dueTenants(table)
  const DUE = `
    select tenant_id, ${key.join()} from ${table}
    where status = 'processing' and tenant_id = ? and claimable_at > ? and claimable_at <= ?
    order by claimable_at limit ?`
  const CLAIM = `
    update ${table} set claimable_at = ?, attempts = attempts + 1
    where tenant_id = ? and ${key.map((column) => `${column} = ?`).join(' and ')}
    returning tenant_id, ${[...key, ...answered].join()}, attempts as attempt`

  /** From tenant to tenant along the index of what waits, no further than `max`. */
  const findDue = ({ now, horizon, afterTenantId, max }: ClaimWant): readonly Record<string, string>[] => {
    const found: Record<string, string>[] = []
    const tenants = database.all<{ tenantId: string }>(DUE_TENANTS, afterTenantId, now, horizon, max)
    for (const { tenantId } of tenants) {
      found.push(...database.all<Record<string, string>>(DUE, tenantId, '', now, max - found.length))
      found.push(...database.all<Record<string, string>>(DUE, tenantId, horizon, '~', max - found.length))
    }
    return found
  }

  return async (want: ClaimWant): Promise<readonly Claimed[]> => {
    // While nothing is due other processes can go on writing.
    if (findDue({ ...want, max: 1 }).length === 0) return []
    return database.write(() =>
      findDue(want).map((due) => database.get(CLAIM, want.until, ...Object.values(due)) as Claimed),
    )
  }
}
