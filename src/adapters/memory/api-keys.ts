import type { ApiKeys, StoredApiKey } from '../../core/ports/api-keys.ts'
import { type IsActive, indexBy, type RegisterTable, tableOf } from './table.ts'

/** Calls `changed` after a key was revoked or rotated. */
export const memoryApiKeys = (
  changed: () => void,
  registerTable: RegisterTable,
  isActive: IsActive,
): ApiKeys => {
  const keys = registerTable(
    'api_keys',
    tableOf({
      byId: indexBy<StoredApiKey>(['apiKeyId']),
      byHash: indexBy<StoredApiKey>(['keyHash']),
      byTenant: indexBy<StoredApiKey>(['tenantId'], ['apiKeyId']),
    }),
  )
  return {
    findByHashes: async (keyHashes) =>
      keyHashes
        .flatMap((keyHash) => structuredClone(keys.byHash.at({ keyHash })) ?? [])
        .map((key) => ({ ...key, isSuspended: !isActive(key) })),
    find: async (apiKeyId) => structuredClone(keys.byId.at({ apiKeyId }) ?? null),
    list: async (tenantId) => structuredClone([...keys.byTenant.after({ tenantId })]),
    isEmpty: async () => keys.byId.all().length === 0,
    add: async (key) => keys.add(structuredClone(key)),
    end: async (apiKeyId, when) => {
      const key = keys.byId.at({ apiKeyId })
      const { lastRotatedAt, ...changes } = { lastRotatedAt: undefined, ...when }
      const isAsRead = key && key.revokedAt === null && key.rotatedAt === lastRotatedAt
      if (lastRotatedAt !== undefined && !isAsRead) return false
      const isEnded = keys.change(key, changes) !== null
      changed()
      return isEnded
    },
    markUsed: async (apiKeyId, at) => void keys.change(keys.byId.at({ apiKeyId }), { lastUsedAt: at }),
  }
}
