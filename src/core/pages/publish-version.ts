import { refuse, versionNotFound } from '../engine/failures.ts'
import type { StoredPageWithVersions } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { VersionWant } from '../ports/versions.ts'
import { changeAndRead, type PageDeps, type PageWrite, requireActiveGroup } from './change-page.ts'
import type { ReadPage } from './get-page.ts'
import { statusAfter } from './version-states.ts'

/**
 * Publishes a version by hand. Publishing one that is older than the published one is the rollback.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`, `version_not_ready`, `page_group_not_active`,
 * `precondition_failed`.
 */
export const publishVersion =
  (deps: PageDeps & Needs<'versions'>) =>
  (want: PageWrite & VersionWant): Promise<ReadPage> =>
    changeAndRead(deps, want, async (page) => {
      requireActiveGroup(page)
      const { versionId } = want
      const [found] = await deps.store.versions.find([want])
      const { status, computedName } = found ?? versionNotFound()
      if (statusAfter(status, 'publish') === null)
        refuse('version_not_ready', `The version is \`${status}\` and cannot be published.`)
      if (page.published?.versionId === versionId) return holdBack(page)
      const automaticAfter = page.latest.versionId
      const event = 'page_version.published'
      return { publishedVersionId: versionId, automaticAfter, computedName, publishes: true, event }
    })

/**
 * Withdraws what is published: readers see nothing until a version is published again.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const unpublishPage =
  (deps: PageDeps) =>
  (want: PageWrite): Promise<ReadPage> =>
    changeAndRead(deps, want, (page) => {
      if (page.published === null) return holdBack(page)
      const { versionId: automaticAfter, computedName } = page.latest
      return { publishedVersionId: null, automaticAfter, computedName, event: 'page.unpublished' }
    })

/** A hand beats the publisher: even if the pointer is right already, what was requested before must not move it later. */
const holdBack = ({ published, automaticAfter, latest: { versionId } }: StoredPageWithVersions) =>
  [published?.versionId, automaticAfter].includes(versionId) ? null : { automaticAfter: versionId }
