import type { PageChanges } from '../../shapes/page.ts'
import { isoTime } from '../engine/times.ts'
import { writeInTurn } from '../engine/write-in-turn.ts'
import { newEvent } from '../events/new-event.ts'
import { changeAndRead, type PageDeps, type PageWrite } from './change-page.ts'
import { loadPage, type ReadPage } from './get-page.ts'

/** Renames a page; null removes its custom name. Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`. */
export const updatePage =
  (deps: PageDeps) =>
  ({ customName, ...want }: PageWrite & PageChanges): Promise<ReadPage> =>
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
    const { store, clock, newId } = deps
    const { pageGroupId, pageId } = want
    const load = () => loadPage(store, want)
    await writeInTurn(deps, pageId, want, load, (page) =>
      store.pages.remove(page, [
        newEvent(newId, 'page.deleted', want, { pageGroupId, pageId }, isoTime(clock())),
      ]),
    )
  }
