import type { PageChanges } from '../shapes/page.ts'
import { changeAndRead, type PageDeps, type PageWrite, withPage } from './change-page.ts'
import type { ReadPage } from './get-page.ts'
import { newEvent } from './new-event.ts'
import { isoTime } from './times.ts'

/** What to change of which page. */
export type PageUpdate = PageWrite & PageChanges

/** Renames a page; null removes its custom name. Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`. */
export const updatePage =
  (deps: PageDeps) =>
  ({ customName, ...want }: PageUpdate): Promise<ReadPage> =>
    changeAndRead(deps, want, (page) =>
      customName === undefined || customName === page.customName
        ? null
        : { customName, event: 'page.updated' },
    )

/**
 * Deletes a page with its versions, published or not. What its publisher still does is ignored.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const deletePage =
  (deps: PageDeps) =>
  async (want: PageWrite): Promise<void> => {
    const { pageGroupId, pageId } = want
    await withPage(deps, want, (page) =>
      deps.store.pages.remove(page, () => [
        newEvent(deps.newId, 'page.deleted', want, { pageGroupId, pageId }, isoTime(deps.clock())),
      ]),
    )
  }
