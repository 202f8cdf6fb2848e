import type { Tenant, Tenants } from '../../core/ports/tenants.ts'
import { columnsOf } from '../stores/columns.ts'
import { COLUMNS } from '../stores/rows.ts'
import { TENANT_TABLES } from '../stores/tables.ts'
import type { Database } from './open.ts'
import { insertInto } from './statements.ts'

const ADD = insertInto('tenants', columnsOf('tenant_id, name, created_at'))
const ADD_BRAND = insertInto('brands', COLUMNS.brands)
const TENANT = Object.keys(COLUMNS.tenants)
const UPDATE = `
  update tenants set name = coalesce(:name, name),
    retention_days = case when :isKept then retention_days else :retentionDays end
  where tenant_id = :tenantId returning ${TENANT}`
const BRANDS = 'select brand_id from brands where tenant_id = :tenantId order by brand_id'
export const IS_KEPT = 'select 1 from tenants where tenant_id = :tenantId and deleted_at is null'
const FIND = `select ${TENANT} from tenants where tenant_id = :tenantId`
const DELETING = `select ${TENANT} from tenants where deleted_at is not null order by tenant_id limit 100`
const REMOVE = 'delete from tenants where tenant_id = :tenantId and deleted_at is not null'
const LIST = `select ${TENANT} from tenants where tenant_id > :afterId order by tenant_id limit :limit`

const SET_STATE = `
  update tenants set suspended_at = iif(:suspendedAt is null, null, coalesce(suspended_at, :suspendedAt)),
    deleted_at = :deletedAt
  where tenant_id = :tenantId and deleted_at is null returning ${TENANT}`
/** Rows that are deleted at a time: a row may have 1 MiB. */
const ROWS_AT_ONCE = 8
const REMOVE_MS_MAX = 20
const REMOVALS = TENANT_TABLES.map(({ name, key }) => ({
  name,
  isLeft: `select 1 from ${name} where tenant_id = :tenantId limit 1`,
  sql: `delete from ${name} where (${key}) in (select ${key} from ${name} where tenant_id = :tenantId limit ${ROWS_AT_ONCE})`,
}))

export const isSuspended = (owner: string) =>
  `exists (
    select 1 from tenants tenant where tenant.tenant_id = ${owner}.tenant_id and tenant.suspended_at is not null)`

/** Calls `changed` after a tenant was suspended or resumed. */
export const sqliteTenants = (database: Database, changed: () => void): Tenants => ({
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
    if (!database.has(IS_KEPT, { tenantId })) return null
    return database.all<{ brandId: string }>(BRANDS, { tenantId }).map(({ brandId }) => brandId)
  },

  setState: async (tenantId, state) => {
    const tenant = await database.write(() => database.get<Tenant>(SET_STATE, { ...state, tenantId }))
    changed()
    return tenant
  },

  deleting: async () => database.all<Tenant>(DELETING, {}),

  left: async (tenantId) =>
    REMOVALS.filter(({ isLeft }) => database.has(isLeft, { tenantId })).map(({ name }) => name),

  // Deleted rows are gone: no key is needed to continue.
  removeSome: ({ tenantId, after, max }) =>
    database.write(() => {
      const endsAt = performance.now() + REMOVE_MS_MAX
      let at = REMOVALS.findIndex(({ name }) => name === (after?.table ?? REMOVALS[0]?.name))
      let rows = 0
      while (rows < max && performance.now() < endsAt) {
        const removal = REMOVALS[at]
        if (removal === undefined) return null
        const removed = database.run(removal.sql, { tenantId })
        rows += removed
        if (removed === 0) at++
      }
      return { table: REMOVALS[at]?.name ?? '', key: [] }
    }),

  remove: async (tenantId) => {
    await database.write(() => database.run(REMOVE, { tenantId }))
    changed()
  },
})
