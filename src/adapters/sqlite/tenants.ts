import type { Tenants } from '../../core/ports/tenants.ts'
import { COLUMNS } from '../rows.ts'
import { type Database, insertInto } from './open.ts'

const insertTenant = insertInto('tenants', COLUMNS.tenants)
const insertBrand = insertInto('brands', COLUMNS.brands)

export const sqliteTenants = (database: Database): Tenants => ({
  add: (tenant) =>
    database.write(() => {
      insertTenant(database, tenant)
      insertBrand(database, tenant)
    }),

  brands: async (tenantId) => {
    if (!database.has('select 1 from tenants where tenant_id = ?', tenantId)) return null
    return database
      .all<{ brandId: string }>('select brand_id from brands where tenant_id = ? order by brand_id', tenantId)
      .map(({ brandId }) => brandId)
  },
})
