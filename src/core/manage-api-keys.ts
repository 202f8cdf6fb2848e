import { apiKeyHash, apiKeyStart, newApiKeyText } from './api-key-text.ts'
import { brandsOf } from './create-tenant.ts'
import { refuse } from './failures.ts'
import { type Clock, type NewId, SCOPES, type Scope, type Store, type StoredApiKey } from './ports.ts'
import { isoTime } from './times.ts'

type Deps = {
  readonly store: Pick<Store, 'apiKeys' | 'tenants'>
  readonly clock: Clock
  readonly newId: NewId
}

/** A key as its owner sees it, without what it hashes to. */
export type ApiKeyListed = Omit<StoredApiKey, 'keyHash'>
/** The only time that the key itself is shown. */
export type IssuedApiKey = ApiKeyListed & { readonly apiKey: string }

export type NewApiKey = {
  readonly tenantId: string
  readonly name: string | null
  readonly scopes: readonly Scope[]
  readonly lifeMs: number | null
}

/** Issues a key to a tenant: all scopes unless some are named, no end unless `lifeMs` is given. */
export const issueApiKey =
  (deps: Deps) =>
  async (wanted: NewApiKey): Promise<IssuedApiKey> => {
    await brandsOf(deps.store, wanted.tenantId)
    return issueAt(deps, wanted, deps.clock())
  }

const issueAt = async ({ store, newId }: Deps, wanted: NewApiKey, now: number): Promise<IssuedApiKey> => {
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
  return { ...listed(key), apiKey }
}

/** The keys of a tenant, oldest first, ended ones too. */
export const listApiKeys =
  ({ store }: Pick<Deps, 'store'>) =>
  async (tenantId: string): Promise<readonly ApiKeyListed[]> => {
    await brandsOf(store, tenantId)
    return (await store.apiKeys.list(tenantId)).map(listed)
  }

/** Ends a key at once, in every process within a second. A key revoked before stays as it was. */
export const revokeApiKey =
  ({ store, clock }: Omit<Deps, 'newId'>) =>
  async (apiKeyId: string): Promise<ApiKeyListed> => {
    const key = await knownKey(store, apiKeyId)
    if (key.revokedAt !== null) return listed(key)
    const revokedAt = isoTime(clock())
    await store.apiKeys.end(apiKeyId, { revokedAt })
    return listed({ ...key, revokedAt })
  }

/** Issues a key like this one, which itself ends after `overlapMs`, or earlier where its own end is nearer. */
export const rotateApiKey =
  (deps: Deps) =>
  async (apiKeyId: string, overlapMs: number): Promise<IssuedApiKey> => {
    const { store, clock } = deps
    const key = await knownKey(store, apiKeyId)
    const now = clock()
    if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= isoTime(now)))
      refuse('invalid_request', 'This key has ended already; create a new one.')
    const lifeMs = key.expiresAt === null ? null : Date.parse(key.expiresAt) - Date.parse(key.createdAt)
    const { tenantId, name, scopes } = key
    const issued = await issueAt(deps, { tenantId, name, scopes, lifeMs }, now)
    const end = isoTime(now + overlapMs)
    if (key.expiresAt === null || end < key.expiresAt) await store.apiKeys.end(apiKeyId, { expiresAt: end })
    return issued
  }

const knownKey = async (store: Pick<Store, 'apiKeys'>, apiKeyId: string): Promise<StoredApiKey> =>
  (await store.apiKeys.find(apiKeyId)) ?? refuse('not_found', 'There is no API key with this id.')

const listed = (key: StoredApiKey): ApiKeyListed => ({
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
