import { changedPage, changePage, type PageDeps, type PageWrite } from './change-page.ts'
import type { ReadPage } from './get-page.ts'
import { withdrawal } from './page-edits.ts'
import { skipPendingVersions } from './publish-version.ts'

/**
 * Withdraws the published version: readers see nothing until a version is published again.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const unpublishPage =
  (deps: PageDeps) =>
  async (key: PageWrite): Promise<ReadPage> => {
    await changePage(deps, key, {
      recall: async (page) => ({ page }),
      decide: ({ page }) => ({
        edit: page.published === null ? skipPendingVersions(page) : withdrawal(page),
        answer: null,
      }),
    })
    return changedPage(deps, key)
  }
