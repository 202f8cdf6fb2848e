import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs, Store } from '../ports/store.ts'
import type { NewTenant } from '../ports/tenants.ts'

/** Creates a tenant with its first brand of the same name. The name is not checked. */
export const createTenant =
  ({ store, clock, newId }: Needs<'tenants'>) =>
  async ({ name }: { readonly name: string }): Promise<Pick<NewTenant, 'tenantId' | 'brandId'>> => {
    const tenant = { tenantId: newId('tenant'), brandId: newId('brand'), name, createdAt: isoTime(clock()) }
    await store.tenants.add(tenant)
    return { tenantId: tenant.tenantId, brandId: tenant.brandId }
  }

/** The brands of a tenant, oldest first. Refuses `not_found`, even if the tenant is being deleted. */
export const brandsOf = async (store: Pick<Store, 'tenants'>, tenantId: string): Promise<readonly string[]> =>
  (await store.tenants.brands(tenantId)) ?? unknownTenant()

export const unknownTenant = (): never =>
  refuse('not_found', 'Tenant not found.', {}, { obstacle: 'unknown_tenant' })
