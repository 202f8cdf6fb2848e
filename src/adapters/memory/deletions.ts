import type { Deletions, PageGroupDeletion } from '../../core/ports/deletions.ts'
import type { PageTables } from './page-tables.ts'
import { type IsActive, indexBy, tableOf } from './table.ts'

/** Calls `began` after a page group was deleted. */
export const memoryDeletions = (
  { groups, pages, outbox }: PageTables,
  isActive: IsActive,
  began: () => void,
): Deletions => {
  const deletions = outbox.registerTable(
    'page_group_deletions',
    tableOf({ byId: indexBy<PageGroupDeletion>(['tenantId'], ['pageGroupId']) }),
  )
  return {
    begin: async ({ tenantId, pageGroupId, apiKeyId, deletedAt }, lastUpdatedAt, revision) => {
      const group = groups.byId.at({ tenantId, pageGroupId })
      if (group?.updatedAt !== lastUpdatedAt) return 'overtaken'
      if (revision !== undefined && group.revision !== revision) return 'overtaken'
      groups.change(group, {
        status: 'deleted',
        updatedAt: deletedAt,
        deletedAt,
        revision: group.revision + 1,
      })
      deletions.add({ tenantId, pageGroupId, apiKeyId, afterPageId: '', afterEventId: '' })
      began()
      return 'recorded'
    },
    waiting: async (afterTenantId, max) => {
      const tenantIds = deletions
        .all()
        .filter(isActive)
        .map(({ tenantId }) => tenantId)
      return [...new Set(tenantIds)]
        .filter((tenantId) => tenantId > afterTenantId)
        .sort()
        .slice(0, max)
    },
    next: async (tenantId) => structuredClone(deletions.byId.after({ tenantId })[0] ?? null),
    pages: async (deletion, max) =>
      pages.byId
        .after(deletion, deletion.afterPageId, undefined, max)
        .map(({ pageId, publishedVersionId }) => ({ pageId, isPublished: publishedVersionId !== null })),
    record: async (deletion, progress, events) => {
      const kept = deletions.byId.at(deletion)
      if (kept?.afterPageId !== deletion.afterPageId) return 'overtaken'
      outbox.save(events)
      for (const page of pages.byId.after(deletion, deletion.afterPageId))
        if (page.publishedAt !== null && (progress === null || page.pageId <= progress.afterPageId))
          pages.change(page, { publishedVersionId: null, publishedAt: null })
      if (progress === null) deletions.remove(kept)
      else deletions.change(kept, progress)
      return 'recorded'
    },
  }
}
