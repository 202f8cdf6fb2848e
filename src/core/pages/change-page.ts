import { refuse } from '../engine/failures.ts'
import { type IfRevision, requireRevision } from '../engine/revisions.ts'
import { isoTime } from '../engine/times.ts'
import { type Queued, writeQueued } from '../engine/write-queue.ts'
import type { Requester } from '../ports/events.ts'
import type { PageKey, StoredPageWithVersions } from '../ports/pages.ts'
import { loadPage, type ReadPage, readPageOf } from './get-page.ts'
import { type Edit, editedPage, savePage } from './page-edits.ts'
import { bringUpToDate, type CurrentPage, type ScheduleDeps } from './schedules.ts'

export type PageDeps = ScheduleDeps & Queued
export type PageWrite = PageKey & IfRevision & Requester
/** How a page changes: what its decision needs besides the page, and the decision, which is pure. */
type PageSteps<Known, Answer> = {
  readonly recall: (page: CurrentPage) => Promise<Known>
  readonly decide: (known: Known, nowMs: number) => { readonly edit: Edit; readonly answer: Answer }
}

/** Every manual change of a page. Refuses as `bringUpToDate`, and `precondition_failed`. */
export const changePage = <Known extends { readonly page: CurrentPage }, Answer>(
  deps: PageDeps,
  key: PageWrite,
  { recall, decide }: PageSteps<Known, Answer>,
): Promise<Answer> =>
  writeQueued(deps, key.tenantId, key.pageId, {
    recall: async () => recall(await bringUpToDate(deps, key)),
    decide: (known) => {
      requireRevision(known.page, key)
      const nowMs = deps.clock()
      const { edit, answer } = decide(known, nowMs)
      return { answer, change: edit && editedPage(known.page, edit, isoTime(nowMs)) }
    },
    record: (edited) => savePage(deps, edited, key),
  })

/** The page as changed. */
export const changedPage = async ({ store }: PageDeps, key: PageWrite): Promise<ReadPage> =>
  readPageOf(await loadPage(store, key, true))

/** Refuses `page_group_not_active`. */
export const requireActiveGroup = ({ groupStatus }: StoredPageWithVersions): void => {
  if (groupStatus !== 'active')
    refuse('page_group_not_active', 'The page group is archived. Versions cannot be created or published.')
}
