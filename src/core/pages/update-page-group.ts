import { isDeepStrictEqual } from 'node:util'
import { type IfRevision, requireRevision } from '../engine/revisions.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import { type Queued, writeQueued } from '../engine/write-queue.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { FoundPageGroup, PageGroupKey } from '../ports/page-groups.ts'
import type { Needs } from '../ports/store.ts'
import type { Timestamp } from '../ports/world.ts'
import { brandIn, type PageGroupFields } from './create-page-group.ts'
import { existingPageGroup, getPageGroup, type ReadPageGroup } from './get-page-group.ts'

/** Which page group a person writes to. */
export type PageGroupWrite = PageGroupKey & IfRevision & Requester
export type PageGroupDeps = Needs<'pageGroups' | 'tenants'> & Queued

/**
 * Changes the given fields of a page group. An archived group accepts no new pages; a deleted one is gone for callers. The
 * fields are not checked.
 * Refuses `page_group_not_found`, `precondition_failed`, and `invalid_request`: the brand.
 */
export const updatePageGroup =
  (deps: PageGroupDeps) =>
  async (update: PageGroupWrite & PageGroupFields): Promise<ReadPageGroup> => {
    const { ifRevision, tenantId, pageGroupId, apiKeyId, ...fields } = update
    const { store, clock, newId } = deps
    const key = { tenantId, pageGroupId }
    await writeQueued(deps, tenantId, pageGroupId, {
      recall: async () => ({
        group: await existingPageGroup(deps, key),
        brands: fields.brandId === undefined ? null : await store.tenants.brands(tenantId),
      }),
      decide: ({ group, brands }) => {
        requireRevision(group, update)
        if (fields.brandId !== undefined) brandIn(brands, fields.brandId)
        return { answer: null, change: changed(group, fields, isoTime(clock())) }
      },
      record: ({ before, after }) =>
        store.pageGroups.change(after, before.updatedAt, ifRevision && before.revision, [
          newEvent(newId, {
            type: 'page_group.updated',
            sender: { tenantId, apiKeyId },
            ids: { pageGroupId },
            createdAt: after.updatedAt,
          }),
        ]),
    })
    return getPageGroup({ store, seesDeleted: true })(key)
  }

/** The page group before and with these fields; null if they change nothing. */
const changed = (before: FoundPageGroup, fields: PageGroupFields, now: Timestamp) => {
  if (isDeepStrictEqual({ ...before, ...fields }, before)) return null
  const updatedAt = laterThan(before.updatedAt, now)
  const status = fields.status ?? before.status
  const deletedAt = status === 'deleted' ? updatedAt : null
  return { before, after: { ...before, ...fields, status, updatedAt, deletedAt } }
}
