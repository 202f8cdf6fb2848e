import type { ApiKeys } from '../../src/core/ports/api-keys.ts'
import type { Clock } from '../../src/core/ports/world.ts'
import { identify } from '../../src/core/tenants/identify.ts'

/** Identifies callers by a look-up of each key, without limits. */
export const identifyIn = (apiKeys: Pick<ApiKeys, 'findByHashes' | 'markUsed'>, clock: Clock) => {
  const find = async (keyHash: string) => (await apiKeys.findByHashes([keyHash]))[0] ?? null
  const keys = { find, isKnown: () => false }
  const identified = identify({ apiKeys, keys, clock, limitGuesses: (_, lookUp) => lookUp() })
  return async (apiKey: string | undefined) => identified(apiKey)
}
