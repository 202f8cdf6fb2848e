import type { VersionWithContent } from '../../shapes/page.ts'
import { versionNotFound } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { changePage } from './change-page.ts'
import { type Edit, unscheduled } from './page-edits.ts'
import {
  type KnownVersion,
  recallVersion,
  refuseNotReady,
  type VersionDeps,
  type VersionWrite,
} from './publish-version.ts'
import { statusAfter } from './version-states.ts'

/**
 * Ends the schedule of a version, if it has one, and returns the version.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`, `version_not_ready`.
 */
export const unscheduleVersion =
  (deps: VersionDeps) =>
  async (key: VersionWrite): Promise<Result<VersionWithContent>> => {
    await changePage(deps, key, {
      recall: recallVersion(deps, key),
      decide: ({ version }) => ({ edit: decideUnscheduling(version), answer: null }),
    })
    return { value: (await deps.store.versions.find(key)) ?? versionNotFound() }
  }

const decideUnscheduling = (version: KnownVersion['version']): Edit => {
  const found = version ?? versionNotFound()
  if (statusAfter(found.status, 'unschedule') === null) refuseNotReady(found.status, 'unscheduled')
  if (found.status !== 'scheduled') return null
  return { schedule: unscheduled(found), event: 'page_version.ready' }
}
