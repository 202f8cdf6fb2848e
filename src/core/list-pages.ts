import type { Page, PageSlice } from '../shapes/page.ts'
import type { SliceQuery } from '../shapes/slice.ts'
import { effectiveName, pageGroupNotFound } from './pages.ts'
import type { PagesWant, StoredPage } from './ports.ts'
import { afterCursor, sliceOf } from './slices.ts'

type Deps = { readonly rows: (want: PagesWant) => Promise<readonly StoredPage[] | null> }
export type PageListing = SliceQuery & { readonly tenantId: string; readonly pageGroupId: string }

/**
 * Lists the pages of a group, newest first (specification 4.3).
 * Refuses `page_group_not_found` and `invalid_cursor`.
 */
export const listPages =
  ({ rows }: Deps) =>
  async ({ tenantId, pageGroupId, cursor, limit }: PageListing): Promise<PageSlice> => {
    const list = `pages/${pageGroupId}`
    const beforeId = afterCursor(cursor, list)
    const found = (await rows({ tenantId, pageGroupId, beforeId, rowsMax: limit + 1 })) ?? pageGroupNotFound()
    return sliceOf(found, { list, limit, idOf: (page) => page.pageId, itemOf: pageOf })
  }

const pageOf = (page: StoredPage): Page => ({
  pageId: page.pageId,
  pageGroupId: page.pageGroupId,
  tenantId: page.tenantId,
  createdAt: page.createdAt,
  updatedAt: page.updatedAt,
  effectiveName: effectiveName(page),
  customName: page.customName,
  computedName: page.computedName,
})
