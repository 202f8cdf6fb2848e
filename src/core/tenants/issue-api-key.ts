import { refuse } from '../engine/failures.ts'
import { sha256 } from '../engine/keys.ts'
import { isoTime } from '../engine/times.ts'
import { EVERY_SCOPE, READERS_SCOPE, type Scope, type StoredApiKey } from '../ports/api-keys.ts'
import type { Needs } from '../ports/store.ts'
import { apiKeyStart, newApiKeyText } from './api-key-text.ts'
import { brandsOf } from './create-tenant.ts'

/** A key as its owner sees it, without its hash. */
export type ListedApiKey = Omit<StoredApiKey, 'keyHash'>
/** The only time that the key itself is shown. */
export type IssuedApiKey = ListedApiKey & { readonly apiKey: string }

/** A key to issue. */
export type NewApiKey = {
  readonly tenantId: string
  /** For people to recognize the key by. */
  readonly name: string | null
  /** The scopes of the key: at least one. */
  readonly scopes: readonly Scope[]
  /** Milliseconds until the key expires; null for a key that never does. */
  readonly lifeMs: number | null
}

/**
 * Issues a key to a tenant. Refuses `not_found`: the tenant; `invalid_request`: no scopes, one that does not exist, or two
 * that exclude each other.
 */
export const issueApiKey =
  (deps: Needs<'apiKeys' | 'tenants'>) =>
  async (newKey: NewApiKey): Promise<IssuedApiKey> => {
    const isScope = (scope: Scope) => EVERY_SCOPE.includes(scope)
    if (!Array.isArray(newKey.scopes) || !newKey.scopes.length || !newKey.scopes.every(isScope))
      refuse('invalid_request', 'An API key needs at least one scope, and only scopes that exist.', {
        errors: [{ detail: `must be one or more of ${EVERY_SCOPE.join(', ')}`, pointer: '/scopes' }],
      })
    if (newKey.scopes.includes(READERS_SCOPE) && newKey.scopes.includes('pages:read'))
      refuse('invalid_request', 'A key either reads every page or only what is published.', {
        errors: [{ detail: `must not have both pages:read and ${READERS_SCOPE}`, pointer: '/scopes' }],
      })
    await brandsOf(deps.store, newKey.tenantId)
    return issueAt(deps, newKey, deps.clock())
  }

export const issueAt = async (
  { store, newId }: Omit<Needs<'apiKeys'>, 'clock'>,
  newKey: NewApiKey,
  now: number,
): Promise<IssuedApiKey> => {
  const apiKey = newApiKeyText()
  const key: StoredApiKey = {
    apiKeyId: newId('apikey'),
    tenantId: newKey.tenantId,
    keyHash: sha256(apiKey),
    start: apiKeyStart(apiKey),
    name: newKey.name,
    scopes: [...new Set(newKey.scopes)],
    createdAt: isoTime(now),
    expiresAt: newKey.lifeMs === null ? null : isoTime(now + newKey.lifeMs),
    revokedAt: null,
    rotatedAt: null,
    lastUsedAt: null,
  }
  await store.apiKeys.add(key)
  return { ...listedApiKey(key), apiKey }
}

export const listedApiKey = (key: StoredApiKey): ListedApiKey => ({
  apiKeyId: key.apiKeyId,
  tenantId: key.tenantId,
  start: key.start,
  name: key.name,
  scopes: key.scopes,
  createdAt: key.createdAt,
  expiresAt: key.expiresAt,
  revokedAt: key.revokedAt,
  rotatedAt: key.rotatedAt,
  lastUsedAt: key.lastUsedAt,
})
