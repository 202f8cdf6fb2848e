import type { VersionStatus } from '../../shapes/page.ts'
import type { StoredPageGroup } from './page-groups.ts'
import type { Recorded, SliceWant, Timestamp } from './world.ts'

export type StoredPage = {
  readonly tenantId: string
  readonly pageGroupId: string
  readonly pageId: string
  readonly customName: string | null
  readonly computedName: string
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}
export type StoredVersion = {
  readonly versionId: string
  readonly versionNumber: number
  readonly status: VersionStatus
  readonly publishedAt: Timestamp | null
  readonly failureReason: string | null
}
export type StoredPageWithVersions = StoredPage & {
  readonly supplementaryContext: string | null
  readonly published: StoredVersion | null
  readonly latest: StoredVersion
}
export type NewPageRow = StoredPage & {
  readonly supplementaryContext: string | null
  readonly idempotencyKey: string | null
  readonly requestHash: string | null
  readonly versionId: string
  readonly versionNumber: number
}
/** What was created under an idempotency key. */
type StoredCreation = Pick<NewPageRow, 'tenantId' | 'pageGroupId' | 'pageId' | 'createdAt'> & {
  readonly idempotencyKey: string
  readonly requestHash: string
}
export type PageWants = {
  readonly groups: readonly Pick<StoredPage, 'tenantId' | 'pageGroupId'>[]
  readonly keys: readonly Pick<StoredCreation, 'tenantId' | 'pageGroupId' | 'idempotencyKey'>[]
}
type KnownGroup = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId' | 'status' | 'title' | 'pagesCount'>
export type KnownPages = {
  readonly groups: readonly KnownGroup[]
  readonly pages: readonly StoredCreation[]
}
export type PagesWant = SliceWant & { readonly pageGroupId: string }
export type PageWant = Pick<StoredPage, 'tenantId' | 'pageGroupId' | 'pageId'>
export type FoundPage = StoredPageWithVersions | 'page_group_not_found' | 'page_not_found'
export type Pages = {
  /** Answers those that exist; of the groups, those that are not deleted. */
  recall(wants: PageWants): Promise<KnownPages>
  /** Adds pages, each with a version in `processing` that waits to be claimed, and counts them in their groups. */
  record(pages: readonly NewPageRow[]): Promise<Recorded>
  /** For each want, in order: its rows, or null if the group is missing or deleted. */
  list(wants: readonly PagesWant[]): Promise<readonly (readonly StoredPage[] | null)[]>
  /** For each want, in order: the page, or which of the two is missing. */
  find(wants: readonly PageWant[]): Promise<readonly FoundPage[]>
}
