import type { SmallStore } from '../core/ports/store.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'

const TENANTS_REMEMBERED_MAX = 10_000

/**
 * Refuses `not_found` for an unknown tenant. A known one needs no second look-up until it is forgotten. A store without
 * tenants takes any.
 */
export const rememberTenants = ({ tenants }: SmallStore) => {
  const known = new Map<string, Promise<unknown>>()
  return {
    requireTenant: async (tenantId: string): Promise<void> => {
      if (tenants === undefined) return
      if (known.size >= TENANTS_REMEMBERED_MAX) known.clear()
      const found = known.get(tenantId) ?? brandsOf({ tenants }, tenantId)
      known.set(tenantId, found)
      found.catch(() => known.delete(tenantId))
      await found
    },
    forget: (): void => known.clear(),
  }
}
export type RequireTenant = ReturnType<typeof rememberTenants>['requireTenant']
