import type { VersionWithContent } from '../../shapes/page.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import { versionNotFound } from '../engine/failures.ts'
import { asOutcome, type Outcome } from '../engine/outcome.ts'
import { slicesOf } from '../engine/slices.ts'
import type { PageWant } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { VersionWant } from '../ports/versions.ts'
import { loadPage } from './get-page.ts'

type Deps = Pick<Needs<'pages' | 'versions'>, 'store'>

/**
 * Lists the versions of pages without their content, newest first, many lists at once.
 * Refuses, per list: `page_group_not_found`, `page_not_found`, `invalid_cursor`.
 */
export const listVersions = ({ store }: Deps) =>
  slicesOf({
    nameOf: ({ pageId }: SliceQuery & PageWant) => `versions/${pageId}`,
    find: async (wants) => {
      const lists = await store.versions.list(wants)
      return Promise.all(
        wants.map((want, i) =>
          lists[i]?.length ? lists[i] : loadPage(store, want).then(() => [], asOutcome),
        ),
      )
    },
    positionOf: ({ versionId }) => versionId,
    itemOf: (version) => version,
  })

/**
 * Reads versions with their content, many at once.
 * Refuses, per version: `page_group_not_found`, `page_not_found`, `version_not_found`.
 */
export const getVersions =
  ({ store }: Deps) =>
  async (wants: readonly VersionWant[]): Promise<readonly Outcome<VersionWithContent>[]> => {
    const found = await store.versions.find(wants)
    return Promise.all(
      wants.map((want, i) => found[i] ?? loadPage(store, want).then(versionNotFound).catch(asOutcome)),
    )
  }
