import type {
  FoundPage,
  PageWant,
  StoredPage,
  StoredPageWithVersions,
  StoredVersion,
} from '../../core/ports/pages.ts'
import { rawJsonOf, storedVersion } from '../rows.ts'

/** A page with one of its versions, whose columns have the plain names; all but `want` are null if there is no page. */
export type FoundRow = StoredVersion &
  Pick<StoredPage, 'customName' | 'updatedAt'> &
  Pick<StoredPageWithVersions, 'groupStatus'> & {
    readonly want: number
    readonly revision: number | null
    readonly pageName: string
    readonly pageCreatedAt: string
    readonly publishedVersionId: string | null
    readonly latestVersionId: string
    readonly content: string | null
  }

export const foundPage = (rows: readonly FoundRow[], want: PageWant): FoundPage => {
  const [page] = rows
  if (page === undefined) return 'page_group_not_found'
  const { revision, publishedVersionId, latestVersionId } = page
  if (revision === null) return 'page_not_found'
  const rowOf = (id: string) => rows.find(({ versionId }) => versionId === id) as FoundRow
  const published = publishedVersionId === null ? null : rowOf(publishedVersionId)
  return {
    tenantId: want.tenantId,
    pageGroupId: want.pageGroupId,
    pageId: want.pageId,
    customName: page.customName,
    computedName: page.pageName,
    createdAt: page.pageCreatedAt,
    updatedAt: page.updatedAt,
    revision,
    groupStatus: page.groupStatus,
    published: published && { ...storedVersion(published), content: rawJsonOf(published) },
    latest: storedVersion(rowOf(latestVersionId)),
  }
}
