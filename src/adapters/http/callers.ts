import { refuse } from '../../core/engine/failures.ts'
import type { Scope } from '../../core/ports/api-keys.ts'
import type { Caller, identify } from '../../core/tenants/identify.ts'
import { type ApiRequest, headerOf } from './requests.ts'

/** The caller of a request. Refuses with a problem of status 401 if there is none. */
export type IdentifyCaller = (request: ApiRequest) => Caller | Promise<Caller>

/** The caller is the one whose API key the request has. */
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
/** Tells who sent a request; null if nobody known did. An error that it throws is answered with 500. */
export type Authenticate = (request: ApiRequest) => Authenticated | null | Promise<Authenticated | null>

/** The caller is whom the embedder's function says. */
export const byFunction =
  (authenticate: Authenticate): IdentifyCaller =>
  async (request) => {
    const caller = await authenticate(request)
    if (caller === null) return refuse('missing_api_key', 'The request is not authenticated.')
    const { tenantId, scopes } = caller
    if (typeof tenantId !== 'string' || !Array.isArray(scopes))
      throw new TypeError('authenticate must return null, or a tenantId and an array of scopes.')
    return { tenantId, scopes, apiKeyId: null }
  }
