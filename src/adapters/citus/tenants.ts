import type { Tenant, Tenants } from '../../core/ports/tenants.ts'
import { COLUMNS } from '../stores/rows.ts'
import { TENANT_TABLES } from '../stores/tables.ts'
import { removalOf } from './removal.ts'
import { columns, type Fragment, nothing, type Query, sql } from './sql.ts'

const TENANT = columns('tenant', COLUMNS.tenants)
const REMOVALS = TENANT_TABLES.map(removalOf)
const BRAND = columns('brand', COLUMNS.brands)

const NEW = { retentionDays: null, suspendedAt: null, deletedAt: null }

export const isSuspended = (tenantId: Fragment) =>
  sql`exists (select 1 from tenants t where t.tenant_id = ${tenantId} and t.suspended_at is not null)`

/** Makes every process forget keys and hooks at this commit. Citus allows no `void` in a part of a statement. */
export const FORGET_KEYS = sql`pg_notify('prospect_pages', 'keys') is null as notified`

/** Calls `changed` after a tenant was suspended or resumed. */
export const citusTenants = (query: Query, changed: () => void): Tenants => ({
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
      select ${TENANT.selected} from tenant cross join (select ${FORGET_KEYS}) as forgotten`
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
      select ${FORGET_KEYS} from removed`
    changed()
  },
})
