import type { PageChanges } from '../../shapes/page.ts'
import { changedPage, changePage, type PageDeps, type PageWrite } from './change-page.ts'
import type { ReadPage } from './get-page.ts'
import type { Edit } from './page-edits.ts'
import { type CurrentPage, planUnpublishing } from './schedules.ts'
import { requireFreeSlug } from './slugs.ts'

/**
 * Renames a page, or sets its slug or when it is unpublished; null removes its custom name, its slug or that time.
 * Refuses `page_group_not_found`, `page_not_found`, `slug_taken`, `precondition_failed`, and `invalid_request`: the time.
 */
export const updatePage =
  (deps: PageDeps) =>
  async ({ customName, slug, unpublishAt, ...key }: PageWrite & PageChanges): Promise<ReadPage> => {
    await changePage(deps, key, {
      recall: async (page) => ({
        page,
        slugOwnerId: slug == null ? null : await deps.store.pages.findSlug({ ...key, slug }),
      }),
      decide: (known, nowMs) => ({
        edit: decideChange({ customName, slug, unpublishAt }, known, nowMs),
        answer: null,
      }),
    })
    return changedPage(deps, key)
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
  const time = unpublishAt === undefined ? page.unpublishAt : planUnpublishing(unpublishAt, nowMs)
  if (name === page.customName && newSlug === page.slug && time === page.unpublishAt) return null
  return { customName: name, slug: newSlug, unpublishAt: time, event: 'page.updated' }
}
