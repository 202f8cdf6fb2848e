import type { PublishedPage, PublishedPagesQuery } from '../../shapes/page.ts'
import { sliceOf } from '../engine/slices.ts'
import { positionAt, positionIn } from '../engine/time-positions.ts'
import type { PublishedPageRow, PublishedPosition } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import { effectiveName } from './get-page.ts'

type Listing = PublishedPagesQuery & { readonly tenantId: string }

/**
 * Lists what readers see: the pages of all active groups that have a published version, with its content, those published
 * last first. A page that is published again while the list is read moves to its beginning.
 * Refuses `invalid_cursor`. Checks nothing else.
 */
export const listPublishedPages = ({ store }: Pick<Needs<'pages'>, 'store'>) =>
  sliceOf({
    nameOf: ({ publishedAfter = '' }: Listing) => `published_pages?${publishedAfter}`,
    find: ({ tenantId, limit, publishedAfter = null, beforeId }) =>
      store.pages.listPublished({
        tenantId,
        limit,
        publishedAfter,
        before: beforeId === null ? null : publishedPosition(beforeId),
      }),
    position: /^\d{1,14} page_[a-z0-9]{26}$/,
    positionOf: ({ publishedAt, pageId }) => positionAt(publishedAt, pageId),
    isShown: ({ groupStatus }) => groupStatus === 'active',
    itemOf: publishedPageOf,
  })

const publishedPosition = (text: string): PublishedPosition => {
  const [publishedAt, pageId = ''] = positionIn(text)
  return { publishedAt, pageId }
}

const publishedPageOf = (page: PublishedPageRow): PublishedPage => ({
  pageId: page.pageId,
  pageGroupId: page.pageGroupId,
  tenantId: page.tenantId,
  createdAt: page.createdAt,
  effectiveName: effectiveName(page),
  slug: page.slug,
  publishedVersion: {
    versionId: page.versionId,
    versionNumber: page.versionNumber,
    publishedAt: page.publishedAt,
    ...(page.content && { content: page.content }),
  },
})
