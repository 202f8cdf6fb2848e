import type { PageWithVersion } from '../shapes/page.ts'
import { pageGroupNotFound, refuse } from './failures.ts'
import { effectiveName } from './list-pages.ts'
import { attemptEach, type Outcome } from './outcome.ts'
import type { FoundPage, PageWant, StoredVersion } from './ports/pages.ts'
import type { Needs } from './ports/store.ts'

/**
 * Reads pages, many at once, each with its published version, which is null until something is published.
 * `latestVersion` shows why. Refuses, per page: `page_group_not_found`, `page_not_found`.
 */
export const getPages =
  ({ store }: Pick<Needs<'pages'>, 'store'>) =>
  async (wants: readonly PageWant[]): Promise<readonly Outcome<PageWithVersion>[]> =>
    attemptEach(await store.pages.find(wants), pageWithVersionOf)

const pageWithVersionOf = (page: FoundPage): PageWithVersion => {
  if (page === 'page_group_not_found') return pageGroupNotFound()
  if (page === 'page_not_found') return refuse('page_not_found', 'Page not found in this group.')
  return {
    pageId: page.pageId,
    pageGroupId: page.pageGroupId,
    tenantId: page.tenantId,
    createdAt: page.createdAt,
    effectiveName: effectiveName(page),
    customName: page.customName,
    computedName: page.computedName,
    supplementaryContext: page.supplementaryContext,
    publishedVersion: page.published && publishedVersionOf(page.published),
    latestVersion: {
      versionId: page.latest.versionId,
      versionNumber: page.latest.versionNumber,
      status: page.latest.status,
      failureReason: page.latest.failureReason,
    },
  }
}

const publishedVersionOf = ({ versionId, versionNumber, publishedAt }: StoredVersion) =>
  publishedAt === null ? null : { versionId, versionNumber, publishedAt }
