import type { PageKey, StoredVersion } from './pages.ts'
import type { Timestamp } from './world.ts'

/** Maximum number of scheduled versions of a page. */
export const SCHEDULED_MAX = 100
/** A scheduled version. */
export type ScheduledVersion = Pick<
  StoredVersion,
  'versionId' | 'status' | 'computedName' | 'unpublishAt'
> & { readonly publishAt: Timestamp }
/** A page with a scheduled action. */
export type DuePage = PageKey & { readonly at: Timestamp }
type Until = { readonly until: Timestamp; readonly max: number }
/** The part of a store that knows the schedules: versions to publish once they are ready, and pages to unpublish. */
export type Schedules = {
  /**
   * Tenants with actions due by this time that are not suspended: at most `max` with versions and `max` with pages, the
   * first after this id.
   */
  waiting(query: Until & { readonly afterTenantId: string }): Promise<readonly string[]>
  /** The due actions of a tenant by this time: at most `max` versions and `max` pages, the earliest of each. */
  due(query: Until & { readonly tenantId: string }): Promise<readonly DuePage[]>
  /** The scheduled versions of a page, with their stored status, even those in `processing`: the earliest 100. */
  ofPage(page: PageKey): Promise<readonly ScheduledVersion[]>
  /** Removes the schedules of a page that was deleted, alone or with its group. */
  end(page: PageKey): Promise<void>
}
