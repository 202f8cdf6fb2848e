import type { PageGroupQuery, PageGroupSlice } from '../../shapes/page-group.ts'
import { attemptEach, type Outcome } from '../engine/outcome.ts'
import { slicesOf } from '../engine/slices.ts'
import type { Needs } from '../ports/store.ts'
import { pageGroupOf } from './get-page-group.ts'

export type PageGroupListing = PageGroupQuery & { readonly tenantId: string }

/**
 * Lists tenants' page groups, newest first, many lists at once. Without a status: all but the deleted ones.
 * Refuses, per list: `invalid_cursor`. Checks nothing else.
 */
export const listPageGroups =
  ({ store }: Pick<Needs<'pageGroups'>, 'store'>) =>
  async (listings: readonly PageGroupListing[]): Promise<readonly Outcome<PageGroupSlice>[]> => {
    const slices = slicesOf({
      nameOf: ({ status }: PageGroupListing) => `page_groups?${status ?? ''}`,
      find: (wants) => store.pageGroups.list(wants.map((want) => ({ ...want, status: want.status ?? null }))),
      positionOf: ({ pageGroupId }) => pageGroupId,
      itemOf: pageGroupOf,
    })
    return attemptEach(await slices(listings), (slice, i) => ({ ...slice, limit: listings[i]?.limit ?? 0 }))
  }
