import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import type { ApiKeys, OfTenant, Scope, StoredApiKey } from '../ports/api-keys.ts'
import type { Clock } from '../ports/world.ts'
import { checkedApiKeyHash } from './api-key-text.ts'

/** The caller: the tenant of an API key, and the scopes of the key. */
export type Caller = Pick<StoredApiKey, 'tenantId' | 'scopes'> & {
  /** Null for a person at the command line. */
  readonly apiKeyId: string | null
  readonly isSuspended?: boolean
}

type Deps = {
  readonly apiKeys: Pick<ApiKeys, 'findByHashes' | 'markUsed'>
  readonly clock: Clock
  /** By default each key is looked up in the store. */
  readonly findKey?: (keyHash: string) => Found | Promise<Found | null>
}
type Found = StoredApiKey & OfTenant
/** A busy key costs one small write in this time, however many requests it makes. */
const MARKED_MS = 300_000
const MARKED_KEYS_MAX = 10_000

/**
 * Identifies the caller: the tenant and scopes of an API key. Returns a promise unless the key was found at once.
 * Refuses `missing_api_key` and `invalid_api_key`: not a key, unknown, expired or revoked.
 */
export const identify = ({ apiKeys, clock, ...deps }: Deps) => {
  const findKey = deps.findKey ?? (async (keyHash) => (await apiKeys.findByHashes([keyHash]))[0] ?? null)
  const lastMarked = new Map<string, number>()

  /** Not awaited. Losing one does no harm. A time in the future was marked by a clock that was ahead. */
  const markUsed = ({ apiKeyId, lastUsedAt }: StoredApiKey, now: number) => {
    const marked = lastMarked.get(apiKeyId) ?? (lastUsedAt === null ? 0 : Date.parse(lastUsedAt))
    if (Math.abs(now - marked) < MARKED_MS) return
    if (lastMarked.size >= MARKED_KEYS_MAX) lastMarked.clear()
    lastMarked.set(apiKeyId, now)
    apiKeys.markUsed(apiKeyId, isoTime(now)).catch(() => {})
  }

  const callerBy = (key: Found | null): Caller => {
    const now = clock()
    if (key === null || hasEnded(key, now))
      return refuse('invalid_api_key', 'The API key is not valid: unknown, expired or revoked.')
    markUsed(key, now)
    const { tenantId, apiKeyId, scopes, isSuspended } = key
    return { tenantId, apiKeyId, scopes, isSuspended }
  }
  const lookUp = async (apiKey: string | undefined, found: Promise<Found | null> | null): Promise<Caller> =>
    apiKey ? callerBy(await found) : refuse('missing_api_key', 'The header x-api-key is missing.')

  return (apiKey: string | undefined): Caller | Promise<Caller> => {
    const keyHash = apiKey ? checkedApiKeyHash(apiKey) : null
    const found = keyHash === null ? null : findKey(keyHash)
    return found === null || found instanceof Promise ? lookUp(apiKey, found) : callerBy(found)
  }
}

export const hasEnded = ({ revokedAt, expiresAt }: StoredApiKey, now: number): boolean =>
  revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= now)

/** Refuses `tenant_suspended`. */
export const requireActiveTenant = ({ isSuspended }: Partial<OfTenant>): void => {
  if (isSuspended) refuse('tenant_suspended', 'The tenant of this API key or hook is suspended.')
}

/** Refuses `insufficient_scope` unless the key of the caller has this scope. */
export const requireScope = (caller: Caller, scope: Scope): void => {
  if (!caller.scopes.includes(scope))
    refuse('insufficient_scope', `The API key lacks the scope ${scope}.`, { requiredScope: scope })
}
