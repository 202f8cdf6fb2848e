import type { PageChanges } from '../../shapes/page.ts'
import { isoTime } from '../engine/times.ts'
import { type Queued, requireRevision, writeQueued } from '../engine/write-queue.ts'
import { newEvent } from '../events/new-event.ts'
import type { Needs } from '../ports/store.ts'
import { changeAndRead, type PageDeps, type PageWrite } from './change-page.ts'
import { loadPage, type ReadPage } from './get-page.ts'
import { type CurrentPage, type Edit, withdrawalTime } from './schedules.ts'
import { requireFreeSlug } from './slugs.ts'

/**
 * Renames a page, or sets its slug or when it is unpublished; null removes its custom name, its slug or that time.
 * Refuses `page_group_not_found`, `page_not_found`, `slug_taken`, `precondition_failed`, and `invalid_request`: the time.
 */
export const updatePage =
  (deps: PageDeps) =>
  ({ customName, slug, unpublishAt, ...want }: PageWrite & PageChanges): Promise<ReadPage> => {
    const recall = async (page: CurrentPage) => ({
      page,
      slugOwnerId: slug == null ? null : await deps.store.pages.findSlug({ ...want, slug }),
    })
    return changeAndRead(deps, want, recall, (known, nowMs) =>
      decideChange({ customName, slug, unpublishAt }, known, nowMs),
    )
  }

type Known = { readonly page: CurrentPage; readonly slugOwnerId: string | null }
const decideChange = (
  { customName, slug, unpublishAt }: PageChanges,
  { page, slugOwnerId }: Known,
  nowMs: number,
): Edit => {
  requireFreeSlug(slugOwnerId, page.pageId)
  const name = customName === undefined ? page.customName : customName
  const newSlug = slug === undefined ? page.slug : slug
  const time = unpublishAt === undefined ? page.unpublishAt : withdrawalTime(unpublishAt, nowMs)
  if (name === page.customName && newSlug === page.slug && time === page.unpublishAt) return null
  return { customName: name, slug: newSlug, unpublishAt: time, event: 'page.updated' }
}

/**
 * Deletes a page with its versions, published or not. Pending results of its publisher are ignored.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const deletePage =
  (deps: Needs<'pages'> & Queued) =>
  async (want: PageWrite): Promise<void> => {
    const { store, clock, newId } = deps
    const { pageGroupId, pageId } = want
    const about = { pageGroupId, pageId }
    await writeQueued(deps, pageId, {
      load: () => loadPage(store, want),
      recall: async (page) => page,
      decide: (page) => {
        requireRevision(page, want)
        return { answer: null, change: { page, now: isoTime(clock()) } }
      },
      record: ({ page, now }) =>
        store.pages.remove(page, [newEvent(newId, 'page.deleted', want, about, now)]),
    })
  }
