import type { Page, Version, VersionWithContent } from '../../shapes/page.ts'
import type { PageGroupStatus } from '../../shapes/page-group.ts'
import type { NewEvent } from './events.ts'
import type { PageGroupKey, StoredPageGroup } from './page-groups.ts'
import type { Recorded, RowsQuery, Timestamp } from './world.ts'

/** A page as lists show it. Its effective name follows from the two others. */
export type StoredPage = Readonly<Omit<Page, 'effectiveName'>>
/** A page in the list of its group, and when its published version was published: null if it has none. */
export type ListedPage = StoredPage & { readonly publishedAt: Timestamp | null }
/** One version of a page, and the progress of its publication. Ids of versions rise with their numbers. */
export type StoredVersion = Readonly<Version>
/** Its content is kept as its exact text. */
export type StoredVersionWithContent = Readonly<VersionWithContent>
/** A page with the version that readers see, if any, and its newest one. */
export type StoredPageWithVersions = StoredPage & {
  /** Raised by every visible change. */
  readonly revision: number
  readonly unpublishAt: Timestamp | null
  /**
   * The newest version when a version was last published or unpublished by hand: only later ones are published
   * automatically.
   */
  readonly automaticAfter: string | null
  readonly groupStatus: PageGroupStatus
  readonly published: StoredVersionWithContent | null
  readonly latest: StoredVersion
}
/** A version to store, in `processing`: its publisher publishes it if requested, and if it is not scheduled. */
export type NewVersionRow = Omit<
  StoredVersionWithContent,
  'status' | 'failureReason' | 'publishedAt' | 'unpublishAt'
> & {
  readonly publish: boolean
  readonly idempotencyKey: string | null
  readonly requestHash: string | null
}
/**
 * A page to store, with its first version, which has the idempotency key of the page. The store gives it the next number
 * in its group. If `claimedUntil` is set, a publisher of this process has claimed the version until then.
 */
export type NewPageRow = StoredPage &
  NewVersionRow & {
    /**
     * The title of the group that the computed name was made of; null if it was made of something else. The group must
     * still have that title, and the store adds the number of the page to the name, as `numberedName` does.
     */
    readonly groupTitle: string | null
    readonly claimedUntil?: Timestamp | undefined
  }
/** A page created under an idempotency key. */
type StoredCreation = Pick<NewPageRow, 'tenantId' | 'pageGroupId' | 'pageId' | 'createdAt'> & {
  readonly idempotencyKey: string
  readonly requestHash: string
}
/** Looks up the group of a new page, and the pages with the same idempotency key and slug, if there are any. */
export type NewPageLookup = PageGroupKey & {
  readonly idempotencyKey?: string | undefined
  readonly slug?: string | undefined
  /** Whether the last answer was overtaken: then nothing may be assumed. */
  readonly wasOvertaken: boolean
}
/** Each is null if it does not exist; a deleted group does not. `slugOwnerId` is the id of the page that has the slug. */
export type KnownForNewPage = {
  readonly group: Pick<StoredPageGroup, keyof PageGroupKey | 'status' | 'title'> | null
  readonly page: StoredCreation | null
  readonly slugOwnerId: string | null
}
/** The slice of the pages of a group to read. */
export type PagesQuery = RowsQuery & PageGroupKey
/** A page with the version that readers see. The status of its group may be any. */
export type PublishedPageRow = StoredPage &
  Pick<StoredVersionWithContent, 'versionId' | 'versionNumber' | 'content'> & {
    readonly publishedAt: Timestamp
    readonly groupStatus: PageGroupStatus
  }
/** Where the list of published pages goes on: after this page. */
export type PublishedPosition = Pick<PublishedPageRow, 'publishedAt' | 'pageId'>
/** Which slice of the published pages to read; how many: see `RowsQuery`. */
export type PublishedPagesQuery = Pick<RowsQuery, 'tenantId' | 'limit'> & {
  readonly publishedAfter: Timestamp | null
  readonly before: PublishedPosition | null
}
/** Identifies one page. */
export type PageKey = Pick<StoredPage, 'tenantId' | 'pageGroupId' | 'pageId'>
/** Identifies one page by its slug. */
export type SlugKey = PageGroupKey & { readonly slug: string }
/** A page, or which of page and group does not exist. */
export type FoundPage = StoredPageWithVersions | 'page_group_not_found' | 'page_not_found'
/** When a version will be published, and the page unpublished after that; or why it was not. */
export type Schedule = Pick<StoredVersion, 'versionId' | 'publishAt' | 'unpublishAt'> & {
  readonly scheduleNote: string | null
}
/** A manual or scheduled change of a page. All of it is saved, or nothing. */
export type PageChange = PageKey &
  Pick<
    StoredPageWithVersions,
    'slug' | 'customName' | 'computedName' | 'updatedAt' | 'automaticAfter' | 'unpublishAt'
  > & {
    /** The expected revision of the page; the change raises it. */
    readonly revision: number
    readonly publishedVersionId: string | null
    /** Its newest version from now on. Its group must still be active. */
    readonly added: NewVersionRow | null
    /** The id of a version to delete: one that is not published, scheduled or `processing`. */
    readonly dropped: string | null
    /** Marks the published version as published, at `updatedAt`, and no longer scheduled. Its group must still be active. */
    readonly publishes: boolean
    /** Schedules one of its versions, or ends its schedule. */
    readonly schedule: Schedule | null
  }
/** What creating a page needs. */
export type PagesToCreate = {
  recall(lookup: NewPageLookup): Promise<KnownForNewPage>
  /**
   * Adds a page with a version in `processing` that waits to be claimed or is, and counts it in its group. Returns
   * `overtaken` if the group is not active, has another title than `groupTitle`, or the idempotency key or the slug is
   * taken.
   */
  record(page: NewPageRow, events?: readonly NewEvent[]): Promise<Recorded>
}
/** The part of a store that keeps pages. */
export type Pages = PagesToCreate & {
  /** The pages of a group, newest first; null if the group is missing or deleted. */
  list(query: PagesQuery): Promise<readonly ListedPage[] | null>
  /**
   * The pages of all groups that have a published version, with it: those published last first, and of those published at
   * the same moment the newest page first.
   */
  listPublished(query: PublishedPagesQuery): Promise<readonly PublishedPageRow[]>
  /** The page, or which of the two is missing. The content may be null if it is not wanted. */
  find(key: PageKey, withContent?: boolean): Promise<FoundPage>
  /** The id of the page with this slug, in a group that is not deleted; or null. */
  findSlug(key: SlugKey): Promise<string | null>
  /** Returns `overtaken`, too, if the idempotency key of the new version, or the slug, is taken. */
  change(change: PageChange, events?: readonly NewEvent[]): Promise<Recorded>
  /** Deletes a page that still has this revision, with its versions, and counts it off in its group. */
  remove(page: PageKey & Pick<PageChange, 'revision'>, events?: readonly NewEvent[]): Promise<Recorded>
}
