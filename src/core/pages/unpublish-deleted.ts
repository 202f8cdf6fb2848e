import { tenantByTenant } from '../engine/tenant-by-tenant.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { PageGroupDeletion } from '../ports/deletions.ts'
import type { NewEvent } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import type { Moment } from '../ports/world.ts'

/** Pages that one step reads. */
const PAGES_MAX = 500

type Deps = Needs<'deletions' | 'moments'> & Pick<Parameters<typeof tenantByTenant>[0], 'onError'>
/** `since`: when this process first saw the deletion. Writes that began before may still publish pages of the group. */
type Seen = { readonly pageGroupId: string; readonly since: Moment }

/**
 * Unpublishes the published pages of deleted groups, once the writes that began before have ended: slice by slice, each
 * with its events, and `page_group.deleted` with the last one. Each call takes one short step for some tenants, and returns
 * whether there may be more. A step is saved only if no other process has saved it, so several may work on the same
 * group, and one that was killed left nothing half done.
 *
 * The rows of the pages stay, because no caller finds them any more.
 */
export const unpublishDeleted = ({ store, clock, newId, onError, shareLoop }: Deps) => {
  const { deletions, moments } = store
  const seen = new Map<string, Seen>()

  const mayBegin = async ({ tenantId, pageGroupId }: PageGroupDeletion): Promise<boolean> => {
    if (seen.get(tenantId)?.pageGroupId !== pageGroupId)
      seen.set(tenantId, { pageGroupId, since: await moments.now(tenantId) })
    const [isPast = false] = await moments.arePast([seen.get(tenantId)?.since ?? ''])
    return isPast
  }

  const step = async (deletion: PageGroupDeletion): Promise<void> => {
    const { tenantId, pageGroupId, apiKeyId, afterPageId } = deletion
    const sender = { tenantId, apiKeyId }
    const now = isoTime(clock())
    let { afterEventId } = deletion
    const eventOf = (type: 'page.unpublished' | 'page_group.deleted', ids: NewEvent['ids']): NewEvent => {
      const event = newEvent(newId, { type, sender, ids, createdAt: now, afterEventId })
      afterEventId = event.eventId
      return event
    }
    const pages = await deletions.pages(deletion, PAGES_MAX)
    const published = pages.filter(({ isPublished }) => isPublished)
    const events = published.map(({ pageId }) => eventOf('page.unpublished', { pageGroupId, pageId }))
    if (pages.length === PAGES_MAX) {
      const progress = { afterPageId: pages.at(-1)?.pageId ?? afterPageId, afterEventId }
      await deletions.record(deletion, progress, events)
      return
    }
    await deletions.record(deletion, null, [...events, eventOf('page_group.deleted', { pageGroupId })])
  }

  return tenantByTenant({
    waiting: deletions.waiting,
    work: async (tenantId) => {
      const deletion = await deletions.next(tenantId)
      if (deletion === null) seen.delete(tenantId)
      if (deletion === null || !(await mayBegin(deletion))) return false
      await step(deletion)
      return true
    },
    onError,
    shareLoop,
  })
}
