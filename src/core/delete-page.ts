import { untilRecorded } from './decide-and-save.ts'
import { existingPage } from './get-page.ts'
import type { PageWant } from './ports/pages.ts'
import type { Needs } from './ports/store.ts'
import { type IfRevision, requireRevision } from './revisions.ts'
import { atOnce, type Turns } from './turns.ts'

/**
 * Deletes a page with its versions, published or not. What its publisher still does is ignored.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const deletePage =
  ({ store, inTurn = atOnce }: Pick<Needs<'pages'>, 'store'> & Turns) =>
  async ({ tenantId, pageGroupId, pageId, ...want }: PageWant & IfRevision): Promise<void> => {
    const page = { tenantId, pageGroupId, pageId }
    await inTurn(pageId, () =>
      untilRecorded(async () => {
        const { revision } = existingPage((await store.pages.find([{ ...page, withoutContent: true }]))[0])
        requireRevision(revision, want)
        return store.pages.remove({ ...page, revision })
      }),
    )
  }
