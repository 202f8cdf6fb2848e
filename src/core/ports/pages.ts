import type { VersionStatus } from '../../shapes/page.ts'
import type { StoredPageGroup } from './page-groups.ts'
import type { Recorded, SliceWant, Timestamp } from './world.ts'

/** A page as lists show it. */
export type StoredPage = {
  readonly tenantId: string
  readonly pageGroupId: string
  readonly pageId: string
  readonly customName: string | null
  readonly computedName: string
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}
/** One version of a page, and how far its publication has come. */
export type StoredVersion = {
  readonly versionId: string
  readonly versionNumber: number
  readonly status: VersionStatus
  readonly publishedAt: Timestamp | null
  readonly failureReason: string | null
}
/** A page with the version that readers see, if any, and its newest one. */
export type StoredPageWithVersions = StoredPage & {
  readonly supplementaryContext: string | null
  readonly published: StoredVersion | null
  readonly latest: StoredVersion
}
/** A page to store, with its first version. */
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
/** What creating a list of pages needs to know: their groups, and pages by idempotency key. */
export type PageWants = {
  readonly groups: readonly Pick<StoredPage, 'tenantId' | 'pageGroupId'>[]
  readonly keys: readonly Pick<StoredCreation, 'tenantId' | 'pageGroupId' | 'idempotencyKey'>[]
}
type KnownGroup = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId' | 'status' | 'title' | 'pagesCount'>
/** Those of the wanted groups and pages that exist. */
export type KnownPages = {
  readonly groups: readonly KnownGroup[]
  readonly pages: readonly StoredCreation[]
}
/** Which slice of the pages of a group to read. */
export type PagesWant = SliceWant & { readonly pageGroupId: string }
/** Names one page. */
export type PageWant = Pick<StoredPage, 'tenantId' | 'pageGroupId' | 'pageId'>
/** A page that was looked for, or which of page and group does not exist. */
export type FoundPage = StoredPageWithVersions | 'page_group_not_found' | 'page_not_found'
/** The part of a store that keeps pages. */
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
