import type { PageGroupQuery, PageGroupSlice } from '../../shapes/page-group.ts'
import type { Result } from '../engine/result.ts'
import { sliceOf } from '../engine/slices.ts'
import type { Needs } from '../ports/store.ts'
import { pageGroupOf } from './get-page-group.ts'

export type PageGroupListing = PageGroupQuery & { readonly tenantId: string }

/**
 * Lists a tenant's page groups, newest first. Without a status: all but the deleted ones.
 * Refuses `invalid_cursor`. Checks nothing else.
 */
export const listPageGroups = ({ store }: Pick<Needs<'pageGroups'>, 'store'>) => {
  const list = sliceOf({
    nameOf: ({ status }: PageGroupListing) => `page_groups?${status ?? ''}`,
    find: (query) => store.pageGroups.list({ ...query, status: query.status ?? null }),
    positionOf: ({ pageGroupId }) => pageGroupId,
    itemOf: pageGroupOf,
  })
  return async (listing: PageGroupListing): Promise<Result<PageGroupSlice>> => {
    const { value } = await list(listing)
    return { value: { ...value, limit: listing.limit } }
  }
}
