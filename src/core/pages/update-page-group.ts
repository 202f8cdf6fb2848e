import { isDeepStrictEqual } from 'node:util'
import { isoTime } from '../engine/times.ts'
import { type IfRevision, type Turns, writeInTurn } from '../engine/write-in-turn.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { PageGroupRead } from '../ports/page-groups.ts'
import type { Needs } from '../ports/store.ts'
import { brandFor, type PageGroupFields } from './create-page-group.ts'
import { existingPageGroup, getPageGroup, type ReadPageGroup } from './get-page-group.ts'

/** Which page group a person writes to. */
type PageGroupWrite = PageGroupRead & IfRevision & Requester
type Deps = Needs<'pageGroups' | 'tenants'> & Turns

/**
 * Changes the given fields of a page group. An archived group accepts no new pages; a deleted one is gone for callers. The
 * fields are not checked.
 * Refuses `page_group_not_found`, `precondition_failed`, and `invalid_request`: the brand.
 */
export const updatePageGroup =
  (deps: Deps) =>
  async (update: PageGroupWrite & PageGroupFields): Promise<ReadPageGroup> => {
    const { ifRevision, tenantId, pageGroupId, apiKeyId, ...fields } = update
    const { store, clock, newId } = deps
    const want = { tenantId, pageGroupId }
    const load = () => existingPageGroup(deps, want)
    await writeInTurn(deps, pageGroupId, update, load, async (group) => {
      if (fields.brandId !== undefined) await brandFor(store, tenantId, fields.brandId)
      if (isDeepStrictEqual({ ...group, ...fields }, group)) return 'recorded'
      // Always later, so that another writer that read the group before is overtaken.
      const now = isoTime(Math.max(clock(), Date.parse(group.updatedAt) + 1))
      const status = fields.status ?? group.status
      const deletedAt = status === 'deleted' ? now : null
      const after = { ...group, ...fields, status, updatedAt: now, deletedAt }
      return store.pageGroups.change(after, group.updatedAt, ifRevision && group.revision, [
        newEvent(newId, 'page_group.updated', { tenantId, apiKeyId }, { pageGroupId }, now),
      ])
    })
    return getPageGroup({ store, seesDeleted: true })(want)
  }

/** Deletes a page group: callers find neither it nor its pages. Refuses `page_group_not_found`, `precondition_failed`. */
export const deletePageGroup =
  (deps: Deps) =>
  async (want: PageGroupWrite): Promise<void> => {
    await updatePageGroup(deps)({ ...want, status: 'deleted' })
  }
