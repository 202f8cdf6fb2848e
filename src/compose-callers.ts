import { limitWrongKeys } from './adapters/http/wrong-keys.ts'
import { apiKeyHash, isApiKeyText } from './core/api-key-text.ts'
import { type Caller, identify } from './core/identify.ts'
import type { Clock, Store } from './core/ports.ts'
import { rememberApiKeys } from './core/remember-api-keys.ts'

type Deps = {
  readonly apiKeys: Store['apiKeys']
  readonly clock: Clock
  /** Wrong keys of one address in a minute; null: no limit. */
  readonly wrongKeysPerMinute: number | null
  /** For how long a key needs no look-up, where nothing says that keys have changed. */
  readonly rememberedMsMax: number
}
type Callers = {
  /** Who has this key, sent from this address. */
  readonly identify: (apiKey: string | undefined, address: string | undefined) => Promise<Caller>
  /** Keys have changed: what is remembered is looked up anew. */
  readonly forget: () => void
}

const REMEMBERED_MAX = 10_000

/** Says who calls: keys are remembered, and how many wrong ones an address may try is limited. */
export const composeCallers = ({ apiKeys, clock, wrongKeysPerMinute, rememberedMsMax }: Deps): Callers => {
  const stopwatch = () => performance.now()
  const keys = rememberApiKeys((hash) => apiKeys.findByHash(hash), stopwatch, {
    keysMax: REMEMBERED_MAX,
    msMax: rememberedMsMax,
  })
  const identifyKnown = identify({
    apiKeys: { findByHash: keys.findByHash, markUsed: (apiKeyId, at) => apiKeys.markUsed(apiKeyId, at) },
    clock,
  })
  if (wrongKeysPerMinute === null) return { identify: identifyKnown, forget: keys.forget }
  const limited = limitWrongKeys({
    identify: identifyKnown,
    isKnown: (apiKey) => isApiKeyText(apiKey) && keys.isKnown(apiKeyHash(apiKey)),
    perMinute: wrongKeysPerMinute,
    stopwatch,
  })
  return { identify: limited, forget: keys.forget }
}
