import { equalShares } from '../core/engine/equal-shares.ts'
import { unavailable } from '../core/engine/failures.ts'
import { inPlace, type Waiting } from '../core/engine/waiting.ts'
import type { PageReading, ReadPage } from '../core/pages/get-page.ts'
import type { PageKey } from '../core/ports/pages.ts'
import type { Store } from '../core/ports/store.ts'
import { pollUntil } from './poll-until.ts'

type WaitingReading = PageReading & Waiting
type Deps = {
  readonly pages: Pick<Store['pages'], 'find'>
  readonly read: (page: PageReading) => Promise<ReadPage>
}

const WAITING_OF_TENANT_MAX = 100
const WAITING_MAX = 1_000

/**
 * Reads a page, and if its newest version is `processing`, waits up to `wait` seconds until that ends. While it waits it
 * polls the page without its content. Refuses `unavailable` if too many wait: a request whose share is needed for a
 * tenant with fewer of them is answered at once.
 */
export const waitForVersion = ({ pages, read }: Deps) => {
  const takeShare = equalShares(WAITING_OF_TENANT_MAX, WAITING_MAX)

  const waitUntilProcessed = async (page: PageKey, msMax: number, signal: AbortSignal | undefined) => {
    const lostShare = new AbortController()
    const releaseShare = takeShare(page.tenantId, () => lostShare.abort())
    if (releaseShare === null) throw unavailable('Too many requests wait for pages.')
    const ends = AbortSignal.any([lostShare.signal, ...(signal ? [signal] : [])])
    try {
      // A page that was deleted is no longer processing.
      const isProcessed = async () => {
        const found = await pages.find(page, false)
        return typeof found === 'string' || found.latest.status !== 'processing'
      }
      return { isNew: await pollUntil(isProcessed, msMax, ends) }
    } finally {
      releaseShare()
    }
  }

  const waitFor = async (input: WaitingReading): Promise<ReadPage> => {
    const { wait: waitS, signal, withoutSlot = inPlace, ...reading } = input
    const page = await read(reading)
    if (page.value.latestVersion.status !== 'processing') return page
    // The page may have been named by its slug, which may change.
    const byId = { ...reading, pageId: page.value.pageId }
    const { isNew } = await withoutSlot(() => waitUntilProcessed(byId, waitS * 1_000, signal))
    return isNew ? read(byId) : page
  }

  // Nothing is awaited here: nearly every read of a page comes without a wait.
  return (input: WaitingReading): Promise<ReadPage> => (input.wait ? waitFor(input) : read(input))
}
