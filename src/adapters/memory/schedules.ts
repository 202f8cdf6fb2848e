import { type DuePage, SCHEDULED_MAX, type Schedules } from '../../core/ports/schedules.ts'
import { type PageTables, UNSCHEDULED } from './page-tables.ts'
import { compare, type IsActive } from './table.ts'

export const memorySchedules = ({ pages, versions }: PageTables, isActive: IsActive): Schedules => {
  /** Everything that is due by this time, the earliest first. */
  const dueBy = (until: string): DuePage[] =>
    [
      ...versions.scheduled.all().map((row) => ({ ...row, at: row.publishAt })),
      ...pages.scheduled.all().map((row) => ({ ...row, at: row.unpublishAt, status: 'ready' })),
    ]
      .flatMap(({ tenantId, pageGroupId, pageId, at, status }) =>
        at !== null && at <= until && (status === 'ready' || status === 'published')
          ? { tenantId, pageGroupId, pageId, at }
          : [],
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
      [...versions.byId.backFrom(page)]
        .flatMap(({ versionId, status, computedName, publishAt, unpublishAt }) =>
          publishAt && status !== 'failed' ? { versionId, status, computedName, publishAt, unpublishAt } : [],
        )
        .sort((a, b) => compare(a.publishAt, b.publishAt) || compare(a.versionId, b.versionId))
        .slice(0, SCHEDULED_MAX),
    end: async (page) => {
      pages.change(pages.byId.at(page), { unpublishAt: null })
      for (const version of [...versions.byId.backFrom(page)]) versions.change(version, UNSCHEDULED)
    },
  }
}
