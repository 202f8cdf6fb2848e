import type { PageChanges } from '../../shapes/page.ts'
import { isoTime } from '../engine/times.ts'
import { requireRevision, type Turns, writeInTurn } from '../engine/write-in-turn.ts'
import { newEvent } from '../events/new-event.ts'
import type { Needs } from '../ports/store.ts'
import { changeAndRead, onlyPage, type PageDeps, type PageWrite } from './change-page.ts'
import { loadPage, type ReadPage } from './get-page.ts'
import { type CurrentPage, type Edit, withdrawalTime } from './schedules.ts'

/**
 * Renames a page, or sets when it is unpublished; null removes its custom name or that time.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`, and `invalid_request`: the time.
 */
export const updatePage =
  (deps: PageDeps) =>
  ({ customName, unpublishAt, ...want }: PageWrite & PageChanges): Promise<ReadPage> =>
    changeAndRead(deps, want, onlyPage, ({ page }, nowMs) =>
      decideChange({ customName, unpublishAt }, page, nowMs),
    )

const decideChange = ({ customName, unpublishAt }: PageChanges, page: CurrentPage, nowMs: number): Edit => {
  const name = customName === undefined ? page.customName : customName
  const time = unpublishAt === undefined ? page.unpublishAt : withdrawalTime(unpublishAt, nowMs)
  if (name === page.customName && time === page.unpublishAt) return null
  return { customName: name, unpublishAt: time, event: 'page.updated' }
}

/**
 * Deletes a page with its versions, published or not. Pending results of its publisher are ignored.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const deletePage =
  (deps: Needs<'pages'> & Turns) =>
  async (want: PageWrite): Promise<void> => {
    const { store, clock, newId } = deps
    const { pageGroupId, pageId } = want
    const about = { pageGroupId, pageId }
    await writeInTurn(deps, pageId, {
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
