import type { ApiKeys } from '../../core/ports/api-keys.ts'
import { type ApiKeyRow, storedApiKey } from '../rows.ts'
import type { Database } from './open.ts'

const KEY = `
  select api_key_id, tenant_id, key_hash, start, name, scopes, created_at, expires_at, revoked_at, last_used_at
  from api_keys`

/** Calls `changed` after a key was ended. */
export const sqliteApiKeys = (database: Database, changed: () => void): ApiKeys => ({
  findByHash: async (keyHash) => {
    const row = database.get<ApiKeyRow>(`${KEY} where key_hash = ?`, keyHash)
    return row === undefined ? null : storedApiKey(row)
  },

  find: async (apiKeyId) => {
    const row = database.get<ApiKeyRow>(`${KEY} where api_key_id = ?`, apiKeyId)
    return row === undefined ? null : storedApiKey(row)
  },

  list: async (tenantId) =>
    database.all<ApiKeyRow>(`${KEY} where tenant_id = ? order by api_key_id`, tenantId).map(storedApiKey),

  isEmpty: async () => database.get('select 1 from api_keys limit 1') === undefined,

  add: async (key) =>
    database.write(() =>
      database.run(
        `insert into api_keys (api_key_id, tenant_id, key_hash, start, name, scopes, created_at, expires_at, revoked_at,
         last_used_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        key.apiKeyId,
        key.tenantId,
        key.keyHash,
        key.start,
        key.name,
        key.scopes.join(' '),
        key.createdAt,
        key.expiresAt,
        key.revokedAt,
        key.lastUsedAt,
      ),
    ),

  end: async (apiKeyId, when) => {
    const { revokedAt = null, expiresAt = null } = when as { revokedAt?: string; expiresAt?: string }
    await database.write(() =>
      database.run(
        `update api_keys set revoked_at = coalesce(?, revoked_at), expires_at = coalesce(?, expires_at)
       where api_key_id = ?`,
        revokedAt,
        expiresAt,
        apiKeyId,
      ),
    )
    changed()
  },

  markUsed: async (apiKeyId, at) =>
    database.write(() =>
      database.run('update api_keys set last_used_at = ? where api_key_id = ?', at, apiKeyId),
    ),
})
