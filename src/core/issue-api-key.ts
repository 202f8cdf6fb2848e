import { apiKeyHash, apiKeyStart, newApiKeyText } from './api-key-text.ts'
import { brandsOf } from './create-tenant.ts'
import { SCOPES, type Scope, type StoredApiKey } from './ports/api-keys.ts'
import type { Needs } from './ports/store.ts'
import { isoTime } from './times.ts'

/** A key as its owner sees it, without its hash. */
export type ListedApiKey = Omit<StoredApiKey, 'keyHash'>
/** The only time that the key itself is shown. */
export type IssuedApiKey = ListedApiKey & { readonly apiKey: string }

export type NewApiKey = {
  readonly tenantId: string
  readonly name: string | null
  readonly scopes: readonly Scope[]
  readonly lifeMs: number | null
}

/** Issues a key to a tenant: all scopes if none is named, never expiring if `lifeMs` is null. */
export const issueApiKey =
  (deps: Needs<'apiKeys' | 'tenants'>) =>
  async (wanted: NewApiKey): Promise<IssuedApiKey> => {
    await brandsOf(deps.store, wanted.tenantId)
    return issueAt(deps, wanted, deps.clock())
  }

export const issueAt = async (
  { store, newId }: Omit<Needs<'apiKeys'>, 'clock'>,
  wanted: NewApiKey,
  now: number,
): Promise<IssuedApiKey> => {
  const apiKey = newApiKeyText()
  const key: StoredApiKey = {
    apiKeyId: newId('apikey'),
    tenantId: wanted.tenantId,
    keyHash: apiKeyHash(apiKey),
    start: apiKeyStart(apiKey),
    name: wanted.name,
    scopes: wanted.scopes.length === 0 ? SCOPES : wanted.scopes,
    createdAt: isoTime(now),
    expiresAt: wanted.lifeMs === null ? null : isoTime(now + wanted.lifeMs),
    revokedAt: null,
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
  lastUsedAt: key.lastUsedAt,
})
