import type { PageGroup, PageGroupStatus } from '../../shapes/page-group.ts'
import type { NewEvent } from './events.ts'
import type { Recorded, RowsQuery, Timestamp } from './world.ts'

/** A page group as stored: the fields that callers see. The three JSON arrays are kept as their exact text. */
export type StoredPageGroup = Readonly<PageGroup> & { readonly pagesCount: number }
/** `status` null: all but the deleted ones. */
export type PageGroupsQuery = RowsQuery & { readonly status: PageGroupStatus | null }
/** A single page group. Its revision is raised by every visible change, including that of `pagesCount`. */
export type FoundPageGroup = StoredPageGroup & {
  readonly revision: number
  readonly requestHash: string | null
}
/** Identifies one page group. */
export type PageGroupKey = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId'>
/** Identifies one page group, or the one created under an idempotency key. */
export type PageGroupLookup = PageGroupKey | { readonly tenantId: string; readonly idempotencyKey: string }
/** A page group to store. */
export type NewPageGroupRow = StoredPageGroup & {
  readonly idempotencyKey: string | null
  readonly requestHash: string | null
}
/** The part of a store that keeps page groups. */
export type PageGroups = {
  /** Page groups, newest first. */
  list(query: PageGroupsQuery): Promise<readonly StoredPageGroup[]>
  /** Reads a page group, even a deleted one. */
  find(lookup: PageGroupLookup): Promise<FoundPageGroup | null>
  /** Returns `overtaken` if its idempotency key is taken. */
  add(group: NewPageGroupRow, events?: readonly NewEvent[]): Promise<Recorded>
  /** Saves every field but `pagesCount`, if the group's `updatedAt` is unchanged, and its revision, if it is given. */
  change(
    group: StoredPageGroup,
    lastUpdatedAt: Timestamp,
    revision?: number,
    events?: readonly NewEvent[],
  ): Promise<Recorded>
}
