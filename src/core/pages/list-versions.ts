import type { VersionWithContent } from '../../shapes/page.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import { versionNotFound } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { sliceOf } from '../engine/slices.ts'
import type { PageWant } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { VersionWant } from '../ports/versions.ts'
import { loadPage } from './get-page.ts'

type Deps = Pick<Needs<'pages' | 'versions'>, 'store'>

/**
 * Lists the versions of a page without their content, newest first.
 * Refuses `page_group_not_found`, `page_not_found`, `invalid_cursor`.
 */
export const listVersions = ({ store }: Deps) =>
  sliceOf({
    nameOf: ({ pageId }: SliceQuery & PageWant) => `versions/${pageId}`,
    find: async (want) => {
      const versions = await store.versions.list(want)
      // None after a cursor, or no such page.
      if (versions.length === 0) await loadPage(store, want)
      return versions
    },
    positionOf: ({ versionId }) => versionId,
    itemOf: (version) => version,
  })

/**
 * Reads a version with its content.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`.
 */
export const getVersion =
  ({ store }: Deps) =>
  async (want: VersionWant): Promise<Result<VersionWithContent>> => {
    const version = await store.versions.find(want)
    if (version !== null) return { value: version }
    await loadPage(store, want)
    return versionNotFound()
  }
