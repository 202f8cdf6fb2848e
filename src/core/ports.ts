/**
 * What the core needs from the world, in domain words. A store that implements `Store` is a whole database.
 *
 * - Every verb that serves a caller names the tenant: another tenant's resource is a missing resource.
 * - Verbs take lists, because the use cases handle many requests at once. A list may have one member and mix tenants.
 * - `record` saves all of its list or nothing. It answers `overtaken`, with nothing saved, if another writer has
 *   meanwhile taken an email or an idempotency key or archived a page group; the use case recalls and decides again.
 * - Times are ISO 8601 in UTC with milliseconds. Ids sort by age.
 * - A store that cannot answer now refuses with `unavailable`; whether a write happened is then unknown.
 */
import type { RawJson } from '../shapes/json.ts'
import type { VersionStatus } from '../shapes/page.ts'
import type { PageGroupStatus } from '../shapes/page-group.ts'

export type Timestamp = string
/** Milliseconds since 1970. Asked once per use case. */
export type Clock = () => number
export type IdPrefix =
  | 'prospect'
  | 'prospectlog'
  | 'pagegroup'
  | 'page'
  | 'pageversion'
  | 'tenant'
  | 'brand'
  | 'apikey'
/** A new id, greater than every one made before in this process. */
export type NewId = (prefix: IdPrefix) => string

/* Prospects and their logs */

export type StoredProspect = {
  readonly tenantId: string
  readonly prospectId: string
  readonly emailHash: string | null
  readonly name: string | null
}
/** What was logged under an idempotency key. */
export type StoredReceipt = Pick<
  NewLog,
  'tenantId' | 'source' | 'prospectId' | 'prospectLogId' | 'type' | 'createdProspect' | 'createdAt'
> & { readonly idempotencyKey: string; readonly requestHash: string }
export type ActivityWants = {
  readonly prospects: readonly Pick<StoredReceipt, 'tenantId' | 'prospectId'>[]
  readonly emails: readonly { readonly tenantId: string; readonly emailHash: string }[]
  readonly keys: readonly Pick<StoredReceipt, 'tenantId' | 'source' | 'idempotencyKey'>[]
}
export type KnownActivities = {
  readonly prospects: readonly StoredProspect[]
  readonly receipts: readonly StoredReceipt[]
}
/** A prospect to add. If its id exists, only its blanks are filled. */
export type ProspectChange = StoredProspect & { readonly email: string | null; readonly createdAt: Timestamp }
export type NewLog = {
  readonly tenantId: string
  readonly prospectLogId: string
  readonly prospectId: string
  readonly source: string
  readonly type: string
  readonly payload: RawJson
  readonly email: string | null
  readonly name: string | null
  readonly idempotencyKey: string | null
  readonly requestHash: string | null
  readonly createdProspect: boolean
  readonly createdAt: Timestamp
}
export type ActivityChanges = {
  readonly prospects: readonly ProspectChange[]
  readonly logs: readonly NewLog[]
}
export type Activities = {
  recall(wants: ActivityWants): Promise<KnownActivities>
  record(changes: ActivityChanges): Promise<Recorded>
}
export type Recorded = 'recorded' | 'overtaken'

/* Page groups */

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
/**
 * The newest rows older than `beforeId`: one more than `limit`, to show that more follow, or fewer if the texts of all
 * but the last of them already fill a slice.
 */
export type SliceWant = {
  readonly tenantId: string
  readonly beforeId: string | null
  readonly limit: number
}
/** `status` null: all but the deleted ones. */
export type PageGroupsWant = SliceWant & { readonly status: PageGroupStatus | null }
export type PageGroups = {
  /** One list of rows for each want, in order. */
  list(wants: readonly PageGroupsWant[]): Promise<readonly (readonly StoredPageGroup[])[]>
  /** For the command line: by id alone. */
  find(pageGroupId: string): Promise<StoredPageGroup | null>
  add(group: StoredPageGroup): Promise<void>
  /** Saves every field but `pagesCount`, of a group whose `updatedAt` is still that one. */
  change(group: StoredPageGroup, lastUpdatedAt: Timestamp): Promise<Recorded>
}

/* Pages and their versions */

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
  /** What is there of what is wanted; of the groups, those that are not deleted. */
  recall(wants: PageWants): Promise<KnownPages>
  /** Adds pages, each with a version in `processing` that waits to be claimed, and counts them in their groups. */
  record(pages: readonly NewPageRow[]): Promise<Recorded>
  /** For each want, in order: its rows, or null if the group is missing or deleted. */
  list(wants: readonly PagesWant[]): Promise<readonly (readonly StoredPage[] | null)[]>
  /** For each want, in order: the page, or which of the two is missing. */
  find(wants: readonly PageWant[]): Promise<readonly FoundPage[]>
}

/** Work that a publisher has taken. `attempt` proves whose it is: each claim counts one up. */
export type ClaimedVersion = {
  readonly tenantId: string
  readonly pageGroupId: string
  readonly pageId: string
  readonly versionId: string
  readonly attempt: number
}
/** What a namer needs to know of a page. */
export type NamingContext = {
  readonly groupTitle: string
  readonly pageContext: string | null
  readonly supplementaryContext: string | null
}
type SettledVersion = { readonly pageId: string; readonly versionId: string; readonly attempt: number }
/** How an attempt ended. `computedName` null keeps the name that is there. */
export type Settlement =
  | (SettledVersion & {
      readonly status: 'published'
      readonly at: Timestamp
      readonly computedName: string | null
    })
  | (SettledVersion & { readonly status: 'failed'; readonly reason: string })
  | (SettledVersion & {
      readonly status: 'processing'
      readonly claimableAt: Timestamp
      /** False where a stop ended the attempt: then it is as if it had not been made. */
      readonly counts: boolean
    })
export type ClaimWant = {
  readonly now: Timestamp
  /** When the lease of what is claimed ends. */
  readonly until: Timestamp
  /** No right clock makes a version wait beyond this: one that would is claimable now. */
  readonly horizon: Timestamp
  /** Claims start with the tenant whose id comes after this one. */
  readonly afterTenantId: string
  readonly max: number
}
export type Versions = {
  /**
   * Takes up to `max` versions in `processing` that are claimable: tenant by tenant in the order of their ids, and of
   * each tenant those that have waited longest. Nobody else gets them until `until`. Answers none only if there is
   * nothing to claim after that tenant, however many publishers claim at the same moment.
   */
  claim(want: ClaimWant): Promise<readonly ClaimedVersion[]>
  /** What its namer needs to know; null if the page does not exist. */
  context(page: PageWant): Promise<NamingContext | null>
  /**
   * Saves those that are still `processing` under the same attempt; another publisher has claimed the others. Answers
   * the version ids of those it saved.
   */
  settle(tenantId: string, settlements: readonly Settlement[]): Promise<readonly string[]>
}

/* Tenants and their keys */

export const SCOPES = ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write'] as const
export type Scope = (typeof SCOPES)[number]
export type StoredApiKey = {
  readonly apiKeyId: string
  readonly tenantId: string
  readonly keyHash: string
  /** The first characters, so that a person recognises it. */
  readonly start: string
  readonly name: string | null
  readonly scopes: readonly Scope[]
  readonly createdAt: Timestamp
  readonly expiresAt: Timestamp | null
  readonly revokedAt: Timestamp | null
  /** Coarse: at most an hour old. */
  readonly lastUsedAt: Timestamp | null
}
export type ApiKeys = {
  findByHash(keyHash: string): Promise<StoredApiKey | null>
  find(apiKeyId: string): Promise<StoredApiKey | null>
  list(tenantId: string): Promise<readonly StoredApiKey[]>
  /** Whether there has never been a key, of any tenant. */
  isEmpty(): Promise<boolean>
  add(key: StoredApiKey): Promise<void>
  /** Ends a key, or sets when it will end. */
  end(
    apiKeyId: string,
    when: { readonly revokedAt: Timestamp } | { readonly expiresAt: Timestamp },
  ): Promise<void>
  markUsed(apiKeyId: string, at: Timestamp): Promise<void>
}
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

/** What happened elsewhere, in this process or in another on the same database. */
export type Signal = 'keys' | 'versions'
export type SignalListener = (signal: Signal) => void

export type Store = {
  readonly activities: Activities
  readonly pageGroups: PageGroups
  readonly pages: Pages
  readonly versions: Versions
  readonly apiKeys: ApiKeys
  readonly tenants: Tenants
  /** Brings the database to this program's schema; refuses one that is newer. */
  migrate(): Promise<void>
  /** Resolves where the database answers and has this program's schema; else refuses with `unavailable`. */
  ready(): Promise<void>
  /**
   * Adds a listener, which is called soon after something happened. A signal may come too often and may be lost. A
   * listener that throws is reported on stderr and harms nobody.
   */
  watch(listener: SignalListener): void
  close(): Promise<void>
}

/** Thinks of a name for a page. Slow and foreign: called outside of any write, and it may fail. */
export type Namer = (
  context: NamingContext,
  stop: AbortSignal,
  /** Which attempt it is, to tell it in logs and traces. */
  version?: ClaimedVersion,
) => Promise<string>
