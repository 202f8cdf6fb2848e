import { isoTime } from '../engine/times.ts'
import type { Needs, Store } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'
import { unknownTenant } from './create-tenant.ts'

/**
 * Suspends a tenant: within a second its keys and hooks are refused in every process, and nothing of it is published or
 * sent. Its erasures go on. Refuses `not_found`.
 */
export const suspendTenant =
  ({ store, clock }: Omit<Needs<'tenants'>, 'newId'>) =>
  async (tenantId: string): Promise<Tenant> =>
    (await store.tenants.setState(tenantId, { suspendedAt: isoTime(clock()), deletedAt: null })) ??
    knownTenant(store, tenantId)

/** Refuses `not_found`. */
export const knownTenant = async (store: Pick<Store, 'tenants'>, tenantId: string): Promise<Tenant> =>
  (await store.tenants.find(tenantId)) ?? unknownTenant()
