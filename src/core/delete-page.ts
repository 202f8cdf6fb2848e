import { untilRecorded } from './decide-and-save.ts'
import { existingPage } from './get-page.ts'
import { newEvent } from './new-event.ts'
import type { Requester } from './ports/events.ts'
import type { PageWant } from './ports/pages.ts'
import type { Needs } from './ports/store.ts'
import { type IfRevision, requireRevision } from './revisions.ts'
import { isoTime } from './times.ts'
import { atOnce, type Turns } from './turns.ts'

/**
 * Deletes a page with its versions, published or not. What its publisher still does is ignored.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const deletePage =
  ({ store, clock, newId, inTurn = atOnce }: Needs<'pages'> & Turns) =>
  async ({
    tenantId,
    pageGroupId,
    pageId,
    apiKeyId,
    ...want
  }: PageWant & IfRevision & Requester): Promise<void> => {
    const page = { tenantId, pageGroupId, pageId }
    await inTurn(pageId, () =>
      untilRecorded(async () => {
        const { revision } = existingPage((await store.pages.find([{ ...page, withoutContent: true }]))[0])
        requireRevision(revision, want)
        return store.pages.remove({ ...page, revision }, () => [
          newEvent(newId, 'page.deleted', { tenantId, apiKeyId }, { pageGroupId, pageId }, isoTime(clock())),
        ])
      }),
    )
  }
