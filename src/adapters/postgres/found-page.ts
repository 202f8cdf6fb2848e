import type { FoundPage, StoredPage, StoredVersion } from '../../core/ports/pages.ts'
import { rawJsonOf, storedPage, storedVersion } from '../rows.ts'

/** A page with one of its versions; `pageId` is null if there is no page. */
export type FoundRow = StoredPage &
  Pick<Exclude<FoundPage, string>, 'revision' | 'groupStatus'> &
  Omit<StoredVersion, 'computedName' | 'createdAt'> & {
    readonly want: number
    readonly publishedVersionId: string | null
    readonly latestVersionId: string
    readonly versionName: string
    readonly versionCreatedAt: string
    readonly content: string | null
  }

export const foundPage = (rows: readonly FoundRow[]) => {
  const [page] = rows
  if (page === undefined) return 'page_group_not_found'
  const { pageId, revision, groupStatus, publishedVersionId, latestVersionId } = page
  if (pageId === null) return 'page_not_found'
  const rowOf = (id: string) => rows.find(({ versionId }) => versionId === id) as FoundRow
  const version = (row: FoundRow) =>
    storedVersion({ ...row, computedName: row.versionName, createdAt: row.versionCreatedAt })
  const published = publishedVersionId === null ? null : rowOf(publishedVersionId)
  return {
    ...storedPage(page),
    revision,
    groupStatus,
    published: published && { ...version(published), content: rawJsonOf(published) },
    latest: version(rowOf(latestVersionId)),
  }
}
