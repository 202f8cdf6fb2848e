import { unavailable } from '../core/engine/failures.ts'
import type { ReadPage } from '../core/pages/get-page.ts'
import type { PageKey } from '../core/ports/pages.ts'
import { pollUntil } from './poll-until.ts'

/**
 * Waits until the newest version of a page is no longer `processing`, and returns the page. Reads the store, since another
 * process may publish it. Refuses `unavailable` after `timeoutMs`, and as `getPage` does.
 */
export const waitUntilPublished = async (
  getPage: (lookup: PageKey) => Promise<ReadPage>,
  lookup: PageKey,
  timeoutMs: number,
): Promise<ReadPage> => {
  const read: { page?: ReadPage } = {}
  const isProcessed = async () => {
    read.page = await getPage(lookup)
    return read.page.value.latestVersion.status !== 'processing'
  }
  if ((await pollUntil(isProcessed, timeoutMs)) && read.page) return read.page
  throw unavailable('The page is still processing. Does a publisher run?')
}
