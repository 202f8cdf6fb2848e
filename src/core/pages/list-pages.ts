import type { ForReaders } from '../../shapes/input.ts'
import type { Page } from '../../shapes/page.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import { pageGroupNotFound } from '../engine/failures.ts'
import { sliceOf } from '../engine/slices.ts'
import type { PageGroupKey } from '../ports/page-groups.ts'
import type { ListedPage } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import { effectiveName } from './get-page.ts'
import { getPageGroup } from './get-page-group.ts'

type Listing = SliceQuery & PageGroupKey & ForReaders

/**
 * Lists the pages of a group, newest first. `publishedOnly`: those that have a published version, of an active group.
 * Refuses `page_group_not_found`, `invalid_cursor`. Checks nothing else.
 */
export const listPages = ({ store }: Pick<Needs<'pages' | 'pageGroups'>, 'store'>) =>
  sliceOf({
    nameOf: ({ pageGroupId }: Listing) => `pages/${pageGroupId}`,
    find: async (query) => {
      if (query.publishedOnly) await getPageGroup({ store })(query)
      return (await store.pages.list(query)) ?? pageGroupNotFound()
    },
    positionOf: ({ pageId }) => pageId,
    isShown: ({ publishedAt }, { publishedOnly }) => !publishedOnly || Boolean(publishedAt),
    itemOf: pageOf,
  })

const pageOf = (page: ListedPage, { publishedOnly }: ForReaders): Page => ({
  pageId: page.pageId,
  pageGroupId: page.pageGroupId,
  tenantId: page.tenantId,
  createdAt: page.createdAt,
  updatedAt: (publishedOnly && page.publishedAt) || page.updatedAt,
  effectiveName: effectiveName(page),
  customName: page.customName,
  computedName: publishedOnly ? effectiveName(page) : page.computedName,
  slug: page.slug,
})
