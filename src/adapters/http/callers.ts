import { refuse } from '../../core/engine/failures.ts'
import type { Scope } from '../../core/ports/api-keys.ts'
import type { Tenant } from '../../core/ports/tenants.ts'
import type { Caller, identify } from '../../core/tenants/identify.ts'
import { headerOf } from './request-headers.ts'
import type { ApiRequest } from './requests.ts'

/** The caller of a request. Refuses with a problem of status 401 if there is none. */
export type IdentifyCaller = (request: ApiRequest) => Caller | Promise<Caller>

/** Identifies a caller by the request's API key. */
export const byApiKey =
  (callerOf: ReturnType<typeof identify>): IdentifyCaller =>
  (request) => {
    const apiKey = headerOf(request, 'x-api-key')
    // Node joins repeated headers with a comma and a space.
    if (apiKey?.includes(', '))
      refuse('invalid_api_key', 'The header x-api-key must not be given more than once.')
    return callerOf(apiKey, request.address)
  }

/** The tenant that sent a request, and what it may do. */
export type Authenticated = { readonly tenantId: string; readonly scopes: readonly Scope[] }
/** Returns the sender of a request, or null if unknown. An error that it throws is answered with 500. */
export type Authenticate = (request: ApiRequest) => Authenticated | null | Promise<Authenticated | null>

/**
 * Identifies a caller by the embedder's function. `findTenant`: null if the store keeps no tenants; else a tenant that it
 * does not find has no callers, and one that is suspended is refused.
 */
export const byFunction =
  (
    authenticate: Authenticate,
    findTenant: ((tenantId: string) => Tenant | Promise<Tenant | null>) | null,
  ): IdentifyCaller =>
  async (request) => {
    const caller = await authenticate(request)
    if (caller == null) return refuse('missing_api_key', 'The request is not authenticated.')
    const { tenantId, scopes } = caller
    if (typeof tenantId !== 'string' || !Array.isArray(scopes))
      throw new TypeError('authenticate must return null, or a tenantId and an array of scopes.')
    if (findTenant === null) return { tenantId, scopes, apiKeyId: null }
    const tenant = await findTenant(tenantId)
    if (tenant === null || tenant.deletedAt !== null)
      return refuse('invalid_api_key', 'The tenant of this request does not exist.')
    return { tenantId, scopes, apiKeyId: null, isSuspended: tenant.suspendedAt !== null }
  }
