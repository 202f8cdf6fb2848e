import type { Page } from '../../shapes/page.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import { pageGroupNotFound } from '../engine/failures.ts'
import { sliceOf } from '../engine/slices.ts'
import type { PageGroupKey } from '../ports/page-groups.ts'
import type { StoredPage } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import { effectiveName } from './get-page.ts'

/**
 * Lists the pages of a group, newest first.
 * Refuses `page_group_not_found`, `invalid_cursor`. Checks nothing else.
 */
export const listPages = ({ store }: Pick<Needs<'pages'>, 'store'>) =>
  sliceOf({
    nameOf: ({ pageGroupId }: SliceQuery & PageGroupKey) => `pages/${pageGroupId}`,
    find: async (query) => (await store.pages.list(query)) ?? pageGroupNotFound(),
    positionOf: ({ pageId }) => pageId,
    itemOf: pageOf,
  })

const pageOf = (page: StoredPage): Page => ({
  pageId: page.pageId,
  pageGroupId: page.pageGroupId,
  tenantId: page.tenantId,
  createdAt: page.createdAt,
  updatedAt: page.updatedAt,
  effectiveName: effectiveName(page),
  customName: page.customName,
  computedName: page.computedName,
  slug: page.slug,
})
