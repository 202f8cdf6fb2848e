import type { ForReaders } from '../../shapes/input.ts'
import type { PageGroupQuery, PageGroupSlice } from '../../shapes/page-group.ts'
import type { Result } from '../engine/result.ts'
import { sliceOf } from '../engine/slices.ts'
import type { Needs } from '../ports/store.ts'
import { pageGroupOf, readersGroupOf } from './get-page-group.ts'

const NO_GROUPS = Promise.resolve([])
export type PageGroupListing = PageGroupQuery & { readonly tenantId: string } & ForReaders

/**
 * Lists a tenant's page groups, newest first. Without a status: all but the deleted ones. `publishedOnly`: of those, the
 * active ones.
 * Refuses `invalid_cursor`. Checks nothing else.
 */
export const listPageGroups = ({ store }: Pick<Needs<'pageGroups'>, 'store'>) => {
  const list = sliceOf({
    nameOf: ({ status }: PageGroupListing) => `page_groups?${status ?? ''}`,
    find: ({ publishedOnly, status = null, ...query }) => {
      if (!publishedOnly) return store.pageGroups.list({ ...query, status })
      const mayMatch = status === null || status === 'active'
      return mayMatch ? store.pageGroups.list({ ...query, status: 'active' }) : NO_GROUPS
    },
    positionOf: ({ pageGroupId }) => pageGroupId,
    itemOf: (group, { publishedOnly }) => (publishedOnly ? readersGroupOf(group) : pageGroupOf(group)),
  })
  return async (listing: PageGroupListing): Promise<Result<PageGroupSlice>> => {
    const { value } = await list(listing)
    return { value: { ...value, limit: listing.limit } }
  }
}
