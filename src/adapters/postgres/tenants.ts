import type { ApiKeys, StoredApiKey } from '../../core/ports/api-keys.ts'
import type { Tenant, Tenants } from '../../core/ports/tenants.ts'
import { type ApiKeyRow, COLUMNS, storedApiKey } from '../rows.ts'
import type { Ask } from './connect.ts'
import type { Sql } from './open.ts'
import { columns, textArray } from './statements.ts'

const TENANT = columns('tenant', COLUMNS.tenants)
const BRAND = columns('brand', COLUMNS.brands)

export const postgresTenants = (ask: Ask): Tenants => ({
  add: async (tenant) => {
    await ask(
      (sql) => sql`
        with tenant as (insert into tenants ${TENANT.values(sql, [{ ...tenant, retentionDays: null }])})
        insert into brands ${BRAND.values(sql, [tenant])}`,
    )
  },

  update: async (tenantId, { name = null, retentionDays }) => {
    const [tenant] = await ask(
      (sql) => sql<Tenant[]>`
        update tenants set name = coalesce(${name}, name)
          ${retentionDays === undefined ? sql`` : sql`, retention_days = ${retentionDays}`}
        where tenant_id = ${tenantId} returning ${TENANT.names(sql)}`,
    )
    return tenant ?? null
  },

  list: (afterId, limit) =>
    ask(
      (sql) => sql<Tenant[]>`
        select ${TENANT.names(sql)} from tenants where tenant_id > ${afterId} order by tenant_id limit ${limit}`,
    ),

  brands: async (tenantId) => {
    const rows = await ask(
      (sql) => sql<{ brandId: string | null }[]>`
        select b.brand_id from tenants t left join brands b on b.tenant_id = ${tenantId}
        where t.tenant_id = ${tenantId} order by b.brand_id`,
    )
    return rows.length === 0 ? null : rows.flatMap(({ brandId }) => brandId ?? [])
  },
})

const KEYS = columns('key', COLUMNS.api_keys)

/** Ending a key notifies all processes in the same commit, so that they forget it; then it calls `ended`. */
export const postgresApiKeys = (ask: Ask, ended: () => void): ApiKeys => {
  const keysWhere = async (condition: (sql: Sql) => ReturnType<Sql>): Promise<StoredApiKey[]> => {
    const rows = await ask(
      (sql) => sql<ApiKeyRow[]>`select ${KEYS.names(sql)} from api_keys where ${condition(sql)}`,
    )
    return rows.map(storedApiKey)
  }
  return {
    findByHash: async (keyHash) => (await keysWhere((sql) => sql`key_hash = ${keyHash}`))[0] ?? null,
    find: async (apiKeyId) => (await keysWhere((sql) => sql`api_key_id = ${apiKeyId}`))[0] ?? null,
    list: (tenantId) => keysWhere((sql) => sql`tenant_id = ${tenantId} order by api_key_id`),
    isEmpty: async () => (await ask((sql) => sql`select 1 from api_keys limit 1`)).length === 0,
    add: async (key) => {
      const row = { ...key, scopes: textArray(key.scopes) }
      await ask((sql) => sql`insert into api_keys ${KEYS.values(sql, [row])}`)
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
      ended()
    },
    markUsed: async (apiKeyId, at) => {
      await ask((sql) => sql`update api_keys set last_used_at = ${at} where api_key_id = ${apiKeyId}`)
    },
  }
}
