import type { Needs } from '../ports/store.ts'
import type { Tenant, TenantChanges } from '../ports/tenants.ts'
import { unknownTenant } from './create-tenant.ts'

/** Changes the name of a tenant, while its brands keep theirs, or how long its logs are kept. Refuses `not_found`. */
export const updateTenant =
  ({ store }: Pick<Needs<'tenants'>, 'store'>) =>
  async (tenantId: string, fields: TenantChanges): Promise<Tenant> =>
    (await store.tenants.update(tenantId, fields)) ?? unknownTenant()
