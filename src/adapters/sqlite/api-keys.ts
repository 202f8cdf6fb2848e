import type { ApiKeys, TenantState } from '../../core/ports/api-keys.ts'
import { type ApiKeyRow, COLUMNS, storedApiKey } from '../stores/rows.ts'
import type { Database } from './open.ts'
import { insertInto } from './statements.ts'
import { isSuspended } from './tenants.ts'

const KEY = `select ${Object.keys(COLUMNS.api_keys)} from api_keys`
const BY_HASH = `select *, ${isSuspended('k')} as is_suspended from api_keys k where key_hash = :keyHash`
const ADD = insertInto('api_keys', COLUMNS.api_keys)
const END_KEY = `
  update api_keys set revoked_at = coalesce(:revokedAt, revoked_at), rotated_at = coalesce(:rotatedAt, rotated_at),
    expires_at = coalesce(:expiresAt, expires_at)
  where api_key_id = :apiKeyId
    and (:rotatedAt is null or revoked_at is null and rotated_at is :lastRotatedAt)`
const MARK = 'update api_keys set last_used_at = :at where api_key_id = :apiKeyId'

/** Calls `changed` after a key was ended. */
export const sqliteApiKeys = (database: Database, changed: () => void): ApiKeys => {
  const keysBy = (column: string, value: string) =>
    database
      .all<ApiKeyRow>(`${KEY} where ${column} = :value order by api_key_id`, { value })
      .map(storedApiKey)
  return {
    findByHashes: async (keyHashes) =>
      keyHashes.flatMap((keyHash) =>
        database
          .all<ApiKeyRow & TenantState>(BY_HASH, { keyHash })
          .map((row) => ({ ...storedApiKey(row), isSuspended: Boolean(row.isSuspended) })),
      ),
    find: async (apiKeyId) => keysBy('api_key_id', apiKeyId)[0] ?? null,
    list: async (tenantId) => keysBy('tenant_id', tenantId),
    isEmpty: async () => !database.has('select 1 from api_keys limit 1'),
    add: (key) => database.write(() => void database.run(ADD, { ...key, scopes: key.scopes.join(' ') })),
    end: async (apiKeyId, when) => {
      const none = { revokedAt: null, rotatedAt: null, expiresAt: null, lastRotatedAt: null }
      const ended = await database.write(() => database.run(END_KEY, { ...none, ...when, apiKeyId }))
      changed()
      return ended > 0
    },
    markUsed: (apiKeyId, at) => database.write(() => void database.run(MARK, { apiKeyId, at })),
  }
}
