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
  /** How long its logs are kept; 0: forever; null: as the service is set. */
  readonly retentionDays: number | null
  /** Since when its keys and hooks are refused, and nothing of it is published or sent; null: not suspended. */
  readonly suspendedAt: Timestamp | null
  /** The time its deletion was ordered. It is suspended, and all its data is removed in the background. */
  readonly deletedAt: Timestamp | null
}
/** The position where the removal of a tenant goes on: behind this row of this table. */
export type RemovalPosition = { readonly table: string; readonly key: readonly string[] }
/** The fields of a tenant that an operator can change. */
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
  /** The tenant's brands, oldest first; null if the tenant is unknown or being deleted. */
  brands(tenantId: string): Promise<readonly string[] | null>
  /**
   * Suspends a tenant, which keeps the time of an earlier suspension; resumes it; or orders its deletion, which stays. Every
   * process forgets its keys and hooks, by the signal `keys`. Null if the tenant is unknown or already being deleted.
   */
  setState(tenantId: string, state: Pick<Tenant, 'suspendedAt' | 'deletedAt'>): Promise<Tenant | null>
  /** Up to 100 tenants that are being deleted. */
  deleting(): Promise<readonly Tenant[]>
  /** The tables that still hold rows of a tenant, besides that of the tenants. */
  left(tenantId: string): Promise<readonly string[]>
  /**
   * Deletes up to `max` rows of a tenant from one table, from the beginning or behind a position. Returns where to go
   * on; null after the last table. Rows that another process deletes at the same moment may be skipped: `left` decides.
   */
  removeSome(query: {
    readonly tenantId: string
    readonly after: RemovalPosition | null
    readonly max: number
  }): Promise<RemovalPosition | null>
  /** Deletes a tenant that is being deleted and of which nothing else is left. */
  remove(tenantId: string): Promise<void>
}
