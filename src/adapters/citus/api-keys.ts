import type { ApiKeys, StoredApiKey, TenantState } from '../../core/ports/api-keys.ts'
import { type ApiKeyRow, COLUMNS, storedApiKey } from '../stores/rows.ts'
import { columns, type Fragment, type Query, sql, textArray } from './sql.ts'
import { FORGET_KEYS, isSuspended } from './tenants.ts'

const KEYS = columns('key', COLUMNS.api_keys)

/** Ending a key notifies all processes in its commit, then calls `ended`. */
export const citusApiKeys = (query: Query, ended: () => void): ApiKeys => {
  const keysWhere = async (condition: Fragment): Promise<StoredApiKey[]> => {
    const rows = await query()<ApiKeyRow>`select ${KEYS.names} from api_keys where ${condition}`
    return rows.map(storedApiKey)
  }
  return {
    findByHashes: async (keyHashes) => {
      const rows = await query()<ApiKeyRow & TenantState>`
        select ${KEYS.names}, ${isSuspended(sql`api_keys.tenant_id`)} as is_suspended from api_keys
        where key_hash = any(${textArray(keyHashes)}::text[])`
      return rows.map((row) => ({ ...storedApiKey(row), isSuspended: row.isSuspended }))
    },
    find: async (apiKeyId) => (await keysWhere(sql`api_key_id = ${apiKeyId}`))[0] ?? null,
    list: (tenantId) => keysWhere(sql`tenant_id = ${tenantId} order by api_key_id`),
    isEmpty: async () => (await query()`select 1 from api_keys limit 1`).length === 0,
    add: async (key) => {
      const row = { ...key, scopes: textArray(key.scopes) }
      await query()`insert into api_keys ${KEYS.values([row])}`
    },
    end: async (apiKeyId, when) => {
      const none = { revokedAt: null, rotatedAt: null, expiresAt: null, lastRotatedAt: null }
      const { revokedAt, rotatedAt, expiresAt, lastRotatedAt } = { ...none, ...when }
      const [row] = await query()<ApiKeyRow>`
        with ended as (
          update api_keys set revoked_at = coalesce(${revokedAt}, revoked_at),
            rotated_at = coalesce(${rotatedAt}, rotated_at), expires_at = coalesce(${expiresAt}, expires_at)
            , is_copied = false
          where api_key_id = ${apiKeyId} and (
            ${rotatedAt}::timestamptz is null
            or revoked_at is null and rotated_at is not distinct from ${lastRotatedAt}::timestamptz
          )
          returning ${KEYS.names}
        )
        select ended.*, ${FORGET_KEYS} from (select 1) as one left join ended on true`
      ended()
      return Boolean(row?.apiKeyId)
    },
    markUsed: async (apiKeyId, at) => {
      await query()`update api_keys set last_used_at = ${at} where api_key_id = ${apiKeyId}`
    },
  }
}
