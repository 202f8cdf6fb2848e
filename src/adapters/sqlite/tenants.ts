import type { ApiKeys } from '../../core/ports/api-keys.ts'
import type { Tenant, Tenants } from '../../core/ports/tenants.ts'
import { columnsOf } from '../stores/columns.ts'
import { type ApiKeyRow, COLUMNS, storedApiKey } from '../stores/rows.ts'
import { type Database, insertInto } from './open.ts'

const ADD = insertInto('tenants', columnsOf('tenant_id, name, created_at'))
const ADD_BRAND = insertInto('brands', COLUMNS.brands)
const TENANT = Object.keys(COLUMNS.tenants)
const UPDATE = `
  update tenants set name = coalesce(:name, name),
    retention_days = case when :isKept then retention_days else :retentionDays end
  where tenant_id = :tenantId returning ${TENANT}`
const BRANDS = 'select brand_id from brands where tenant_id = :tenantId order by brand_id'
const FIND = `select ${TENANT} from tenants where tenant_id = :tenantId`
const LIST = `select ${TENANT} from tenants where tenant_id > :afterId order by tenant_id limit :limit`

export const sqliteTenants = (database: Database): Tenants => ({
  add: (tenant) =>
    database.write(() => {
      database.run(ADD, tenant)
      database.run(ADD_BRAND, tenant)
    }),

  update: (tenantId, { name = null, retentionDays }) => {
    const row = { tenantId, name, retentionDays: retentionDays ?? null, isKept: retentionDays === undefined }
    return database.write(() => database.get<Tenant>(UPDATE, row))
  },

  find: async (tenantId) => database.get<Tenant>(FIND, { tenantId }),

  list: async (afterId, limit) => database.all<Tenant>(LIST, { afterId, limit }),

  brands: async (tenantId) => {
    if (!database.has('select 1 from tenants where tenant_id = :tenantId', { tenantId })) return null
    return database.all<{ brandId: string }>(BRANDS, { tenantId }).map(({ brandId }) => brandId)
  },
})

const KEY = `select ${Object.keys(COLUMNS.api_keys)} from api_keys`
const ADD_KEY = insertInto('api_keys', COLUMNS.api_keys)
const END = `
  update api_keys set revoked_at = coalesce(:revokedAt, revoked_at), rotated_at = coalesce(:rotatedAt, rotated_at),
    expires_at = coalesce(:expiresAt, expires_at)
  where api_key_id = :apiKeyId`
const MARK = 'update api_keys set last_used_at = :at where api_key_id = :apiKeyId'

/** Calls `changed` after a key was ended. */
export const sqliteApiKeys = (database: Database, changed: () => void): ApiKeys => {
  const keysBy = (column: string, value: string) =>
    database
      .all<ApiKeyRow>(`${KEY} where ${column} = :value order by api_key_id`, { value })
      .map(storedApiKey)
  return {
    findByHashes: async (keyHashes) => keyHashes.flatMap((keyHash) => keysBy('key_hash', keyHash)),
    find: async (apiKeyId) => keysBy('api_key_id', apiKeyId)[0] ?? null,
    list: async (tenantId) => keysBy('tenant_id', tenantId),
    isEmpty: async () => !database.has('select 1 from api_keys limit 1'),
    add: (key) => database.write(() => void database.run(ADD_KEY, { ...key, scopes: key.scopes.join(' ') })),
    end: async (apiKeyId, when) => {
      const row = { revokedAt: null, rotatedAt: null, expiresAt: null, ...when, apiKeyId }
      await database.write(() => database.run(END, row))
      changed()
    },
    markUsed: (apiKeyId, at) => database.write(() => void database.run(MARK, { apiKeyId, at })),
  }
}
