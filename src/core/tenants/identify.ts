import { andThen } from '../engine/and-then.ts'
import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import {
  type ApiKeys,
  READERS_SCOPE,
  type Scope,
  type StoredApiKey,
  type TenantState,
} from '../ports/api-keys.ts'
import type { Clock } from '../ports/world.ts'
import { apiKeyHashOf } from './api-key-text.ts'

export type Caller = Pick<StoredApiKey, 'tenantId' | 'scopes'> & {
  /** Null for a person at the command line. */
  readonly apiKeyId: string | null
  readonly isSuspended?: boolean
}

type Found = StoredApiKey & TenantState
type Deps = {
  readonly apiKeys: Pick<ApiKeys, 'markUsed'>
  readonly keys: {
    readonly find: (keyHash: string) => Found | Promise<Found | null>
    /** Whether the key was valid when it was last looked up. Such a key never waits for the limit. */
    readonly isKnown: (keyHash: string) => boolean
  }
  readonly clock: Clock
  readonly limitGuesses: LimitGuesses
}
/** Makes the look-up of an unknown key, limited by the address that sent it. */
export type LimitGuesses = (address: string, lookUp: () => Promise<Caller>) => Promise<Caller>
/** A busy key costs one small write in this time, however many requests it makes. */
const MARKED_MS = 300_000
const MARKED_KEYS_MAX = 10_000

/**
 * Identifies the caller: the tenant and scopes of an API key. Returns a promise unless the key was found at once.
 * Refuses `missing_api_key` and `invalid_api_key`: not a key, unknown, expired or revoked.
 */
export const identify = ({ apiKeys, keys, clock, limitGuesses }: Deps) => {
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
  const callerWith = (keyHash: string | null): Caller | Promise<Caller> => {
    const found = keyHash === null ? null : keys.find(keyHash)
    return andThen(found, callerBy)
  }

  return (apiKey: string | undefined, address?: string): Caller | Promise<Caller> => {
    if (!apiKey) return refuse('missing_api_key', 'The header x-api-key is missing.')
    const keyHash = apiKeyHashOf(apiKey)
    const isKnown = keyHash !== null && keys.isKnown(keyHash)
    if (isKnown || address === undefined) return callerWith(keyHash)
    return limitGuesses(address, async () => callerWith(keyHash))
  }
}

export const hasEnded = ({ revokedAt, expiresAt }: StoredApiKey, now: number): boolean =>
  revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= now)

/** Refuses `tenant_suspended`. */
export const requireActiveTenant = ({ isSuspended }: Partial<TenantState>): void => {
  if (isSuspended) refuse('tenant_suspended', 'The tenant of this API key or hook is suspended.')
}

/**
 * Refuses `insufficient_scope` unless the key of the caller has these scopes. Returns whether it reads only what is
 * published: if `readersToo`, the scope for readers takes the place of any that is missing.
 */
export const requireScopes = (caller: Caller, scopes: readonly Scope[], readersToo: boolean): boolean => {
  const missing = scopes.find((scope) => !caller.scopes.includes(scope))
  if (missing === undefined) return false
  if (readersToo && caller.scopes.includes(READERS_SCOPE)) return true
  return refuse('insufficient_scope', `The API key lacks the scope ${missing}.`, { requiredScope: missing })
}
