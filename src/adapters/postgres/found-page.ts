import type { FoundPage, PageKey, StoredPageWithVersions } from '../../core/ports/pages.ts'
import { storedVersion, type VersionRow, versionWithContent } from '../stores/page-rows.ts'

/**
 * A page with one of its versions, whose columns have the plain names. If the page is missing, only `groupStatus` is set.
 */
export type FoundRow = VersionRow &
  Pick<StoredPageWithVersions, 'slug' | 'customName' | 'updatedAt' | 'groupStatus' | 'automaticAfter'> & {
    readonly revision: number | null
    readonly pageName: string
    readonly pageCreatedAt: string
    readonly pageUnpublishAt: string | null
    readonly publishedVersionId: string | null
  }

export const foundPage = (rows: readonly FoundRow[], lookup: PageKey): FoundPage => {
  const [page] = rows
  if (page === undefined) return 'page_group_not_found'
  if (page.revision === null) return 'page_not_found'
  const published = rows.find(({ versionId }) => versionId === page.publishedVersionId)
  return {
    tenantId: lookup.tenantId,
    pageGroupId: lookup.pageGroupId,
    pageId: lookup.pageId,
    slug: page.slug,
    customName: page.customName,
    computedName: page.pageName,
    createdAt: page.pageCreatedAt,
    updatedAt: page.updatedAt,
    revision: page.revision,
    automaticAfter: page.automaticAfter,
    unpublishAt: page.pageUnpublishAt,
    groupStatus: page.groupStatus,
    published: published ? versionWithContent(published) : null,
    latest: storedVersion(rows.find((row) => row !== published) ?? page),
  }
}
