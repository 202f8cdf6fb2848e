import type { ForReaders } from '../../shapes/input.ts'
import type { PageWithVersion } from '../../shapes/page.ts'
import { pageGroupNotFound, refuse } from '../engine/failures.ts'
import type { Revised } from '../engine/result.ts'
import type {
  FoundPage,
  PageKey,
  StoredPage,
  StoredPageWithVersions,
  StoredVersionWithContent,
} from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import { isNamedBySlug, pageNamedBySlug } from './slugs.ts'

/** A page with its published version, and its revision. */
export type ReadPage = Revised<PageWithVersion>

/** A page to read, by its id or as `slug:` and its slug. */
export type PageReading = PageKey & ForReaders

/**
 * Reads a page, by its id or as `slug:` and its slug, with its published version, which is null until something is
 * published. `latestVersion` shows why. `publishedOnly`: a page without a published version is missing, as are those
 * of a group that is not active.
 * Refuses `page_group_not_found`, `page_not_found`.
 */
export const getPage =
  ({ store }: Pick<Needs<'pages'>, 'store'>) =>
  async (key: PageReading): Promise<ReadPage> => {
    const byId = isNamedBySlug(key) ? await pageNamedBySlug(store, key) : key
    const page = existingPage(await store.pages.find(byId))
    return key.publishedOnly ? readersPageOf(page) : readPageOf(page)
  }

/** The page, by default without its content. Refuses `page_group_not_found`, `page_not_found`. */
export const loadPage = async ({ pages }: Needs<'pages'>['store'], key: PageKey, withContent = false) =>
  existingPage(await pages.find(key, withContent))

const existingPage = (found: FoundPage): StoredPageWithVersions => {
  if (found === 'page_group_not_found') return pageGroupNotFound()
  return found === 'page_not_found' ? pageNotFound() : found
}
const pageNotFound = () => refuse('page_not_found', 'Page not found in this group.')

export const readPageOf = (page: StoredPageWithVersions): ReadPage => ({
  value: {
    pageId: page.pageId,
    pageGroupId: page.pageGroupId,
    tenantId: page.tenantId,
    createdAt: page.createdAt,
    effectiveName: effectiveName(page),
    customName: page.customName,
    computedName: page.computedName,
    slug: page.slug,
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

/**
 * What readers see of a page: nothing of it depends on versions that are not published, or on schedules. A computed name
 * may quote the context, so a custom name takes its place.
 */
const readersPageOf = (page: StoredPageWithVersions): ReadPage => {
  if (page.groupStatus !== 'active') return pageGroupNotFound()
  const published = page.published ?? pageNotFound()
  return {
    value: {
      pageId: page.pageId,
      pageGroupId: page.pageGroupId,
      tenantId: page.tenantId,
      createdAt: page.createdAt,
      effectiveName: effectiveName(page),
      customName: page.customName,
      computedName: effectiveName(page),
      slug: page.slug,
      supplementaryContext: null,
      publishedVersion: publishedVersionOf(published),
      latestVersion: {
        versionId: published.versionId,
        versionNumber: published.versionNumber,
        status: 'published',
        failureReason: null,
        publishAt: null,
      },
      unpublishAt: null,
    },
    revision: page.revision,
  }
}

const publishedVersionOf = (version: StoredVersionWithContent) => {
  const { versionId, versionNumber, publishedAt, content } = version
  if (publishedAt === null) return null
  return { versionId, versionNumber, publishedAt, ...(content && { content }) }
}

/** The custom name if it is set and not blank, else the computed name. */
export const effectiveName = ({ customName, computedName }: StoredPage): string =>
  customName === null || customName.trim() === '' ? computedName : customName
