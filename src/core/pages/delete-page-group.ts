import { requireRevision } from '../engine/revisions.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import { type Queued, writeQueued } from '../engine/write-queue.ts'
import type { Needs } from '../ports/store.ts'
import { existingPageGroup } from './get-page-group.ts'
import type { PageGroupWrite } from './update-page-group.ts'

/**
 * Deletes a page group: callers find neither it nor its pages. Its published pages are unpublished in the background, by
 * `unpublishDeleted`. Refuses `page_group_not_found`, `precondition_failed`.
 */
export const deletePageGroup =
  (deps: Needs<'pageGroups' | 'deletions'> & Queued) =>
  async (key: PageGroupWrite): Promise<void> => {
    const { store, clock } = deps
    const { tenantId, pageGroupId, apiKeyId = null, ifRevision } = key
    await writeQueued(deps, tenantId, pageGroupId, {
      recall: () => existingPageGroup(deps, key),
      decide: (group) => {
        requireRevision(group, key)
        const deletedAt = laterThan(group.updatedAt, isoTime(clock()))
        return { answer: null, change: { group, deletedAt } }
      },
      record: ({ group, deletedAt }) =>
        store.deletions.begin(
          { tenantId, pageGroupId, apiKeyId, deletedAt },
          group.updatedAt,
          ifRevision && group.revision,
        ),
    })
  }
