import type { Page, PageSlice } from '../shapes/page.ts'
import type { SliceQuery } from '../shapes/slice.ts'
import { attempt } from './attempt.ts'
import type { Outcome } from './failures.ts'
import { effectiveName, pageGroupNotFound } from './pages.ts'
import type { PagesWant, Store, StoredPage } from './ports.ts'
import { afterCursor, sliceOf } from './slices.ts'

type Deps = { readonly slice: (want: PagesWant) => Promise<PageSlice> }
const NAMES_BYTES_MAX = 1_048_576

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
    return slice({ tenantId, pageGroupId, beforeId, rowsMax: limit + 1, namesBytesMax: NAMES_BYTES_MAX })
  }

/** Many slices at once, one for each want, in order. Refuses, each by itself, `page_group_not_found`. */
export const slicesOfPages =
  ({ store }: { readonly store: Pick<Store, 'pages'> }) =>
  async (wants: readonly PagesWant[]): Promise<readonly Outcome<PageSlice>[]> => {
    const found = await store.pages.list(wants)
    return wants.map(({ pageGroupId, rowsMax, namesBytesMax }, i) =>
      attempt(() => {
        const rows = found[i] ?? pageGroupNotFound()
        const idOf = (page: StoredPage) => page.pageId
        return sliceOf(rows, {
          list: listOf(pageGroupId),
          limit: rowsMax - 1,
          idOf,
          itemOf: pageOf,
          bytesOf: nameBytesOf,
          bytesMax: namesBytesMax,
        })
      }),
    )
  }

/** As it is answered: a character that is escaped takes up to six bytes. */
const nameBytesOf = ({ customName }: StoredPage): number =>
  customName === null ? 0 : Buffer.byteLength(JSON.stringify(customName))

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
