import type { Tenants } from '../../core/ports/tenants.ts'
import type { Database } from './open.ts'

export const sqliteTenants = (database: Database): Tenants => ({
  add: async ({ tenantId, brandId, name, createdAt }) =>
    database.write(() => {
      database.run(
        'insert into tenants (tenant_id, name, created_at) values (?, ?, ?)',
        tenantId,
        name,
        createdAt,
      )
      database.run(
        'insert into brands (tenant_id, brand_id, name, created_at) values (?, ?, ?, ?)',
        tenantId,
        brandId,
        name,
        createdAt,
      )
    }),

  brands: async (tenantId) => {
    if (database.get('select 1 from tenants where tenant_id = ?', tenantId) === undefined) return null
    return database
      .all<{ brandId: string }>('select brand_id from brands where tenant_id = ? order by brand_id', tenantId)
      .map(({ brandId }) => brandId)
  },
})
