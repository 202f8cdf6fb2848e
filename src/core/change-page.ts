import type { EventType } from '../shapes/event.ts'
import { untilRecorded } from './decide-and-save.ts'
import { refuse } from './failures.ts'
import { existingPage, getPages, type ReadPage } from './get-page.ts'
import { newEvent } from './new-event.ts'
import type { Requester } from './ports/events.ts'
import type { PageChange, PageWant, StoredPageWithVersions } from './ports/pages.ts'
import type { Needs } from './ports/store.ts'
import { type IfRevision, requireRevision } from './revisions.ts'
import { isoTime } from './times.ts'
import { atOnce, type Turns } from './turns.ts'

export type PageDeps = Needs<'pages'> & Turns
/** Which page a person writes to. */
export type PageWrite = PageWant & IfRevision & Requester
/** What is changed of a page, and what that is called; what is left out stays. Null: nothing, as it is so already. */
type Edit =
  | (Partial<Omit<PageChange, keyof PageWant | 'revision' | 'updatedAt'>> & { readonly event?: EventType })
  | null

/** Loads a page and writes, again if somebody else changed it meanwhile. Refuses `precondition_failed`, and as `loadPage`. */
export const withPage = <Answer>(
  { store, inTurn = atOnce }: Pick<PageDeps, 'store' | 'inTurn'>,
  want: PageWrite,
  write: (page: StoredPageWithVersions) => Promise<Answer | 'overtaken'>,
): Promise<Answer> =>
  inTurn(want.pageId, () =>
    untilRecorded(async () => {
      const page = await loadPage(store, want)
      requireRevision(page.revision, want)
      return write(page)
    }),
  )

/** The page without its content. Refuses `page_group_not_found`, `page_not_found`. */
export const loadPage = async ({ pages }: PageDeps['store'], want: PageWant) =>
  existingPage((await pages.find([{ ...want, withoutContent: true }]))[0])

/** The form of every change of a page by hand. Refuses as `withPage`, and `page_group_not_active`. */
export const changePage = <Answer>(
  deps: PageDeps,
  want: PageWrite,
  decide: (page: StoredPageWithVersions) => Promise<{ readonly edit: Edit; readonly answer: Answer }>,
): Promise<Answer> =>
  withPage(deps, want, async (page) => {
    const { edit, answer } = await decide(page)
    if (edit === null) return answer
    if (edit.inActiveGroup) requireActiveGroup(page)
    const { event, ...changes } = edit
    const change: PageChange = {
      ...page,
      publishedVersionId: page.published?.versionId ?? null,
      latestVersionId: page.latest.versionId,
      inActiveGroup: false,
      added: null,
      publishes: false,
      ...changes,
      updatedAt: isoTime(deps.clock()),
    }
    const { pageGroupId, pageId, publishes, publishedVersionId: versionId } = change
    const ids = { pageGroupId, pageId, ...(publishes && versionId !== null && { versionId }) }
    const recorded = await deps.store.pages.change(change, () =>
      event ? [newEvent(deps.newId, event, want, ids, change.updatedAt)] : [],
    )
    return recorded === 'overtaken' ? recorded : answer
  })

/** Answers the page as it is afterwards. */
export const changeAndRead = async (
  deps: PageDeps,
  want: PageWrite,
  decide: (page: StoredPageWithVersions) => Edit | Promise<Edit>,
): Promise<ReadPage> => {
  await changePage(deps, want, async (page) => ({ edit: await decide(page), answer: null }))
  const [page] = await getPages(deps)([want])
  if (page === undefined || page instanceof Error) throw page
  return page
}

/** Refuses `page_group_not_active`. */
export const requireActiveGroup = ({ groupStatus }: StoredPageWithVersions): void => {
  if (groupStatus !== 'active')
    refuse(
      'page_group_not_active',
      'The page group is archived: it accepts no new versions, and none is published by hand.',
    )
}
