import type { ApiKeys, OfTenant, StoredApiKey } from '../../core/ports/api-keys.ts'
import type { Tenant, Tenants } from '../../core/ports/tenants.ts'
import { type ApiKeyRow, COLUMNS, storedApiKey } from '../stores/rows.ts'
import { TENANT_TABLES } from '../stores/tables.ts'
import { removalOf } from './removal.ts'
import { type Fragment, nothing, type Query, sql } from './sql.ts'
import { columns, textArray } from './statements.ts'

const TENANT = columns('tenant', COLUMNS.tenants)
const REMOVALS = TENANT_TABLES.map(removalOf)
const BRAND = columns('brand', COLUMNS.brands)

const NEW = { retentionDays: null, suspendedAt: null, deletedAt: null }

/** Condition that this tenant is suspended. */
export const isSuspended = (tenantId: Fragment) =>
  sql`exists (select 1 from tenants t where t.tenant_id = ${tenantId} and t.suspended_at is not null)`

/** Calls `changed` after a tenant was suspended or resumed. */
export const postgresTenants = (query: Query, changed: () => void): Tenants => ({
  add: async (tenant) => {
    await query()`
      with tenant as (insert into tenants ${TENANT.values([{ ...NEW, ...tenant }])})
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
      where t.tenant_id = ${tenantId} and t.deleted_at is null order by b.brand_id`
    return rows.length === 0 ? null : rows.flatMap(({ brandId }) => brandId ?? [])
  },

  setState: async (tenantId, { suspendedAt, deletedAt }) => {
    const [tenant] = await query()<Tenant>`
      with tenant as (
        update tenants set deleted_at = ${deletedAt}::timestamptz,
          suspended_at = case when ${suspendedAt}::timestamptz is not null then coalesce(suspended_at, ${suspendedAt}) end
        where tenant_id = ${tenantId} and deleted_at is null returning ${TENANT.names}
      )
      select ${TENANT.selected} from tenant, pg_notify('prospect_pages', 'keys')`
    if (tenant === undefined) return null
    changed()
    return tenant
  },

  deleting: () =>
    query()<Tenant>`
      select ${TENANT.names} from tenants where deleted_at is not null order by tenant_id limit 100`,

  left: async (tenantId) => {
    const left = await Promise.all(REMOVALS.map((removal) => removal.isLeft(query, tenantId)))
    return REMOVALS.filter((_, i) => left[i]).map(({ name }) => name)
  },

  removeSome: async ({ tenantId, after, max }) => {
    const at = after === null ? 0 : REMOVALS.findIndex(({ name }) => name === after.table)
    const key = (await REMOVALS[at]?.removeSome(query, tenantId, after?.key ?? [], max)) ?? null
    if (key !== null) return { table: REMOVALS[at]?.name ?? '', key }
    const next = REMOVALS[at + 1]
    return next ? { table: next.name, key: [] } : null
  },

  remove: async (tenantId) => {
    await query()`
      with removed as (delete from tenants where tenant_id = ${tenantId} and deleted_at is not null returning 1)
      select pg_notify('prospect_pages', 'keys') from removed`
    changed()
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
    findByHashes: async (keyHashes) => {
      const rows = await query()<ApiKeyRow & OfTenant>`
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
