import { refuse } from '../engine/failures.ts'
import { sha256 } from '../engine/keys.ts'
import type { Needs } from '../ports/store.ts'
import { isApiKeyText } from './api-key-text.ts'
import { listedApiKey } from './issue-api-key.ts'

/** Finds the API key within a text, such as a line of a log, and its owner. Refuses `not_found`. */
export const findApiKey =
  ({ store }: Pick<Needs<'apiKeys' | 'tenants'>, 'store'>) =>
  async (text: string) => {
    const apiKey = text.match(/pp_[0-9A-Za-z]{36}/g)?.find(isApiKeyText)
    if (apiKey === undefined && text.includes('pp_')) refuse('not_found', MISTYPED)
    if (apiKey === undefined) return refuse('not_found', 'The input contains no API key.')
    const [key] = await store.apiKeys.findByHashes([sha256(apiKey)])
    if (key === undefined) return refuse('not_found', 'Unknown API key: it is not in this database.')
    return { tenantName: (await store.tenants.find(key.tenantId))?.name, ...listedApiKey(key) }
  }

const MISTYPED = 'The checksum of the API key is wrong: it has a typo, or a part of it is missing.'
