import type { Publication, VersionStatus } from '../../shapes/page.ts'
import { refuse, versionNotFound } from '../engine/failures.ts'
import type { StoredPageWithVersions, StoredVersionWithContent } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { VersionKey } from '../ports/versions.ts'
import { changeAndRead, type PageDeps, type PageWrite, requireActiveGroup } from './change-page.ts'
import type { ReadPage } from './get-page.ts'
import { type Edit, publication } from './page-edits.ts'
import { type CurrentPage, futureTime, planUnpublishing, requireRoomForSchedule } from './schedules.ts'
import { statusAfter } from './version-states.ts'

export type VersionDeps = PageDeps & Needs<'versions'>
export type VersionWrite = PageWrite & VersionKey
/** A page, and the version to publish or to unschedule. */
export type KnownVersion = { readonly page: CurrentPage; readonly version: StoredVersionWithContent | null }

/**
 * Publishes a version by hand, or at `publishAt` if that is in the future. Publishing one that is older than the
 * published one is the rollback. The page is unpublished again at `unpublishAt`, and not at an earlier setting of it.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`, `version_not_ready`, `page_group_not_active`,
 * `limit_reached`, `precondition_failed`, and `invalid_request`: a time.
 */
export const publishVersion =
  (deps: VersionDeps) =>
  ({ publishAt, unpublishAt, ...key }: VersionWrite & Publication): Promise<ReadPage> =>
    changeAndRead(deps, key, recallVersion(deps, key), (known, nowMs) =>
      decidePublication({ publishAt, unpublishAt }, known, nowMs),
    )

const decidePublication = (requested: Publication, { page, version }: KnownVersion, nowMs: number): Edit => {
  requireActiveGroup(page)
  const found = version ?? versionNotFound()
  const { versionId } = found
  if (statusAfter(found.status, 'publish') === null) refuseNotReady(found.status, 'published')
  const publishAt = futureTime(requested.publishAt, nowMs, 'publishAt')
  const unpublishAt = planUnpublishing(requested.unpublishAt, nowMs, publishAt)
  if (publishAt !== null) {
    requireRoomForSchedule(page, versionId)
    if (found.publishAt === publishAt && found.unpublishAt === unpublishAt) return null
    const schedule = { versionId, publishAt, unpublishAt, scheduleNote: null }
    return { schedule, event: 'page_version.scheduled' }
  }
  const isSame = page.published?.versionId === versionId && page.unpublishAt === unpublishAt
  return isSame && found.publishAt === null
    ? skipPendingVersions(page)
    : publication(page, found, unpublishAt)
}

/** A manual change wins over pending automatic publication, even if the page already has this version. */
export const skipPendingVersions = ({ published, automaticAfter, latest }: StoredPageWithVersions): Edit => {
  const { versionId } = latest
  const isPending = published?.versionId !== versionId && automaticAfter !== versionId
  return isPending ? { automaticAfter: versionId } : null
}

export const recallVersion =
  ({ store }: VersionDeps, key: VersionKey) =>
  async (page: CurrentPage): Promise<KnownVersion> => ({ page, version: await store.versions.find(key) })

export const refuseNotReady = (status: VersionStatus, action: 'published' | 'unscheduled'): never =>
  refuse('version_not_ready', `The version is \`${status}\` and cannot be ${action}.`)
