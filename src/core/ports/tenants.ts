import type { Timestamp } from './world.ts'

/** A tenant to store, with its first brand. */
export type NewTenant = {
  readonly tenantId: string
  readonly brandId: string
  readonly name: string
  readonly createdAt: Timestamp
}
/** A tenant as an operator sees it. */
export type Tenant = Omit<NewTenant, 'brandId'> & {
  /** How long its logs are kept; 0: for ever; null: as the service is set. */
  readonly retentionDays: number | null
}
/** What an operator can change of a tenant. */
export type TenantChanges = Partial<Pick<Tenant, 'name' | 'retentionDays'>>
/** The part of a store that keeps tenants and their brands. */
export type Tenants = {
  /** Adds a tenant and its first brand. */
  add(tenant: NewTenant): Promise<void>
  /** Changes the fields given; null if the tenant is unknown. Its brands keep their names. */
  update(tenantId: string, fields: TenantChanges): Promise<Tenant | null>
  find(tenantId: string): Promise<Tenant | null>
  /** At most `limit` tenants whose ids are greater than `afterId`, oldest first. */
  list(afterId: string, limit: number): Promise<readonly Tenant[]>
  /** The tenant's brands, oldest first; null if the tenant is unknown. */
  brands(tenantId: string): Promise<readonly string[] | null>
}
