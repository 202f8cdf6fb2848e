import { refuse } from './failures.ts'
import { type ListedApiKey, listedApiKey } from './issue-api-key.ts'
import type { StoredApiKey } from './ports/api-keys.ts'
import type { Store } from './ports/store.ts'
import type { Clock } from './ports/world.ts'
import { isoTime } from './times.ts'

type Deps = { readonly store: Pick<Store, 'apiKeys'>; readonly clock: Clock }

/** Ends a key, in every process within a second. A key revoked before stays as it was. Refuses `not_found`. */
export const revokeApiKey =
  ({ store, clock }: Deps) =>
  async (apiKeyId: string): Promise<ListedApiKey> => {
    const key = await knownApiKey(store, apiKeyId)
    if (key.revokedAt !== null) return listedApiKey(key)
    const revokedAt = isoTime(clock())
    await store.apiKeys.end(apiKeyId, { revokedAt })
    return listedApiKey({ ...key, revokedAt })
  }

export const knownApiKey = async (store: Deps['store'], apiKeyId: string): Promise<StoredApiKey> =>
  (await store.apiKeys.find(apiKeyId)) ?? refuse('not_found', 'API key not found.')
