import type { PageGroup, PageGroupQuery, PageGroupSlice } from '../shapes/page-group.ts'
import type { PageGroupsWant, StoredPageGroup } from './ports.ts'
import { afterCursor, sliceOf } from './slices.ts'

type Deps = { readonly rows: (want: PageGroupsWant) => Promise<readonly StoredPageGroup[]> }
export type PageGroupListing = PageGroupQuery & { readonly tenantId: string }

/**
 * Lists a tenant's page groups, newest first (specification 4.2). Without a status: all but the deleted ones.
 * Refuses `invalid_cursor`.
 */
export const listPageGroups =
  ({ rows }: Deps) =>
  async ({ tenantId, status, cursor, limit }: PageGroupListing): Promise<PageGroupSlice> => {
    const list = `page_groups?${status ?? ''}`
    const beforeId = afterCursor(cursor, list)
    const found = await rows({ tenantId, status: status ?? null, beforeId, rowsMax: limit + 1 })
    return {
      ...sliceOf(found, { list, limit, idOf: (group) => group.pageGroupId, itemOf: pageGroupOf }),
      limit,
    }
  }

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
