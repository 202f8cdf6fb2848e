import type { Tenant, Tenants } from '../../core/ports/tenants.ts'
import { COLUMNS } from '../stores/rows.ts'
import { TENANT_TABLES } from '../stores/tables.ts'
import { removalOf } from './removal.ts'
import { columns, type Query } from './sql.ts'

const TENANT = columns('t', COLUMNS.tenants)
const REMOVALS = TENANT_TABLES.map(removalOf)

/** Suspending or resuming a tenant notifies all processes in its commit, then calls `changed`. So does removing it. */
export const postgresTenants = (query: Query, changed: () => void): Tenants => ({
  add: async ({ tenantId, brandId, name, createdAt }) => {
    await query()`
      with tenant as (
        insert into tenants (tenant_id, name, created_at) values (${tenantId}, ${name}, ${createdAt})
      )
      insert into brands (tenant_id, brand_id, name, created_at)
      values (${tenantId}, ${brandId}, ${name}, ${createdAt})`
  },

  update: async (tenantId, { name = null, retentionDays }) => {
    const [tenant] = await query()<Tenant>`
      update tenants t set name = coalesce(${name}, t.name),
        retention_days = case
          when ${retentionDays === undefined}::boolean then t.retention_days else ${retentionDays ?? null}::int end
      where t.tenant_id = ${tenantId} returning ${TENANT.selected}`
    return tenant ?? null
  },

  find: async (tenantId) => {
    const [tenant] = await query()<Tenant>`
      select ${TENANT.selected} from tenants t where t.tenant_id = ${tenantId}`
    return tenant ?? null
  },

  list: (afterId, limit) => query()<Tenant>`
    select ${TENANT.selected} from tenants t where t.tenant_id > ${afterId} order by t.tenant_id limit ${limit}`,

  brands: async (tenantId) => {
    const rows = await query()<{ brandId: string | null }>`
      select b.brand_id from tenants t left join brands b on b.tenant_id = t.tenant_id
      where t.tenant_id = ${tenantId} and t.deleted_at is null order by b.brand_id`
    return rows.length === 0 ? null : rows.flatMap(({ brandId }) => brandId ?? [])
  },

  setState: async (tenantId, { suspendedAt, deletedAt }) => {
    const [tenant] = await query()<Tenant>`
      with changed as (
        update tenants t set deleted_at = ${deletedAt},
          suspended_at = case
            when ${suspendedAt}::timestamptz is not null then coalesce(t.suspended_at, ${suspendedAt}) end
        where t.tenant_id = ${tenantId} and t.deleted_at is null returning *
      )
      select ${TENANT.selected} from changed t cross join pg_notify('prospect_pages', 'keys')`
    if (tenant === undefined) return null
    changed()
    return tenant
  },

  deleting: () => query()<Tenant>`
    select ${TENANT.selected} from tenants t where t.deleted_at is not null order by t.tenant_id limit 100`,

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
      with removed as (
        delete from tenants t where t.tenant_id = ${tenantId} and t.deleted_at is not null returning 1
      )
      select pg_notify('prospect_pages', 'keys') from removed`
    changed()
  },
})
