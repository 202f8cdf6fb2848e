import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'
import { knownTenant } from './suspend-tenant.ts'

/** Suspends a tenant for good; `removeTenants` removes all its data. May be repeated. Refuses `not_found`. */
export const deleteTenant =
  ({ store, clock }: Omit<Needs<'tenants'>, 'newId'>) =>
  async (tenantId: string): Promise<Tenant> => {
    const now = isoTime(clock())
    const deleted = await store.tenants.setState(tenantId, { suspendedAt: now, deletedAt: now })
    return deleted ?? knownTenant(store, tenantId)
  }
