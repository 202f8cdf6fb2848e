import type { RawJson } from '../../shapes/json.ts'
import type { PageGroupStatus } from '../../shapes/page-group.ts'
import type { Recorded, SliceWant, Timestamp } from './world.ts'

/** A page group as a store keeps it. The three JSON arrays are kept as their exact text. */
export type StoredPageGroup = {
  readonly tenantId: string
  readonly pageGroupId: string
  readonly brandId: string
  readonly name: string
  readonly title: string
  readonly pageContext: string | null
  readonly status: PageGroupStatus
  readonly pagesCount: number
  readonly actions: RawJson
  readonly footerLinks: RawJson
  readonly scripts: RawJson
  readonly headerActionId: string | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
  readonly deletedAt: Timestamp | null
}
/** `status` null: all but the deleted ones. */
export type PageGroupsWant = SliceWant & { readonly status: PageGroupStatus | null }
/** The part of a store that keeps page groups. */
export type PageGroups = {
  /** One list of rows for each want, in order. */
  list(wants: readonly PageGroupsWant[]): Promise<readonly (readonly StoredPageGroup[])[]>
  /** For the command line: by id alone. */
  find(pageGroupId: string): Promise<StoredPageGroup | null>
  add(group: StoredPageGroup): Promise<void>
  /** Saves every field but `pagesCount`, of a group whose `updatedAt` is still that one. */
  change(group: StoredPageGroup, lastUpdatedAt: Timestamp): Promise<Recorded>
}
