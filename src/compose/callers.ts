import { limitFailedAuth } from '../adapters/http/limits/failed-auth-limit.ts'
import { apiKeyHash, isApiKeyText } from '../core/api-key-text.ts'
import { type Caller, identify } from '../core/identify.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock } from '../core/ports/world.ts'
import { rememberApiKeys } from '../core/remember-api-keys.ts'

type Deps = {
  readonly apiKeys: Store['apiKeys']
  readonly clock: Clock
  readonly stopwatch: () => number
  /** Invalid keys of one address in a minute; null: no limit. */
  readonly failedAuthPerMinute: number | null
  /** How long a key needs no look-up unless keys change. */
  readonly keysRememberedMsMax: number
}
type Callers = {
  readonly identify: (apiKey: string | undefined, address: string | undefined) => Promise<Caller>
  /** Call it when keys have changed: each is looked up again. */
  readonly forget: () => void
}

const KEYS_REMEMBERED_MAX = 10_000

/** Identifies callers by their API key: keys are remembered, and failures of one address are limited. */
export const composeCallers = ({
  apiKeys,
  clock,
  stopwatch,
  failedAuthPerMinute: perMinute,
  keysRememberedMsMax,
}: Deps): Callers => {
  const keys = rememberApiKeys((hash) => apiKeys.findByHash(hash), stopwatch, {
    keysMax: KEYS_REMEMBERED_MAX,
    msMax: keysRememberedMsMax,
  })
  const identifyKnown = identify({
    apiKeys: { findByHash: keys.findByHash, markUsed: (apiKeyId, at) => apiKeys.markUsed(apiKeyId, at) },
    clock,
  })
  const isKnown = (apiKey: string) => isApiKeyText(apiKey) && keys.isKnown(apiKeyHash(apiKey))
  const limited =
    perMinute === null
      ? identifyKnown
      : limitFailedAuth({ identify: identifyKnown, isKnown, perMinute, stopwatch })
  return { identify: limited, forget: keys.forget }
}
