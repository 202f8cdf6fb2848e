import type { Timestamp } from './world.ts'

export type NewTenant = {
  readonly tenantId: string
  readonly brandId: string
  readonly name: string
  readonly createdAt: Timestamp
}
export type Tenants = {
  /** Adds a tenant and its first brand. */
  add(tenant: NewTenant): Promise<void>
  /** The tenant's brands, oldest first; null if the tenant is unknown. */
  brands(tenantId: string): Promise<readonly string[] | null>
}
