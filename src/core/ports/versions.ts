import type { NewEvent } from './events.ts'
import type { PageKey, StoredVersion, StoredVersionWithContent } from './pages.ts'
import type { Backlog, RowsQuery, Timestamp } from './world.ts'

/** Identifies one version of a page. */
export type VersionKey = PageKey & { readonly versionId: string }
/** Identifies a version of a page by the idempotency key of the request that created it. */
export type VersionByKey = PageKey & { readonly idempotencyKey: string }
/** A version that was created under an idempotency key, and the hash of that request. */
export type CreatedByKey = Pick<StoredVersion, 'versionId' | 'versionNumber' | 'createdAt'> & {
  readonly requestHash: string | null
}
/** How many versions a page has, and the oldest that is not published, scheduled or `processing`; null if there is none. */
export type VersionTally = { readonly count: number; readonly oldestSpare: string | null }
/** Work that a publisher has claimed. `attempt` proves ownership: each claim counts one up. */
export type ClaimedVersion = VersionKey & {
  readonly attempt: number
  /** Whether to publish it once it is ready. */
  readonly publish: boolean
  /** When to publish it, if that is later. */
  readonly publishAt: Timestamp | null
}
/**
 * Hands the first versions of new pages to the publisher of the same process: they are stored as claimed by it, which saves
 * the claim. If the process ends before they are published, another publisher claims them after the lease.
 */
export type HandOver = {
  /** From now on versions are handed over, with a lease of this time. Calls `wake` once some are waiting. */
  register(wake: () => void, leaseMs: number): void
  /** From now on none are handed over. */
  unregister(): void
  /** Takes all versions that are waiting. */
  takeAll(): readonly ClaimedVersion[]
}
/** The facts about a page that a namer needs. */
export type NamingContext = {
  readonly groupTitle: string
  readonly pageContext: string | null
  readonly supplementaryContext: string | null
}
/** The same facts, with the number of the page in its group: null if it was created before numbers were stored. */
export type VersionContext = NamingContext & { readonly pageNumber: number | null }
/** The result of an attempt. `computedName` null keeps the current name. */
export type Settlement = Pick<ClaimedVersion, 'pageId' | 'versionId' | 'attempt'> &
  (
    | {
        readonly status: 'ready' | 'published'
        readonly at: Timestamp
        readonly computedName: string | null
      }
    | { readonly status: 'failed'; readonly reason: string }
    /** `counts` is false if a stop ended the attempt: it then does not count as an attempt. */
    | { readonly status: 'processing'; readonly claimableAt: Timestamp; readonly counts: boolean }
  )
/** Which versions a publisher takes, how many, and until when. */
export type ClaimQuery = {
  readonly now: Timestamp
  /** When the lease of the claimed versions ends. */
  readonly until: Timestamp
  /** Upper bound for `claimableAt`. A later value came from a wrong clock and counts as due. */
  readonly horizon: Timestamp
  /** Claims start with the tenant whose id comes after this one. */
  readonly afterTenantId: string
  readonly max: number
}
/** The part of a store that shows versions, hands them to publishers and saves the results. */
export type Versions = {
  /** The versions of the page, newest first; none if there is no such page. */
  list(query: RowsQuery & PageKey): Promise<readonly StoredVersion[]>
  /** The version, or null. */
  find(key: VersionKey): Promise<StoredVersionWithContent | null>
  /** The version created under this idempotency key, or null. */
  findByKey(key: VersionByKey): Promise<CreatedByKey | null>
  tally(page: PageKey): Promise<VersionTally>
  /**
   * Takes up to `max` versions in `processing` that are claimable: tenant by tenant in the order of their ids, and of
   * each tenant those that have waited longest. They are leased until `until`. Returns none only if there is
   * nothing to claim after that tenant, however many publishers claim at the same moment. A store may leave large
   * versions of a tenant for the next claim, as long as each tenant gets some.
   */
  claim(query: ClaimQuery): Promise<readonly ClaimedVersion[]>
  /** The facts that naming needs; null if the version does not exist. */
  context(version: VersionKey): Promise<VersionContext | null>
  /**
   * Saves the versions still `processing` under the same attempt; another publisher has claimed the others. Returns the
   * version ids of those it saved. `published` sets the pointer of the page, but only forwards, only to a version after
   * the page's `automaticAfter`, only before its `unpublishAt`, and only in a group that is not deleted; else it is not
   * saved. A page without a published version takes the name of its newest one. An ended attempt raises the revision of
   * its page. Only events of the saved versions are saved.
   */
  settle(
    tenantId: string,
    settlements: readonly Settlement[],
    events?: readonly NewEvent[],
  ): Promise<readonly string[]>
  /** For the metrics: how many are `processing`, up to `countMax`, and when the oldest of those was created. */
  backlog(countMax: number): Promise<Backlog>
}
/** Thinks of a name for a page. Slow and foreign, and it may fail: see `namingFailure`. */
export type Namer = (context: NamingContext, stop: AbortSignal) => Promise<string>
/** Gets each failed call to a namer, and when it is retried: null if the version keeps its built-in name instead. */
export type OnFailedAttempt = (version: ClaimedVersion, why: unknown, retryInMs: number | null) => void
