import type { PageKey, StoredVersion } from '../../core/ports/pages.ts'
import { type DuePage, SCHEDULED_MAX, type Schedules } from '../../core/ports/schedules.ts'
import { compare } from './claim.ts'
import type { IsActive } from './table.ts'

export const UNSCHEDULED = { publishAt: null, unpublishAt: null, scheduleNote: null }

type Kept = {
  readonly versions: () => readonly (PageKey & StoredVersion)[]
  readonly pages: () => readonly (PageKey & { readonly unpublishAt: string | null })[]
  readonly versionsOf: (page: PageKey) => readonly (PageKey & StoredVersion)[]
  readonly isActive: IsActive
  /** Both clear the schedule. */
  readonly changePage: (page: PageKey) => void
  readonly changeVersion: (version: PageKey & StoredVersion) => void
}

/** `versions` and `pages` are those that are scheduled. */
export const memorySchedules = ({ versions, pages, versionsOf, isActive, ...kept }: Kept): Schedules => {
  /** Everything that is due by this time, the earliest first. */
  const dueBy = (until: string): DuePage[] =>
    [
      ...versions().map((row) => ({ ...row, at: row.publishAt })),
      ...pages().map((row) => ({ ...row, at: row.unpublishAt, status: 'ready' })),
    ]
      .flatMap(({ tenantId, pageGroupId, pageId, at, status }) =>
        at && at <= until && /ready|published/.test(status) ? { tenantId, pageGroupId, pageId, at } : [],
      )
      .sort((a, b) => compare(a.at, b.at))
  return {
    waiting: async ({ afterTenantId, until }) =>
      dueBy(until)
        .filter(isActive)
        .flatMap(({ tenantId }) => (tenantId > afterTenantId ? tenantId : [])),
    due: async (lookup) =>
      dueBy(lookup.until)
        .filter(({ tenantId }) => tenantId === lookup.tenantId)
        .slice(0, lookup.max),
    ofPage: async (page) =>
      versionsOf(page)
        .flatMap(({ versionId, status, computedName, publishAt, unpublishAt }) =>
          publishAt && status !== 'failed' ? { versionId, status, computedName, publishAt, unpublishAt } : [],
        )
        .sort((a, b) => compare(a.publishAt, b.publishAt) || compare(a.versionId, b.versionId))
        .slice(0, SCHEDULED_MAX),
    end: async (page) => {
      kept.changePage(page)
      versionsOf(page).forEach(kept.changeVersion)
    },
  }
}
