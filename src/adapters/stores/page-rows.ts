import { numberedName } from '../../core/pages/first-words.ts'
import { shownStatus } from '../../core/pages/version-states.ts'
import type {
  ListedPage,
  NewPageRow,
  NewVersionRow,
  PageChange,
  PageKey,
  PublishedPageRow,
  Schedule,
  StoredPage,
  StoredVersion,
} from '../../core/ports/pages.ts'
import type { Settlement } from '../../core/ports/versions.ts'
import { columnsOf } from './columns.ts'
import { COLUMNS, without } from './rows.ts'

// Rows of pages and their versions, as the stores write and read them.

export const NEW_PAGE_COLUMNS = without(
  COLUMNS.pages,
  'published_version_id',
  'published_at',
  'automatic_after',
  'unpublish_at',
)
export const newPageRow = <PageNumber extends number | null>(
  { content, supplementaryContext, claimedUntil, groupTitle, ...page }: NewPageRow,
  pageNumber: PageNumber,
) => ({ ...page, pageNumber, latestVersionId: page.versionId, revision: 1 })

/** The computed name of a new page that has this number in its group. */
export const nameWithNumber = ({ computedName, groupTitle }: NewPageRow, pageNumber: number): string =>
  groupTitle === null ? computedName : numberedName(computedName, pageNumber)

/** Columns of a new version; the others are set when it is done. */
export const NEW_VERSION_COLUMNS = without(
  COLUMNS.page_versions,
  'published_at',
  'failure_reason',
  'unpublish_at',
  'schedule_note',
)
export const newVersionRow = (page: PageKey, version: NewVersionRow) => ({
  ...version,
  tenantId: page.tenantId,
  pageGroupId: page.pageGroupId,
  pageId: page.pageId,
  status: 'processing' as const,
  attempts: 0,
  claimableAt: version.createdAt,
})
/** The first version of a new page. The idempotency key is kept with the page. */
export const firstVersionRow = (page: NewPageRow) => {
  const row = newVersionRow(page, { ...page, idempotencyKey: null, requestHash: null })
  return page.claimedUntil === undefined ? row : { ...row, attempts: 1, claimableAt: page.claimedUntil }
}
/** Whether a publisher or the scheduler has to be woken for a new page. */
export const newPageNeedsWork = ({ claimedUntil, publishAt }: NewPageRow): boolean =>
  claimedUntil === undefined || publishAt !== null
/** Whether a publisher or the scheduler has to be woken for a change of a page. */
export const changeNeedsWork = ({ added, schedule, unpublishAt }: PageChange): boolean =>
  added !== null || (schedule !== null && schedule.publishAt !== null) || unpublishAt !== null

export const storedPage = (row: StoredPage): StoredPage => {
  const { tenantId, pageGroupId, pageId, slug, customName, computedName, createdAt, updatedAt } = row
  return { tenantId, pageGroupId, pageId, slug, customName, computedName, createdAt, updatedAt }
}

/** A page as the list of a group shows it. */
export const listedPage = (row: ListedPage): ListedPage => {
  const { tenantId, pageGroupId, pageId, slug, customName, computedName, createdAt, updatedAt, publishedAt } =
    row
  return { tenantId, pageGroupId, pageId, slug, customName, computedName, createdAt, updatedAt, publishedAt }
}

/** A page that readers see, as it is read with its group and its version. */
export type PublishedRow = Omit<PublishedPageRow, 'content'> & { readonly content: string | null }
export const publishedPage = (row: PublishedRow): PublishedPageRow => ({
  tenantId: row.tenantId,
  pageGroupId: row.pageGroupId,
  pageId: row.pageId,
  slug: row.slug,
  customName: row.customName,
  computedName: row.computedName,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  publishedAt: row.publishedAt,
  groupStatus: row.groupStatus,
  versionId: row.versionId,
  versionNumber: row.versionNumber,
  content: row.content === null ? null : { rawJson: row.content },
})

/** Columns of a version that lists show. */
export const SHOWN_VERSION = columnsOf(`version_id, version_number int, status, failure_reason,
  supplementary_context, computed_name, created_at timestamptz, published_at timestamptz, publish_at timestamptz,
  unpublish_at timestamptz, schedule_note`)
export type ShownVersion = StoredVersion & Pick<Schedule, 'scheduleNote'>
export const storedVersion = (row: ShownVersion): StoredVersion => ({
  versionId: row.versionId,
  versionNumber: row.versionNumber,
  status: shownStatus(row.status, row.publishAt),
  failureReason: row.failureReason ?? row.scheduleNote,
  supplementaryContext: row.supplementaryContext,
  computedName: row.computedName,
  createdAt: row.createdAt,
  publishedAt: row.publishedAt,
  publishAt: row.publishAt,
  unpublishAt: row.unpublishAt,
})

export type VersionRow = ShownVersion & { readonly content: string | null }
export const versionWithContent = (row: VersionRow) => ({
  ...storedVersion(row),
  content: row.content ? { rawJson: row.content } : null,
})

/** The columns that a settlement changes. `uncounted` is the number of attempts to take back. */
export const settledRow = (tenantId: string, settlement: Settlement) => ({
  ...settlement,
  tenantId,
  finishedAt: 'at' in settlement ? settlement.at : null,
  publishedAt: settlement.status === 'published' ? settlement.at : null,
  computedName: 'computedName' in settlement ? settlement.computedName : null,
  failureReason: settlement.status === 'failed' ? settlement.reason : null,
  claimableAt: settlement.status === 'processing' ? settlement.claimableAt : null,
  uncounted: settlement.status === 'processing' && !settlement.counts ? 1 : 0,
})
