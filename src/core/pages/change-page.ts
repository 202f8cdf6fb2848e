import { refuse } from '../engine/failures.ts'
import { type IfRevision, type Turns, writeInTurn } from '../engine/write-in-turn.ts'
import type { Requester } from '../ports/events.ts'
import type { PageWant, StoredPageWithVersions } from '../ports/pages.ts'
import { loadPage, type ReadPage, readPageOf } from './get-page.ts'
import { type CurrentPage, currentPage, type Edit, type ScheduleDeps, savePage } from './schedules.ts'

export type PageDeps = ScheduleDeps & Turns
export type PageWrite = PageWant & IfRevision & Requester

/** The form of every change of a page by hand. Refuses as `loadPage`, and `precondition_failed`. */
export const changePage = <Answer>(
  deps: PageDeps,
  want: PageWrite,
  decide: (page: CurrentPage) => Promise<{ readonly edit: Edit; readonly answer: Answer }>,
): Promise<Answer> => {
  const load = () => currentPage(deps, want)
  return writeInTurn(deps, want.pageId, want, load, async (page) => {
    const { edit, answer } = await decide(page)
    const recorded = edit && (await savePage(deps, page, edit, want))
    return recorded === 'overtaken' ? recorded : answer
  })
}

/** Returns the page as it is afterwards. */
export const changeAndRead = async (
  deps: PageDeps,
  want: PageWrite,
  decide: (page: CurrentPage) => Edit | Promise<Edit>,
): Promise<ReadPage> => {
  await changePage(deps, want, async (page) => ({ edit: await decide(page), answer: null }))
  return readPageOf(await loadPage(deps.store, want, true))
}

/** Refuses `page_group_not_active`. */
export const requireActiveGroup = ({ groupStatus }: StoredPageWithVersions): void => {
  if (groupStatus !== 'active')
    refuse('page_group_not_active', 'The page group is archived. Versions cannot be created or published.')
}
