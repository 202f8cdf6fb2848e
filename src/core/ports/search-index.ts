import type { Timestamp } from './world.ts'

/** How far the people of a tenant are indexed. Each is an id or the beginning of one; empty before the first. */
export type IndexedTenant = {
  /** People up to here were indexed soon after their creation. */
  readonly position: string
  /** People up to here were looked at a second time. */
  readonly checked: string
  /** When the tenant was last searched, to the day. */
  readonly searchedAt: Timestamp
}
/** The part of a store that indexes people for the search, in tenants whose people are searched. */
export type SearchIndex = {
  /** Begins or resumes the index of a tenant. */
  markSearched(tenantId: string, searchedAt: Timestamp): Promise<void>
  find(tenantId: string): Promise<IndexedTenant | null>
  /**
   * Tenants that were searched since a time and have people after `position` and before `beforeId`, or after `checked` and
   * before `checkBeforeId`, or whose position is not before `beforeId`: at most `max`, the first after this one.
   */
  waiting(query: {
    readonly afterTenantId: string
    readonly searchedSince: Timestamp
    readonly beforeId: string
    readonly checkBeforeId: string
    readonly max: number
  }): Promise<readonly string[]>
  /**
   * Indexes the first `max` people after a mark and before an id, unless they are indexed already, and moves the mark to the
   * last of them. Returns how many they are; none if the mark is no longer `from`.
   */
  extend(step: {
    readonly tenantId: string
    readonly mark: 'position' | 'checked'
    readonly from: string
    readonly beforeId: string
    readonly max: number
  }): Promise<number>
  /** Moves both marks back to an id, unless they are before it. */
  rewind(tenantId: string, to: string): Promise<void>
}
