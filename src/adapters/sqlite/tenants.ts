import type { ApiKeys, StoredApiKey } from '../../core/ports/api-keys.ts'
import type { Tenant, Tenants } from '../../core/ports/tenants.ts'
import { columnsOf } from '../columns.ts'
import { type ApiKeyRow, COLUMNS, storedApiKey } from '../rows.ts'
import { type Database, insertInto } from './open.ts'

const insertTenant = insertInto('tenants', columnsOf('tenant_id, name, created_at'))
const insertBrand = insertInto('brands', COLUMNS.brands)
const TENANT = Object.keys(COLUMNS.tenants)
const UPDATE = `
  update tenants set name = coalesce(?, name), retention_days = case ? when 1 then ? else retention_days end
  where tenant_id = ? returning ${TENANT}`
const LIST = `select ${TENANT} from tenants where tenant_id > ? order by tenant_id limit ?`

export const sqliteTenants = (database: Database): Tenants => ({
  add: (tenant) =>
    database.write(() => {
      insertTenant(database, tenant)
      insertBrand(database, tenant)
    }),

  update: (tenantId, { name = null, retentionDays }) =>
    database.write(() => {
      const changes = [retentionDays === undefined ? 0 : 1, retentionDays ?? null] as const
      return database.get<Tenant>(UPDATE, name, ...changes, tenantId) ?? null
    }),

  list: async (afterId, limit) => database.all<Tenant>(LIST, afterId, limit),

  brands: async (tenantId) => {
    if (!database.has('select 1 from tenants where tenant_id = ?', tenantId)) return null
    return database
      .all<{ brandId: string }>('select brand_id from brands where tenant_id = ? order by brand_id', tenantId)
      .map(({ brandId }) => brandId)
  },
})

const KEY = `select ${Object.keys(COLUMNS.api_keys)} from api_keys`
const END = `
  update api_keys set revoked_at = coalesce(?, revoked_at), expires_at = coalesce(?, expires_at)
  where api_key_id = ?`
const insertKey = insertInto('api_keys', COLUMNS.api_keys)

/** Calls `changed` after a key was ended. */
export const sqliteApiKeys = (database: Database, changed: () => void): ApiKeys => {
  const keysBy = (where: string, value: string): StoredApiKey[] =>
    database.all<ApiKeyRow>(`${KEY} where ${where}`, value).map(storedApiKey)
  return {
    findByHash: async (keyHash) => keysBy('key_hash = ?', keyHash)[0] ?? null,
    find: async (apiKeyId) => keysBy('api_key_id = ?', apiKeyId)[0] ?? null,
    list: async (tenantId) => keysBy('tenant_id = ? order by api_key_id', tenantId),
    isEmpty: async () => !database.has('select 1 from api_keys limit 1'),
    add: (key) => database.write(() => void insertKey(database, { ...key, scopes: key.scopes.join(' ') })),
    end: async (apiKeyId, when) => {
      const { revokedAt = null, expiresAt = null } = when as { revokedAt?: string; expiresAt?: string }
      await database.write(() => database.run(END, revokedAt, expiresAt, apiKeyId))
      changed()
    },
    markUsed: (apiKeyId, at) =>
      database.write(
        () => void database.run('update api_keys set last_used_at = ? where api_key_id = ?', at, apiKeyId),
      ),
  }
}
