import type { Needs, Store } from '../core/ports/store.ts'
import { createTenant } from '../core/tenants/create-tenant.ts'
import { issueApiKey } from '../core/tenants/issue-api-key.ts'
import { listApiKeys } from '../core/tenants/list-api-keys.ts'
import { revokeApiKey } from '../core/tenants/revoke-api-key.ts'
import { rotateApiKey } from '../core/tenants/rotate-api-key.ts'
import { ApiKeyInput, RotationInput, TenantInput } from '../shapes/input.ts'
import { createCheckInput } from './check-input.ts'
import { requireParts } from './operations/operations.ts'
import type { Service } from './service-types.ts'

type Calls = Pick<Service, 'createTenant' | 'issueApiKey' | 'listApiKeys' | 'revokeApiKey' | 'rotateApiKey'>

const checkTenant = createCheckInput(TenantInput)
const checkApiKey = createCheckInput(ApiKeyInput)
const checkRotation = createCheckInput(RotationInput)

/** Creates tenants, and issues, lists, revokes and rotates their API keys. */
export const administration = (deps: Needs<keyof Store>): Calls => {
  const { store } = deps
  return {
    createTenant: async (tenant) => {
      requireParts(store, 'createTenant', 'tenants')
      return createTenant(deps)(checkTenant(tenant))
    },
    issueApiKey: async ({ scopes, ...key }) => {
      requireParts(store, 'issueApiKey', 'apiKeys', 'tenants')
      return issueApiKey(deps)({ ...checkApiKey(key), scopes })
    },
    listApiKeys: async (tenantId) => {
      requireParts(store, 'listApiKeys', 'apiKeys', 'tenants')
      return listApiKeys(deps)(String(tenantId))
    },
    revokeApiKey: async (apiKeyId) => {
      requireParts(store, 'revokeApiKey', 'apiKeys')
      return revokeApiKey(deps)(String(apiKeyId))
    },
    rotateApiKey: async (apiKeyId, options) => {
      requireParts(store, 'rotateApiKey', 'apiKeys', 'tenants')
      return rotateApiKey(deps)(String(apiKeyId), checkRotation(options).overlapMs)
    },
  }
}
