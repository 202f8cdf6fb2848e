import type { PageWant } from './pages.ts'
import type { Timestamp } from './world.ts'

/** Work that a publisher has taken. `attempt` proves whose it is: each claim counts one up. */
export type ClaimedVersion = PageWant & { readonly versionId: string; readonly attempt: number }
/** What a namer needs to know of a page. */
export type NamingContext = {
  readonly groupTitle: string
  readonly pageContext: string | null
  readonly supplementaryContext: string | null
}
type SettledVersion = Pick<ClaimedVersion, 'pageId' | 'versionId' | 'attempt'>
/** How an attempt ended. `computedName` null keeps the current name. */
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
      /** False if a stop ended the attempt: then it is as if it had not been made. */
      readonly counts: boolean
    })
/** Which versions a publisher takes, how many, and until when. */
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
/** The part of a store that hands versions to publishers and saves what became of them. */
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
/** Thinks of a name for a page. Slow and foreign, and it may fail: see `namingFailure`. */
export type Namer = (context: NamingContext, stop: AbortSignal) => Promise<string>
/** Gets each failed call to a namer, and when it is retried: null if the version keeps its built-in name instead. */
export type OnFailedAttempt = (version: ClaimedVersion, why: unknown, retryInMs: number | null) => void
