import type { Page, PageSlice } from '../shapes/page.ts'
import type { SliceQuery } from '../shapes/slice.ts'
import { attempt } from './attempt.ts'
import type { Outcome } from './failures.ts'
import { effectiveName, pageGroupNotFound } from './pages.ts'
import type { PagesWant, Store, StoredPage } from './ports.ts'
import { afterCursor, sliceOf } from './slices.ts'

type Deps = { readonly slice: (want: PagesWant) => Promise<PageSlice> }
/** Of the custom names of one slice, as JSON may have to write them. */
const NAMES_BYTES_MAX = 1_048_576
/** A character may take as many bytes in JSON (`\u0001`), and no more than half of them in UTF-8. */
const JSON_BYTES_MAX = 6

export type PageListing = SliceQuery & { readonly tenantId: string; readonly pageGroupId: string }

/**
 * Lists the pages of a group, newest first (specification 4.3); fewer than `limit` where their custom names are long,
 * which nothing else bounds.
 * Refuses `page_group_not_found` and `invalid_cursor`.
 */
export const listPages =
  ({ slice }: Deps) =>
  async ({ tenantId, pageGroupId, cursor, limit }: PageListing): Promise<PageSlice> => {
    const beforeId = afterCursor(cursor, listOf(pageGroupId))
    return slice({ tenantId, pageGroupId, beforeId, rowsMax: limit + 1, namesBytesMax: NAMES_BYTES_MAX / 2 })
  }

/** Many slices at once, one for each want, in order. Refuses, each by itself, `page_group_not_found`. */
export const slicesOfPages =
  ({ store }: { readonly store: Pick<Store, 'pages'> }) =>
  async (wants: readonly PagesWant[]): Promise<readonly Outcome<PageSlice>[]> => {
    const found = await store.pages.list(wants)
    return wants.map(({ pageGroupId, rowsMax }, i) =>
      attempt(() => {
        const rows = found[i] ?? pageGroupNotFound()
        const idOf = (page: StoredPage) => page.pageId
        return sliceOf(rows, {
          list: listOf(pageGroupId),
          limit: rowsMax - 1,
          idOf,
          itemOf: pageOf,
          bytesOf: nameBytesOf,
          bytesMax: NAMES_BYTES_MAX,
        })
      }),
    )
  }

/** As JSON may have to write it. */
const nameBytesOf = ({ customName }: StoredPage): number =>
  customName === null ? 0 : JSON_BYTES_MAX * customName.length

/** Marks the list in a cursor. */
const listOf = (pageGroupId: string): string => `pages/${pageGroupId}`

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
