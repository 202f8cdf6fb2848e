import type { SliceQuery } from '../../shapes/slice.ts'
import { sliceOf } from '../engine/slices.ts'
import type { PageKey } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import { loadPage } from './get-page.ts'

/**
 * Lists the versions of a page without their content, newest first.
 * Refuses `page_group_not_found`, `page_not_found`, `invalid_cursor`.
 */
export const listVersions = ({ store }: Pick<Needs<'pages' | 'versions'>, 'store'>) =>
  sliceOf({
    nameOf: ({ pageId }: SliceQuery & PageKey) => `versions/${pageId}`,
    find: async (query) => {
      const versions = await store.versions.list(query)
      // None after a cursor, or no such page.
      if (versions.length === 0) await loadPage(store, query)
      return versions
    },
    positionOf: ({ versionId }) => versionId,
    itemOf: (version) => version,
  })
