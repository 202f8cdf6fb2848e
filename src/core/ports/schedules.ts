import type { PageWant, StoredVersion } from './pages.ts'
import type { Timestamp } from './world.ts'

/** Of a page. */
export const SCHEDULED_MAX = 100
/** A version with a time to be published at. */
export type ScheduledVersion = Pick<
  StoredVersion,
  'versionId' | 'status' | 'computedName' | 'unpublishAt'
> & { readonly publishAt: Timestamp }
/** A page on which something is to be done at a time. */
export type DuePage = PageWant & { readonly at: Timestamp }
type Until = { readonly until: Timestamp; readonly max: number }
/** The part of a store that knows what is to be done later: versions to publish once they are ready, and pages to unpublish. */
export type Schedules = {
  /** Tenants that have something to do by this time and are not suspended: at most `max` with versions and `max` with pages, the first after this id. */
  waiting(want: Until & { readonly afterTenantId: string }): Promise<readonly string[]>
  /** What a tenant has to do by this time: at most `max` versions and `max` pages, of each the earliest. */
  due(want: Until & { readonly tenantId: string }): Promise<readonly DuePage[]>
  /** The versions of a page that have a time, by the status that is kept, even those in `processing`: the earliest 100. */
  ofPage(page: PageWant): Promise<readonly ScheduledVersion[]>
  /** Forgets what is to be done on a page that was deleted, alone or with its group. */
  end(page: PageWant): Promise<void>
}
