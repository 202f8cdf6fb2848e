import { refuse } from './failures.ts'
import type { Needs } from './ports/store.ts'
import type { Tenant } from './ports/tenants.ts'

/** Changes the name of a tenant; its brands keep their names. Refuses `not_found`. */
export const updateTenant =
  ({ store }: Pick<Needs<'tenants'>, 'store'>) =>
  async (tenantId: string, fields: Pick<Tenant, 'name'>): Promise<Tenant> =>
    (await store.tenants.update(tenantId, fields)) ?? refuse('not_found', 'Tenant not found.')
