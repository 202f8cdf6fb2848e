import type { PageWithVersion } from '../../shapes/page.ts'
import { pageGroupNotFound, refuse } from '../engine/failures.ts'
import { keyOf } from '../engine/keys.ts'
import { attemptEach, type Outcome } from '../engine/outcome.ts'
import type {
  FoundPage,
  PageWant,
  StoredPage,
  StoredPageWithVersions,
  StoredVersionWithContent,
} from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'

/** A page, and its revision, which every visible change raises. */
export type ReadPage = { readonly page: PageWithVersion; readonly revision: number }

/**
 * Reads pages, many at once, each with its published version, which is null until something is published.
 * `latestVersion` shows why. Refuses, per page: `page_group_not_found`, `page_not_found`.
 */
export const getPages =
  ({ store }: Pick<Needs<'pages'>, 'store'>) =>
  async (wants: readonly PageWant[]): Promise<readonly Outcome<ReadPage>[]> =>
    attemptEach(await store.pages.find(wants), (found) => readPageOf(existingPage(found)))

/** Pages are read most often, and this takes half the time of `JSON.stringify`. */
export const keyOfPage = ({ tenantId, pageGroupId, pageId }: PageWant) => keyOf(tenantId, pageGroupId, pageId)

/** The page, by default without its content. Refuses `page_group_not_found`, `page_not_found`. */
export const loadPage = async ({ pages }: Needs<'pages'>['store'], want: PageWant, withContent = false) =>
  existingPage((await pages.find([want], withContent))[0])

const existingPage = (found: FoundPage = 'page_not_found'): StoredPageWithVersions => {
  if (found === 'page_group_not_found') return pageGroupNotFound()
  return found === 'page_not_found' ? refuse(found, 'Page not found in this group.') : found
}

export const readPageOf = (page: StoredPageWithVersions): ReadPage => ({
  page: {
    pageId: page.pageId,
    pageGroupId: page.pageGroupId,
    tenantId: page.tenantId,
    createdAt: page.createdAt,
    effectiveName: effectiveName(page),
    customName: page.customName,
    computedName: page.computedName,
    supplementaryContext: (page.published ?? page.latest).supplementaryContext,
    publishedVersion: page.published && publishedVersionOf(page.published),
    latestVersion: {
      versionId: page.latest.versionId,
      versionNumber: page.latest.versionNumber,
      status: page.latest.status,
      failureReason: page.latest.failureReason,
      publishAt: page.latest.publishAt,
    },
    unpublishAt: page.unpublishAt,
  },
  revision: page.revision,
})

const publishedVersionOf = (version: StoredVersionWithContent) => {
  const { versionId, versionNumber, publishedAt, content } = version
  if (publishedAt === null) return null
  return { versionId, versionNumber, publishedAt, ...(content && { content }) }
}

/** The custom name if it is set and not blank, else the computed name. */
export const effectiveName = ({ customName, computedName }: StoredPage): string =>
  customName === null || customName.trim() === '' ? computedName : customName
