import type { PageWithVersion } from '../shapes/page.ts'
import { refuse } from './failures.ts'
import { effectiveName, pageGroupNotFound } from './pages.ts'
import type { FoundPage, PageWant, StoredVersion } from './ports.ts'

type Deps = { readonly find: (want: PageWant) => Promise<FoundPage> }

/**
 * Reads one page with its published version, which is null until something is published (specification 4.4).
 * `latestVersion` tells why. Refuses `page_group_not_found` and `page_not_found`.
 */
export const getPage =
  ({ find }: Deps) =>
  async (want: PageWant): Promise<PageWithVersion> => {
    const page = await find(want)
    if (page === 'page_group_not_found') return pageGroupNotFound()
    if (page === 'page_not_found')
      return refuse('page_not_found', 'There is no page with this id in the group.')
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
