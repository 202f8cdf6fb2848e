import type { PageChanges } from '../shapes/page.ts'
import { changePage, readPage } from './change-page.ts'
import type { ReadPage } from './get-page.ts'
import type { Requester } from './ports/events.ts'
import type { PageWant } from './ports/pages.ts'
import type { Needs } from './ports/store.ts'
import type { IfRevision } from './revisions.ts'
import type { Turns } from './turns.ts'

/** What to change of which page. */
export type PageUpdate = PageWant & PageChanges & IfRevision & Requester

/** Renames a page; null removes its custom name. Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`. */
export const updatePage =
  (deps: Needs<'pages'> & Turns) =>
  async ({ customName, ...want }: PageUpdate): Promise<ReadPage> => {
    await changePage(deps, want, (page) =>
      customName === undefined || customName === page.customName
        ? null
        : { customName, event: 'page.updated' },
    )
    return readPage(deps, want)
  }
