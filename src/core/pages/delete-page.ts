import { requireRevision } from '../engine/revisions.ts'
import { isoTime } from '../engine/times.ts'
import { type Queued, writeQueued } from '../engine/write-queue.ts'
import { newEvent } from '../events/new-event.ts'
import type { Needs } from '../ports/store.ts'
import type { PageWrite } from './change-page.ts'
import { loadPage } from './get-page.ts'

/**
 * Deletes a page with its versions, published or not. Pending results of its publisher are ignored.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const deletePage =
  (deps: Needs<'pages'> & Queued) =>
  async (key: PageWrite): Promise<void> => {
    const { store, clock, newId } = deps
    const { tenantId, pageGroupId, pageId } = key
    await writeQueued(deps, tenantId, pageId, {
      recall: () => loadPage(store, key),
      decide: (page) => {
        requireRevision(page, key)
        return { answer: null, change: { page, now: isoTime(clock()) } }
      },
      record: ({ page, now }) => {
        const event = newEvent(newId, {
          type: 'page.deleted',
          sender: key,
          ids: { pageGroupId, pageId },
          createdAt: now,
        })
        return store.pages.remove(page, [event])
      },
    })
  }
