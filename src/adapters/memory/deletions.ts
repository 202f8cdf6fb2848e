import type { Deletions, PageGroupDeletion, PageToUnpublish } from '../../core/ports/deletions.ts'
import type { PageGroupKey } from '../../core/ports/page-groups.ts'
import type { Outbox } from './events.ts'
import type { groupTable } from './page-groups.ts'
import { type IsActive, indexBy, tableOf } from './table.ts'

type Kept = {
  readonly groups: ReturnType<typeof groupTable>
  readonly outbox: Outbox
  readonly isActive: IsActive
  /** Called after a group was deleted. */
  readonly began: () => void
  /** The pages of a group after this id. */
  readonly pagesAfter: (group: PageGroupKey, afterPageId: string, max: number) => readonly PageToUnpublish[]
  /** Unpublishes the pages of a group after one id and up to another; null: all after it. */
  readonly unpublish: (group: PageGroupKey, afterPageId: string, toPageId: string | null) => void
}

export const memoryDeletions = ({
  groups,
  outbox,
  isActive,
  began,
  pagesAfter,
  unpublish,
}: Kept): Deletions => {
  const deletions = outbox.own(
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
    pages: async (deletion, max) => pagesAfter(deletion, deletion.afterPageId, max),
    record: async (deletion, progress, events) => {
      const kept = deletions.byId.at(deletion)
      if (kept?.afterPageId !== deletion.afterPageId) return 'overtaken'
      outbox.save(events)
      unpublish(deletion, deletion.afterPageId, progress?.afterPageId ?? null)
      if (progress === null) deletions.remove(kept)
      else deletions.change(kept, progress)
      return 'recorded'
    },
  }
}
