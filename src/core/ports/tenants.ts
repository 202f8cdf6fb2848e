import type { Timestamp } from './world.ts'

/** A tenant to store, with its first brand. */
export type NewTenant = {
  readonly tenantId: string
  readonly brandId: string
  readonly name: string
  readonly createdAt: Timestamp
}
/** The part of a store that keeps tenants and their brands. */
export type Tenants = {
  /** Adds a tenant and its first brand. */
  add(tenant: NewTenant): Promise<void>
  /** The tenant's brands, oldest first; null if the tenant is unknown. */
  brands(tenantId: string): Promise<readonly string[] | null>
}
