import type { NewTenant, Tenant, Tenants } from '../../core/ports/tenants.ts'
import { type IsActive, indexBy, type RegisterTable, type TenantTable, tableOf } from './table.ts'

/**
 * Tenants, and the tables that hold their rows: the other ports register theirs with `registerTable`. Calls `changed` after
 * a tenant was suspended, resumed or deleted.
 */
export const memoryTenants = (changed: () => void) => {
  const tenants = tableOf({ byId: indexBy<NewTenant & Tenant>([], ['tenantId']) })
  const owned: [string, TenantTable][] = []
  const registerTable: RegisterTable = (name, table) => {
    owned.push([name, table])
    return table
  }
  const isActive: IsActive = (row) => !tenants.byId.at({ tenantId: row.tenantId })?.suspendedAt
  const isKept = (row: { readonly tenantId: string }): boolean =>
    tenants.byId.at({ tenantId: row.tenantId })?.deletedAt === null
  const rowsOf = (tenantId: string) =>
    owned.map(([name, table]) => ({
      name,
      table,
      rows: table.all().filter((row) => row.tenantId === tenantId),
    }))

  const port: Tenants = {
    add: async (tenant) =>
      tenants.add({ ...tenant, retentionDays: null, suspendedAt: null, deletedAt: null }),
    update: async (tenantId, fields) => {
      const tenant = tenants.change(tenants.byId.at({ tenantId }), fields)
      return tenant && storedTenant(tenant)
    },
    find: async (tenantId) => {
      const tenant = tenants.byId.at({ tenantId })
      return tenant === undefined ? null : storedTenant(tenant)
    },
    list: async (afterId, limit) => [...tenants.byId.after({}, afterId)].slice(0, limit).map(storedTenant),
    brands: async (tenantId) => {
      const tenant = tenants.byId.at({ tenantId })
      return tenant === undefined || tenant.deletedAt ? null : [tenant.brandId]
    },
    setState: async (tenantId, { suspendedAt, deletedAt }) => {
      const tenant = tenants.byId.at({ tenantId })
      if (!tenant || tenant.deletedAt) return null
      const since = suspendedAt && (tenant.suspendedAt ?? suspendedAt)
      const after = tenants.change(tenant, { suspendedAt: since, deletedAt })
      changed()
      return after && storedTenant(after)
    },
    deleting: async () =>
      tenants
        .all()
        .filter(({ deletedAt }) => deletedAt)
        .slice(0, 100)
        .map(storedTenant),
    left: async (tenantId) =>
      rowsOf(tenantId)
        .filter(({ rows }) => rows.length > 0)
        .map(({ name }) => name),
    removeSome: async ({ tenantId }) => {
      for (const { table, rows } of rowsOf(tenantId)) {
        for (const row of rows) table.remove(row as never)
      }
      return null
    },
    remove: async (tenantId) => {
      const tenant = tenants.byId.at({ tenantId })
      if (tenant?.deletedAt) tenants.remove(tenant)
      changed()
    },
  }
  return { port, registerTable, isActive, isKept }
}

const storedTenant = ({ brandId, ...tenant }: NewTenant & Tenant): Tenant => tenant
