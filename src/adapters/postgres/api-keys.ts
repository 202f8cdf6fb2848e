import type { ApiKeys, TenantState } from '../../core/ports/api-keys.ts'
import { type ApiKeyRow, COLUMNS, storedApiKey } from '../stores/rows.ts'
import { columns, type Query, textArray } from './sql.ts'

const API_KEY = columns('k', COLUMNS.api_keys)

/** Ending a key notifies all processes in its commit, then calls `ended`. */
export const postgresApiKeys = (query: Query, ended: () => void): ApiKeys => ({
  findByHashes: async (keyHashes) => {
    const rows = await query()<ApiKeyRow & TenantState>`
      select ${API_KEY.selected}, exists (
        select 1 from tenants t where t.tenant_id = k.tenant_id and t.suspended_at is not null
      ) as is_suspended
      from api_keys k where k.key_hash = any (${textArray(keyHashes)}::text[])`
    return rows.map((row) => ({ ...storedApiKey(row), isSuspended: row.isSuspended }))
  },

  find: async (apiKeyId) => {
    const [row] = await query()<ApiKeyRow>`
      select ${API_KEY.selected} from api_keys k where k.api_key_id = ${apiKeyId}`
    return row === undefined ? null : storedApiKey(row)
  },

  list: async (tenantId) => {
    const rows = await query()<ApiKeyRow>`
      select ${API_KEY.selected} from api_keys k where k.tenant_id = ${tenantId} order by k.api_key_id`
    return rows.map(storedApiKey)
  },

  isEmpty: async () => (await query()`select 1 from api_keys limit 1`).length === 0,

  add: async (key) => {
    await query()`
      insert into api_keys (${API_KEY.names}) select ${API_KEY.values} from ${API_KEY.from([key])}`
  },

  end: async (apiKeyId, when) => {
    const [row] =
      'revokedAt' in when
        ? await query()<{ isEnded: boolean }>`
          with ended as (
            update api_keys k set revoked_at = ${when.revokedAt} where k.api_key_id = ${apiKeyId}
            returning 1
          )
          select exists (select 1 from ended) as is_ended, pg_notify('prospect_pages', 'keys')`
        : await query()<{ isEnded: boolean }>`
          with ended as (
            update api_keys k set rotated_at = ${when.rotatedAt}, expires_at = ${when.expiresAt}
            where k.api_key_id = ${apiKeyId} and k.revoked_at is null
              and k.rotated_at is not distinct from ${when.lastRotatedAt}::timestamptz
            returning 1
          )
          select exists (select 1 from ended) as is_ended, pg_notify('prospect_pages', 'keys')`
    ended()
    return row?.isEnded ?? false
  },

  markUsed: async (apiKeyId, at) => {
    await query()`update api_keys k set last_used_at = ${at} where k.api_key_id = ${apiKeyId}`
  },
})
