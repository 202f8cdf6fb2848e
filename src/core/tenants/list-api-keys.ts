import type { Needs } from '../ports/store.ts'
import { brandsOf } from './create-tenant.ts'
import { type ListedApiKey, listedApiKey } from './issue-api-key.ts'

/** The keys of a tenant, oldest first, with expired and revoked ones. */
export const listApiKeys =
  ({ store }: Pick<Needs<'apiKeys' | 'tenants'>, 'store'>) =>
  async (tenantId: string): Promise<readonly ListedApiKey[]> => {
    await brandsOf(store, tenantId)
    return (await store.apiKeys.list(tenantId)).map(listedApiKey)
  }
