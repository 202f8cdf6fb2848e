import type { PageGroup, PageGroupQuery, PageGroupSlice } from '../shapes/page-group.ts'
import type { PageGroupsWant, Store, StoredPageGroup } from './ports.ts'
import { afterCursor, sliceOf } from './slices.ts'

type Deps = { readonly slice: (want: PageGroupsWant) => Promise<PageGroupSlice> }
export type PageGroupListing = PageGroupQuery & { readonly tenantId: string }

/**
 * Lists a tenant's page groups, newest first (specification 4.2). Without a status: all but the deleted ones.
 * Refuses `invalid_cursor`.
 */
export const listPageGroups =
  ({ slice }: Deps) =>
  async ({ tenantId, status: filter, cursor, limit }: PageGroupListing): Promise<PageGroupSlice> => {
    const status = filter ?? null
    const beforeId = afterCursor(cursor, listOf(status))
    return slice({ tenantId, status, beforeId, rowsMax: limit + 1 })
  }

/** Many slices at once, one for each want, in order. */
export const slicesOfPageGroups =
  ({ store }: { readonly store: Pick<Store, 'pageGroups'> }) =>
  async (wants: readonly PageGroupsWant[]): Promise<readonly PageGroupSlice[]> => {
    const found = await store.pageGroups.list(wants)
    return wants.map(({ status, rowsMax }, i) => {
      const limit = rowsMax - 1
      const idOf = (group: StoredPageGroup) => group.pageGroupId
      return { ...sliceOf(found[i] ?? [], { list: listOf(status), limit, idOf, itemOf: pageGroupOf }), limit }
    })
  }

/** Marks the list and its filter in a cursor. */
const listOf = (status: string | null): string => `page_groups?${status ?? ''}`

/** A page group as callers see it (specification 2.3). */
export const pageGroupOf = (group: StoredPageGroup): PageGroup => ({
  pageGroupId: group.pageGroupId,
  tenantId: group.tenantId,
  brandId: group.brandId,
  name: group.name,
  title: group.title,
  pageContext: group.pageContext,
  status: group.status,
  pagesCount: group.pagesCount,
  actions: group.actions,
  footerLinks: group.footerLinks,
  scripts: group.scripts,
  createdAt: group.createdAt,
  updatedAt: group.updatedAt,
  deletedAt: group.deletedAt,
  headerActionId: group.headerActionId,
})
