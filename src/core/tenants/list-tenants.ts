import type { Needs } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'

/** A tenant, and the remaining tables of one that is being deleted. */
export type ListedTenant = Tenant & {
  readonly state: 'active' | 'suspended' | 'deleting'
  /** The tables that still hold rows of it. */
  readonly left?: readonly string[]
}

/** Every tenant, oldest first, in constant memory. */
export const listTenants = ({ store }: Pick<Needs<'tenants'>, 'store'>) =>
  async function* (): AsyncGenerator<ListedTenant> {
    let last: Tenant | undefined
    do {
      const tenants = await store.tenants.list(last?.tenantId ?? '', 100)
      for (const tenant of tenants)
        if (tenant.deletedAt === null) yield { ...tenant, state: tenant.suspendedAt ? 'suspended' : 'active' }
        else yield { ...tenant, state: 'deleting', left: await store.tenants.left(tenant.tenantId) }
      last = tenants.at(-1)
    } while (last !== undefined)
  }
