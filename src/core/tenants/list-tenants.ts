import type { Needs } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'

/** Every tenant, oldest first, in constant memory. */
export const listTenants = ({ store }: Pick<Needs<'tenants'>, 'store'>) =>
  async function* (): AsyncGenerator<Tenant> {
    let last: Tenant | undefined
    do {
      const tenants = await store.tenants.list(last?.tenantId ?? '', 100)
      yield* tenants
      last = tenants.at(-1)
    } while (last !== undefined)
  }
