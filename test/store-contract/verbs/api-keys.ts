import { at, someKey } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

export const apiKeys = {
  findByHashes: {
    serves: 'callers',
    ask: ({ apiKeys }, _as, { key }) => apiKeys.findByHashes([key.keyHash]),
    noTenant: 'the key determines the tenant',
  },
  markUsed: {
    serves: 'callers',
    ask: ({ apiKeys }, _as, { key }) => apiKeys.markUsed(key.apiKeyId, at(7)),
    noTenant: 'the id comes from a key just found by its hash, never from a request',
  },
  find: {
    serves: 'callers',
    ask: ({ apiKeys }, _as, { key }) => apiKeys.find(key.apiKeyId),
    noTenant: 'an operator may reach every key by its id; a caller names the key of the request',
  },
  list: {
    serves: 'commands',
    ask: ({ apiKeys }, { tenantId }) => apiKeys.list(tenantId),
    toStrangers: [],
  },
  isEmpty: {
    serves: 'commands',
    ask: ({ apiKeys }) => apiKeys.isEmpty(),
    noTenant: 'it only shows whether any key was ever added',
  },
  add: {
    serves: 'commands',
    ask: ({ apiKeys }, { tenantId }) => apiKeys.add(someKey(tenantId)),
    toStrangers: undefined,
  },
  end: {
    serves: 'commands',
    ask: async ({ apiKeys }, _as, { key }) => {
      await apiKeys.end(key.apiKeyId, { lastRotatedAt: null, rotatedAt: at(7), expiresAt: at(9) })
      return apiKeys.end(key.apiKeyId, { revokedAt: at(8) })
    },
    noTenant: 'an operator may reach every key by its id',
  },
} satisfies PortVerbs<'apiKeys'>
