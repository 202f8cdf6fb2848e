import type { Publication, VersionStatus, VersionWithContent } from '../../shapes/page.ts'
import { refuse, versionNotFound } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { StoredPageWithVersions, StoredVersionWithContent } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { VersionWant } from '../ports/versions.ts'
import {
  changeAndRead,
  changePage,
  onlyPage,
  type PageDeps,
  type PageWrite,
  requireActiveGroup,
} from './change-page.ts'
import type { ReadPage } from './get-page.ts'
import {
  type CurrentPage,
  type Edit,
  publication,
  requireRoom,
  timeAhead,
  unscheduled,
  withdrawal,
  withdrawalTime,
} from './schedules.ts'
import { statusAfter } from './version-states.ts'

type Deps = PageDeps & Needs<'versions'>
type VersionWrite = PageWrite & VersionWant

/**
 * Publishes a version by hand, or at `publishAt` if that is in the future. Publishing one that is older than the
 * published one is the rollback. The page is unpublished again at `unpublishAt`, and not at an earlier setting of it.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`, `version_not_ready`, `page_group_not_active`,
 * `limit_reached`, `precondition_failed`, and `invalid_request`: a time.
 */
export const publishVersion =
  (deps: Deps) =>
  ({ publishAt, unpublishAt, ...want }: VersionWrite & Publication): Promise<ReadPage> =>
    changeAndRead(deps, want, recallVersion(deps, want), (known, nowMs) =>
      decidePublication({ publishAt, unpublishAt }, known, nowMs),
    )

const decidePublication = (wanted: Publication, { page, version }: Known, nowMs: number): Edit => {
  requireActiveGroup(page)
  const found = version ?? versionNotFound()
  const { versionId } = found
  if (statusAfter(found.status, 'publish') === null) notReady(found.status, 'published')
  const publishAt = timeAhead(wanted.publishAt, nowMs, 'publishAt')
  const unpublishAt = withdrawalTime(wanted.unpublishAt, nowMs, publishAt)
  if (publishAt !== null) {
    requireRoom(page, versionId)
    if (found.publishAt === publishAt && found.unpublishAt === unpublishAt) return null
    const schedule = { versionId, publishAt, unpublishAt, scheduleNote: null }
    return { schedule, event: 'page_version.scheduled' }
  }
  const isSame = page.published?.versionId === versionId && page.unpublishAt === unpublishAt
  return isSame && found.publishAt === null
    ? skipPendingVersions(page)
    : publication(page, found, unpublishAt)
}

/**
 * Ends the schedule of a version, if it has one, and returns the version.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`, `version_not_ready`.
 */
export const unscheduleVersion =
  (deps: Deps) =>
  async (want: VersionWrite): Promise<Result<VersionWithContent>> => {
    await changePage(deps, want, recallVersion(deps, want), ({ version }) => ({
      edit: decideUnscheduling(version),
      answer: null,
    }))
    return { value: (await deps.store.versions.find(want)) ?? versionNotFound() }
  }

const decideUnscheduling = (version: Known['version']): Edit => {
  const found = version ?? versionNotFound()
  if (statusAfter(found.status, 'unschedule') === null) notReady(found.status, 'unscheduled')
  if (found.status !== 'scheduled') return null
  return { schedule: unscheduled(found), event: 'page_version.ready' }
}

/**
 * Withdraws the published version: readers see nothing until a version is published again.
 * Refuses `page_group_not_found`, `page_not_found`, `precondition_failed`.
 */
export const unpublishPage =
  (deps: PageDeps) =>
  (want: PageWrite): Promise<ReadPage> =>
    changeAndRead(deps, want, onlyPage, ({ page }) =>
      page.published === null ? skipPendingVersions(page) : withdrawal(page),
    )

/** A manual change wins over pending automatic publication, even if the page already has this version. */
const skipPendingVersions = ({ published, automaticAfter, latest: { versionId } }: StoredPageWithVersions) =>
  [published?.versionId, automaticAfter].includes(versionId) ? null : { automaticAfter: versionId }

type Known = { readonly page: CurrentPage; readonly version: StoredVersionWithContent | null }
const recallVersion =
  ({ store }: Deps, want: VersionWant) =>
  async (page: CurrentPage): Promise<Known> => ({ page, version: await store.versions.find(want) })

const notReady = (status: VersionStatus, what: string): never =>
  refuse('version_not_ready', `The version is \`${status}\` and cannot be ${what}.`)
