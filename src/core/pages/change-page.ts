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
/** The page, and what else a decision needs. */
type KnownPage = { readonly page: CurrentPage }

/**
 * Every manual change of a page: `recall` adds to the page what else the decision needs, and `decide` is
 * pure. Refuses as `bringUpToDate`, and `precondition_failed`.
 */
export const changePage = <Known extends KnownPage, Answer>(
  deps: PageDeps,
  key: PageWrite,
  recall: (page: CurrentPage) => Promise<Known>,
  decide: (known: Known, nowMs: number) => { readonly edit: Edit; readonly answer: Answer },
): Promise<Answer> =>
  writeQueued(deps, key.pageId, {
    load: () => bringUpToDate(deps, key),
    recall,
    decide: (known) => {
      requireRevision(known.page, key)
      const nowMs = deps.clock()
      const { edit, answer } = decide(known, nowMs)
      return { answer, change: edit && editedPage(known.page, edit, isoTime(nowMs)) }
    },
    record: (edited) => savePage(deps, edited, key),
  })

/** `recall` of a decision that needs only the page. */
export const recallNothingMore = async (page: CurrentPage): Promise<KnownPage> => ({ page })

/** Changes a page, and returns it as changed. */
export const changeAndRead = async <Known extends KnownPage>(
  deps: PageDeps,
  key: PageWrite,
  recall: (page: CurrentPage) => Promise<Known>,
  decide: (known: Known, nowMs: number) => Edit,
): Promise<ReadPage> => {
  await changePage(deps, key, recall, (known, nowMs) => ({ edit: decide(known, nowMs), answer: null }))
  return readPageOf(await loadPage(deps.store, key, true))
}

/** Refuses `page_group_not_active`. */
export const requireActiveGroup = ({ groupStatus }: StoredPageWithVersions): void => {
  if (groupStatus !== 'active')
    refuse('page_group_not_active', 'The page group is archived. Versions cannot be created or published.')
}
