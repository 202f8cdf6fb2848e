import type { ApiKey } from '../../shapes/api-key.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { Needs } from '../ports/store.ts'

type Lookup = { readonly tenantId: string; readonly apiKeyId: string | null }

/** Reads an API key of a tenant, and the name of the tenant. Refuses `not_found`. */
export const getApiKey =
  ({ store: { apiKeys, tenants } }: Pick<Needs<'apiKeys' | 'tenants'>, 'store'>) =>
  async ({ tenantId, apiKeyId }: Lookup): Promise<Result<ApiKey>> => {
    const [key, tenant] = await Promise.all([apiKeys.find(apiKeyId ?? ''), tenants.find(tenantId)])
    if (key === null || tenant === null || key.tenantId !== tenantId)
      return refuse('not_found', 'API key not found.')
    const value = {
      apiKeyId: key.apiKeyId,
      tenantId,
      tenantName: tenant.name,
      name: key.name,
      scopes: [...key.scopes],
      createdAt: key.createdAt,
      expiresAt: key.expiresAt,
    }
    return { value }
  }
