import type { VersionWithContent } from '../../shapes/page.ts'
import { versionNotFound } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { Needs } from '../ports/store.ts'
import type { VersionKey } from '../ports/versions.ts'
import { loadPage } from './get-page.ts'

/**
 * Reads a version with its content.
 * Refuses `page_group_not_found`, `page_not_found`, `version_not_found`.
 */
export const getVersion =
  ({ store }: Pick<Needs<'pages' | 'versions'>, 'store'>) =>
  async (key: VersionKey): Promise<Result<VersionWithContent>> => {
    const version = await store.versions.find(key)
    if (version !== null) return { value: version }
    await loadPage(store, key)
    return versionNotFound()
  }
