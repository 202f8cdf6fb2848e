import type { ApiKeys } from '../../core/ports/api-keys.ts'
import { type ApiKeyRow, storedApiKey } from '../rows.ts'
import { textArray } from './arrays.ts'
import type { Ask, Sql } from './connect.ts'

/** Ending a key notifies all processes in the same commit, so that they forget it. */
export const postgresApiKeys = (ask: Ask): ApiKeys => ({
  findByHash: async (keyHash) => {
    const [row] = await ask(
      (sql) => sql<ApiKeyRow[]>`select ${columns(sql)} from api_keys where key_hash = ${keyHash}`,
    )
    return row === undefined ? null : storedApiKey(row)
  },

  find: async (apiKeyId) => {
    const [row] = await ask(
      (sql) => sql<ApiKeyRow[]>`select ${columns(sql)} from api_keys where api_key_id = ${apiKeyId}`,
    )
    return row === undefined ? null : storedApiKey(row)
  },

  list: async (tenantId) => {
    const rows = await ask(
      (sql) => sql<ApiKeyRow[]>`
        select ${columns(sql)} from api_keys where tenant_id = ${tenantId} order by api_key_id`,
    )
    return rows.map(storedApiKey)
  },

  isEmpty: async () => {
    const rows = await ask((sql) => sql`select 1 from api_keys limit 1`)
    return rows.length === 0
  },

  add: async (key) => {
    await ask(
      (sql) => sql`
        insert into api_keys (api_key_id, tenant_id, key_hash, start, name, scopes, created_at, expires_at,
          revoked_at, last_used_at)
        values (${key.apiKeyId}, ${key.tenantId}, ${key.keyHash}, ${key.start}, ${key.name},
          ${textArray(key.scopes)}::text[], ${key.createdAt}, ${key.expiresAt}, ${key.revokedAt}, ${key.lastUsedAt})`,
    )
  },

  end: async (apiKeyId, when) => {
    const { revokedAt = null, expiresAt = null } = when as { revokedAt?: string; expiresAt?: string }
    await ask(
      (sql) => sql`
        with ended as (
          update api_keys set revoked_at = coalesce(${revokedAt}, revoked_at),
            expires_at = coalesce(${expiresAt}, expires_at)
          where api_key_id = ${apiKeyId}
        )
        select pg_notify('prospect_pages', 'keys')`,
    )
  },

  markUsed: async (apiKeyId, at) => {
    await ask((sql) => sql`update api_keys set last_used_at = ${at} where api_key_id = ${apiKeyId}`)
  },
})

const columns = (sql: Sql) => sql`
  api_key_id, tenant_id, key_hash, start, name, array_to_string(scopes, ' ') as scopes, created_at, expires_at,
  revoked_at, last_used_at`
