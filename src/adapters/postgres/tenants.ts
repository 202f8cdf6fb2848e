import type { Tenants } from '../../core/ports/tenants.ts'
import type { Ask } from './connect.ts'

export const postgresTenants = (ask: Ask): Tenants => ({
  add: async ({ tenantId, brandId, name, createdAt }) => {
    await ask(
      (sql) => sql`
        with tenant as (
          insert into tenants (tenant_id, name, created_at) values (${tenantId}, ${name}, ${createdAt})
        )
        insert into brands (tenant_id, brand_id, name, created_at)
        values (${tenantId}, ${brandId}, ${name}, ${createdAt})`,
    )
  },

  brands: async (tenantId) => {
    const rows = await ask(
      (sql) => sql<{ brandId: string | null }[]>`
        select b.brand_id from tenants t left join brands b using (tenant_id)
        where t.tenant_id = ${tenantId} order by b.brand_id`,
    )
    return rows.length === 0 ? null : rows.flatMap(({ brandId }) => brandId ?? [])
  },
})
