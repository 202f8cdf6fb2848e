import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'
import { unknownTenant } from './create-tenant.ts'

type Deps = Omit<Needs<'tenants'>, 'newId'>

/**
 * Suspends a tenant: within a second its keys and hooks are refused in every process, and nothing of it is published or
 * sent. Its erasures go on. Refuses `not_found`.
 */
export const suspendTenant =
  ({ store, clock }: Deps) =>
  async (tenantId: string): Promise<Tenant> =>
    (await store.tenants.setState(tenantId, { suspendedAt: isoTime(clock()), deletedAt: null })) ??
    knownTenant(store, tenantId)

/** Ends a suspension. Pending work resumes. Refuses `not_found`, and `invalid_request` if it is being deleted. */
export const resumeTenant =
  ({ store }: Pick<Deps, 'store'>) =>
  async (tenantId: string): Promise<Tenant> => {
    const resumed = await store.tenants.setState(tenantId, { suspendedAt: null, deletedAt: null })
    if (resumed !== null) return resumed
    const { name } = await knownTenant(store, tenantId)
    return refuse(
      'invalid_request',
      `The tenant ${JSON.stringify(name)} is being deleted and cannot be resumed.`,
    )
  }

/** Suspends a tenant for good; `removeTenants` removes all its data. May be repeated. Refuses `not_found`. */
export const deleteTenant =
  ({ store, clock }: Deps) =>
  async (tenantId: string): Promise<Tenant> => {
    const now = isoTime(clock())
    const deleted = await store.tenants.setState(tenantId, { suspendedAt: now, deletedAt: now })
    return deleted ?? knownTenant(store, tenantId)
  }

const knownTenant = async (store: Deps['store'], tenantId: string): Promise<Tenant> =>
  (await store.tenants.find(tenantId)) ?? unknownTenant()
