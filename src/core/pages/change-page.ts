import type { EventType } from '../../shapes/event.ts'
import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import { type IfRevision, type Turns, writeInTurn } from '../engine/write-in-turn.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { PageChange, PageWant, StoredPageWithVersions } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import { loadPage, type ReadPage, readPageOf } from './get-page.ts'

export type PageDeps = Needs<'pages'> & Turns
/** Which page a person writes to. */
export type PageWrite = PageWant & IfRevision & Requester
/** The fields to change, and the event to emit. Omitted fields keep their values. Null: nothing to change. */
type Edit =
  | (Partial<Omit<PageChange, keyof PageWant | 'revision' | 'updatedAt'>> & { readonly event?: EventType })
  | null

/** The form of every change of a page by hand. Refuses as `loadPage`, and `precondition_failed`. */
export const changePage = <Answer>(
  deps: PageDeps,
  want: PageWrite,
  decide: (page: StoredPageWithVersions) => Promise<{ readonly edit: Edit; readonly answer: Answer }>,
): Promise<Answer> => {
  const load = () => loadPage(deps.store, want)
  return writeInTurn(deps, want.pageId, want, load, async (page) => {
    const { edit, answer } = await decide(page)
    if (edit === null) return answer
    const { event, ...changes } = edit
    const change: PageChange = {
      ...page,
      publishedVersionId: page.published?.versionId ?? null,
      added: null,
      publishes: false,
      ...changes,
      updatedAt: isoTime(deps.clock()),
    }
    const { pageGroupId, pageId, publishes, publishedVersionId: versionId } = change
    const ids = { pageGroupId, pageId, ...(publishes && versionId !== null && { versionId }) }
    const recorded = await deps.store.pages.change(
      change,
      event ? [newEvent(deps.newId, event, want, ids, change.updatedAt)] : [],
    )
    return recorded === 'overtaken' ? recorded : answer
  })
}

/** Returns the page as it is afterwards. */
export const changeAndRead = async (
  deps: PageDeps,
  want: PageWrite,
  decide: (page: StoredPageWithVersions) => Edit | Promise<Edit>,
): Promise<ReadPage> => {
  await changePage(deps, want, async (page) => ({ edit: await decide(page), answer: null }))
  return readPageOf(await loadPage(deps.store, want, true))
}

/** Refuses `page_group_not_active`. */
export const requireActiveGroup = ({ groupStatus }: StoredPageWithVersions): void => {
  if (groupStatus !== 'active')
    refuse('page_group_not_active', 'The page group is archived. Versions cannot be created or published.')
}
