import type { FoundPage, StoredPage, StoredVersion } from '../../core/ports.ts'

type VersionColumns<Prefix extends string> = {
  readonly [Name in keyof StoredVersion as `${Prefix}${Capitalize<Name>}`]: StoredVersion[Name] | null
}
/** A page with both its versions in one row; `pageId` null where there is none. */
export type FoundRow = Omit<StoredPage, 'pageId'> & {
  readonly want: number
  readonly pageId: string | null
  readonly supplementaryContext: string | null
} & VersionColumns<'published'> &
  VersionColumns<'latest'>

export const foundPage = (row: FoundRow, pageId: string): FoundPage => ({
  tenantId: row.tenantId,
  pageGroupId: row.pageGroupId,
  pageId,
  customName: row.customName,
  computedName: row.computedName,
  supplementaryContext: row.supplementaryContext,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  published:
    row.publishedVersionId === null
      ? null
      : ({
          versionId: row.publishedVersionId,
          versionNumber: row.publishedVersionNumber,
          status: row.publishedStatus,
          publishedAt: row.publishedPublishedAt,
          failureReason: row.publishedFailureReason,
        } as StoredVersion),
  latest: {
    versionId: row.latestVersionId,
    versionNumber: row.latestVersionNumber,
    status: row.latestStatus,
    publishedAt: row.latestPublishedAt,
    failureReason: row.latestFailureReason,
  } as StoredVersion,
})
