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

/**
 * Reads a page, by its id or as `slug:` and its slug, with its published version, which is null until something is
 * published. `latestVersion` shows why.
 * Refuses `page_group_not_found`, `page_not_found`.
 */
export const getPage =
  ({ store }: Pick<Needs<'pages'>, 'store'>) =>
  async (key: PageKey): Promise<ReadPage> => {
    const byId = isNamedBySlug(key) ? await pageNamedBySlug(store, key) : key
    const found = await store.pages.find(byId)
    return readPageOf(existingPage(found))
  }

/** The page, by default without its content. Refuses `page_group_not_found`, `page_not_found`. */
export const loadPage = async ({ pages }: Needs<'pages'>['store'], key: PageKey, withContent = false) =>
  existingPage(await pages.find(key, withContent))

const existingPage = (found: FoundPage): StoredPageWithVersions => {
  if (found === 'page_group_not_found') return pageGroupNotFound()
  return found === 'page_not_found' ? refuse(found, 'Page not found in this group.') : found
}

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

const publishedVersionOf = (version: StoredVersionWithContent) => {
  const { versionId, versionNumber, publishedAt, content } = version
  if (publishedAt === null) return null
  return { versionId, versionNumber, publishedAt, ...(content && { content }) }
}

/** The custom name if it is set and not blank, else the computed name. */
export const effectiveName = ({ customName, computedName }: StoredPage): string =>
  customName === null || customName.trim() === '' ? computedName : customName
