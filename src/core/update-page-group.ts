import type { PageGroup } from '../shapes/page-group.ts'
import { brandFor, type PageGroupFields } from './create-page-group.ts'
import { untilRecorded } from './decide-and-save.ts'
import { pageGroupNotFound } from './failures.ts'
import { pageGroupOf } from './list-page-groups.ts'
import type { Needs } from './ports/store.ts'
import { isoTime } from './times.ts'

/**
 * Changes the given fields of a page group. An archived group accepts no new pages; a deleted one is gone for callers. The
 * fields are not checked.
 * Refuses `page_group_not_found`, and `not_found`: the brand.
 */
export const updatePageGroup =
  ({ store, clock }: Omit<Needs<'pageGroups' | 'tenants'>, 'newId'>) =>
  (pageGroupId: string, fields: PageGroupFields): Promise<PageGroup> =>
    untilRecorded(async () => {
      const group = (await store.pageGroups.find(pageGroupId)) ?? pageGroupNotFound()
      if (fields.brandId !== undefined) await brandFor(store, group.tenantId, fields.brandId)
      // Always later, so that another writer that read the group before is overtaken.
      const now = isoTime(Math.max(clock(), Date.parse(group.updatedAt) + 1))
      const status = fields.status ?? group.status
      const deletedAt = status === 'deleted' ? (group.deletedAt ?? now) : null
      const after = { ...group, ...fields, status, updatedAt: now, deletedAt }
      const recorded = await store.pageGroups.change(after, group.updatedAt)
      return recorded === 'recorded' ? pageGroupOf(after) : recorded
    })
