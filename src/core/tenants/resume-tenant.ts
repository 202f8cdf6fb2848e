import { refuse } from '../engine/failures.ts'
import type { Needs } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'
import { knownTenant } from './suspend-tenant.ts'

/** Ends a suspension. Pending work resumes. Refuses `not_found`, and `invalid_request` if it is being deleted. */
export const resumeTenant =
  ({ store }: Pick<Needs<'tenants'>, 'store'>) =>
  async (tenantId: string): Promise<Tenant> => {
    const resumed = await store.tenants.setState(tenantId, { suspendedAt: null, deletedAt: null })
    if (resumed !== null) return resumed
    const { name } = await knownTenant(store, tenantId)
    return refuse(
      'invalid_request',
      `The tenant ${JSON.stringify(name)} is being deleted and cannot be resumed.`,
    )
  }
