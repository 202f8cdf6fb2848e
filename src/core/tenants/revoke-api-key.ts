import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import type { StoredApiKey } from '../ports/api-keys.ts'
import type { Needs, Store } from '../ports/store.ts'
import { type ListedApiKey, listedApiKey } from './issue-api-key.ts'

/** Ends a key, in every process within a second. An already revoked key stays unchanged. Refuses `not_found`. */
export const revokeApiKey =
  ({ store, clock }: Omit<Needs<'apiKeys'>, 'newId'>) =>
  async (apiKeyId: string): Promise<ListedApiKey> => {
    const key = await knownApiKey(store, apiKeyId)
    if (key.revokedAt !== null) return listedApiKey(key)
    const revokedAt = isoTime(clock())
    await store.apiKeys.end(apiKeyId, { revokedAt })
    return listedApiKey({ ...key, revokedAt })
  }

export const knownApiKey = async (store: Pick<Store, 'apiKeys'>, id: string): Promise<StoredApiKey> =>
  (await store.apiKeys.find(id)) ??
  refuse('not_found', 'API key not found.', {}, { obstacle: 'unknown_api_key' })
