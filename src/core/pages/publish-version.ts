import type { Publication, PublicationResult, VersionStatus } from '../../shapes/page.ts'
import { refuse, versionNotFound } from '../engine/failures.ts'
import type { Revised } from '../engine/result.ts'
import type { StoredPageWithVersions, StoredVersionWithContent } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { VersionKey } from '../ports/versions.ts'
import { changedPage, changePage, type PageDeps, type PageWrite, requireActiveGroup } from './change-page.ts'
import { type Edit, publication } from './page-edits.ts'
import { type CurrentPage, futureTime, planUnpublishing, requirePlaceForSchedule } from './schedules.ts'
import { statusAfter } from './version-states.ts'

export type VersionDeps = PageDeps & Needs<'versions'>
export type VersionWrite = PageWrite & VersionKey
/** A page, and the version to publish or to unschedule. */
export type KnownVersion = { readonly page: CurrentPage; readonly version: StoredVersionWithContent | null }

/**
 * Publishes a version by hand, or at `publishAt` if that is in the future. Publishing one that is older than the
 * published one is the rollback. The page is unpublished again at `unpublishAt`, and not at an earlier setting of it.
 * Other versions of the page stay scheduled: a publication at a time returns all that are, for they may be a plan or an
 * oversight.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`, `version_not_ready`, `page_group_not_active`,
 * `limit_reached`, `schedule_taken`, `precondition_failed`, and `invalid_request`: a time.
 */
export const publishVersion =
  (deps: VersionDeps) =>
  async ({
    publishAt,
    unpublishAt,
    ...key
  }: VersionWrite & Publication): Promise<Revised<PublicationResult>> => {
    const scheduled = await changePage(deps, key, {
      recall: recallVersion(deps, key),
      decide: (known, nowMs) => decidePublication({ publishAt, unpublishAt }, known, nowMs),
    })
    const { value: page, revision } = await changedPage(deps, key)
    return { value: scheduled === null ? page : { ...page, scheduled }, revision }
  }

type Scheduled = NonNullable<PublicationResult['scheduled']>

/** `answer`: the scheduled versions of the page from now on, if this one is. */
const decidePublication = (
  requested: Publication,
  { page, version }: KnownVersion,
  nowMs: number,
): { readonly edit: Edit; readonly answer: Scheduled | null } => {
  requireActiveGroup(page)
  const found = version ?? versionNotFound()
  const { versionId } = found
  if (statusAfter(found.status, 'publish') === null) refuseNotReady(found.status, 'published')
  const publishAt = futureTime(requested.publishAt, nowMs, 'publishAt')
  const unpublishAt = planUnpublishing(requested.unpublishAt, nowMs, publishAt)
  if (publishAt !== null) {
    requirePlaceForSchedule(page, publishAt, versionId)
    const answer = withSchedule(page, { versionId, publishAt })
    if (found.publishAt === publishAt && found.unpublishAt === unpublishAt) return { edit: null, answer }
    const schedule = { versionId, publishAt, unpublishAt, scheduleNote: null }
    return { edit: { schedule, event: 'page_version.scheduled' }, answer }
  }
  const isSame = page.published?.versionId === versionId && page.unpublishAt === unpublishAt
  const edit =
    isSame && found.publishAt === null ? skipPendingVersions(page) : publication(page, found, unpublishAt)
  return { edit, answer: null }
}

/** The scheduled versions of a page with this one, the earliest first. */
const withSchedule = ({ scheduled }: CurrentPage, added: Scheduled[number]): Scheduled => {
  const others = scheduled.filter(({ versionId }) => versionId !== added.versionId)
  return [...others.map(({ versionId, publishAt }) => ({ versionId, publishAt })), added].sort((a, b) =>
    a.publishAt < b.publishAt ? -1 : 1,
  )
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
