import type { ApiKeys, StoredApiKey } from '../../core/ports/api-keys.ts'
import type { Tenant, Tenants } from '../../core/ports/tenants.ts'
import { type ApiKeyRow, COLUMNS, storedApiKey } from '../stores/rows.ts'
import { type Fragment, nothing, type Query, sql } from './sql.ts'
import { columns, textArray } from './statements.ts'

const TENANT = columns('tenant', COLUMNS.tenants)
const BRAND = columns('brand', COLUMNS.brands)

export const postgresTenants = (query: Query): Tenants => ({
  add: async (tenant) => {
    await query()`
      with tenant as (insert into tenants ${TENANT.values([{ ...tenant, retentionDays: null }])})
      insert into brands ${BRAND.values([tenant])}`
  },

  update: async (tenantId, { name = null, retentionDays }) => {
    const [tenant] = await query()<Tenant>`
      update tenants set name = coalesce(${name}, name)
        ${retentionDays === undefined ? nothing : sql`, retention_days = ${retentionDays}`}
      where tenant_id = ${tenantId} returning ${TENANT.names}`
    return tenant ?? null
  },

  find: async (tenantId) => {
    const [tenant] = await query()<Tenant>`select ${TENANT.names} from tenants where tenant_id = ${tenantId}`
    return tenant ?? null
  },

  list: (afterId, limit) =>
    query()<Tenant>`
      select ${TENANT.names} from tenants where tenant_id > ${afterId} order by tenant_id limit ${limit}`,

  brands: async (tenantId) => {
    const rows = await query()<{ brandId: string | null }>`
      select b.brand_id from tenants t left join brands b on b.tenant_id = ${tenantId}
      where t.tenant_id = ${tenantId} order by b.brand_id`
    return rows.length === 0 ? null : rows.flatMap(({ brandId }) => brandId ?? [])
  },
})

const KEYS = columns('key', COLUMNS.api_keys)

/** Ending a key notifies all processes in the same commit, so that they forget it; then it calls `ended`. */
export const postgresApiKeys = (query: Query, ended: () => void): ApiKeys => {
  const keysWhere = async (condition: Fragment): Promise<StoredApiKey[]> => {
    const rows = await query()<ApiKeyRow>`select ${KEYS.names} from api_keys where ${condition}`
    return rows.map(storedApiKey)
  }
  return {
    findByHashes: (keyHashes) => keysWhere(sql`key_hash = any(${textArray(keyHashes)}::text[])`),
    find: async (apiKeyId) => (await keysWhere(sql`api_key_id = ${apiKeyId}`))[0] ?? null,
    list: (tenantId) => keysWhere(sql`tenant_id = ${tenantId} order by api_key_id`),
    isEmpty: async () => (await query()`select 1 from api_keys limit 1`).length === 0,
    add: async (key) => {
      const row = { ...key, scopes: textArray(key.scopes) }
      await query()`insert into api_keys ${KEYS.values([row])}`
    },
    end: async (apiKeyId, when) => {
      const { revokedAt = null, rotatedAt = null, expiresAt = null }: Partial<StoredApiKey> = when
      await query()`
        with ended as (
          update api_keys set revoked_at = coalesce(${revokedAt}, revoked_at),
            rotated_at = coalesce(${rotatedAt}, rotated_at), expires_at = coalesce(${expiresAt}, expires_at)
          where api_key_id = ${apiKeyId}
        )
        select pg_notify('prospect_pages', 'keys')`
      ended()
    },
    markUsed: async (apiKeyId, at) => {
      await query()`update api_keys set last_used_at = ${at} where api_key_id = ${apiKeyId}`
    },
  }
}
