import { setTimeout as pause } from 'node:timers/promises'
import { unavailable } from '../core/engine/failures.ts'
import type { ReadPage } from '../core/pages/get-page.ts'
import type { PageKey } from '../core/ports/pages.ts'

/** The pauses between two reads double from the first to the last. */
const PAUSE_MS = { first: 10, last: 500 }

/**
 * Waits until the newest version of a page is no longer `processing`, and returns the page. Reads the store, since another
 * process may publish it. Refuses `unavailable` after `timeoutMs`, and as `getPage` does.
 */
export const waitUntilPublished = async (
  getPage: (lookup: PageKey) => Promise<ReadPage>,
  lookup: PageKey,
  timeoutMs: number,
): Promise<ReadPage> => {
  const endMs = performance.now() + timeoutMs
  let pauseMs = PAUSE_MS.first
  for (;;) {
    const page = await getPage(lookup)
    if (page.value.latestVersion.status !== 'processing') return page
    const leftMs = endMs - performance.now()
    if (leftMs <= 0) throw unavailable('The page is still processing. Does a publisher run?')
    await pause(Math.min(pauseMs, leftMs))
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.last)
  }
}
