import type { PageWant, StoredPageWithVersions, StoredVersion } from '../../core/ports/pages.ts'

type VersionColumns<Prefix extends string> = {
  readonly [Name in keyof StoredVersion as `${Prefix}${Capitalize<Name>}`]: StoredVersion[Name] | null
}
/**
 * A page with both its versions in one row; `pageId` null if there is none. A published version that is also
 * the latest is not looked up again: the row has only its id.
 */
export type FoundRow = Omit<StoredPageWithVersions, keyof PageWant | 'published' | 'latest'> & {
  readonly want: number
  readonly pageId: string | null
} & VersionColumns<'published'> &
  VersionColumns<'latest'>

export const foundPage = (
  row: FoundRow,
  { tenantId, pageGroupId, pageId }: PageWant,
): StoredPageWithVersions => {
  const latest = {
    versionId: row.latestVersionId,
    versionNumber: row.latestVersionNumber,
    status: row.latestStatus,
    publishedAt: row.latestPublishedAt,
    failureReason: row.latestFailureReason,
  } as StoredVersion
  return {
    tenantId,
    pageGroupId,
    pageId,
    customName: row.customName,
    computedName: row.computedName,
    supplementaryContext: row.supplementaryContext,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    published: publishedOf(row, latest),
    latest,
  }
}

const publishedOf = (row: FoundRow, latest: StoredVersion): StoredVersion | null => {
  if (row.publishedVersionId === null) return null
  if (row.publishedVersionId === latest.versionId) return latest
  return {
    versionId: row.publishedVersionId,
    versionNumber: row.publishedVersionNumber,
    status: row.publishedStatus,
    publishedAt: row.publishedPublishedAt,
    failureReason: row.publishedFailureReason,
  } as StoredVersion
}
