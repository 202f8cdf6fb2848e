import { changePage, readPage, requireActiveGroup } from './change-page.ts'
import { refuse, versionNotFound } from './failures.ts'
import type { ReadPage } from './get-page.ts'
import type { Requester } from './ports/events.ts'
import type { PageWant } from './ports/pages.ts'
import type { Needs } from './ports/store.ts'
import type { VersionWant } from './ports/versions.ts'
import type { IfRevision } from './revisions.ts'
import type { Turns } from './turns.ts'
import { statusAfter } from './version-states.ts'

type Deps = Needs<'pages' | 'versions'> & Turns

/**
 * Publishes a version by hand. Publishing one that is older than the published one is the rollback.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`, `version_not_ready`, `page_group_not_active`,
 * `precondition_failed`.
 */
export const publishVersion =
  (deps: Deps) =>
  async ({ versionId, ...want }: VersionWant & IfRevision & Requester): Promise<ReadPage> => {
    await changePage(deps, want, async (page) => {
      const { published, tenantId, pageGroupId, pageId } = page
      requireActiveGroup(page)
      const [found] = await deps.store.versions.find([{ tenantId, pageGroupId, pageId, versionId }])
      const { status, computedName } = found ?? versionNotFound()
      if (statusAfter(status, 'publish') === null)
        refuse('version_not_ready', `The version is \`${status}\` and cannot be published.`)
      if (published?.versionId === versionId) return null
      const event = 'page_version.published'
      return { publishedVersionId: versionId, computedName, publishes: true, inActiveGroup: true, event }
    })
    return readPage(deps, want)
  }

/**
 * Withdraws what is published: readers see nothing until a version is published again.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const unpublishPage =
  (deps: Deps) =>
  async (want: PageWant & IfRevision & Requester): Promise<ReadPage> => {
    await changePage(deps, want, ({ published, latest: { computedName } }) =>
      published === null ? null : { publishedVersionId: null, computedName, event: 'page.unpublished' },
    )
    return readPage(deps, want)
  }
