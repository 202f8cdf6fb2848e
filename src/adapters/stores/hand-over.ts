import { isoTime } from '../../core/engine/times.ts'
import type { NewPageRow, Pages } from '../../core/ports/pages.ts'
import type { ClaimedVersion, HandOver } from '../../core/ports/versions.ts'

/** Versions that are handed over at a time. The others wait for a claim. */
const HANDED_OVER_MAX = 1_000

/** The pages of a store, which hand their first versions over to the publisher of this process once it has registered. */
export const withHandOver = (
  pages: Pages,
  max = HANDED_OVER_MAX,
): { readonly pages: Pages; readonly handOver: HandOver } => {
  let publisher: { readonly wake: () => void; readonly leaseMs: number } | undefined
  let saving = 0
  const waiting: ClaimedVersion[] = []

  const recordClaimed = async (page: NewPageRow, leaseMs: number, events: Events) => {
    const claimedUntil = isoTime(Date.parse(page.createdAt) + leaseMs)
    saving++
    try {
      const recorded = await pages.record({ ...page, claimedUntil }, events)
      // Woken for the first, the publisher takes all.
      if (recorded === 'recorded' && waiting.push(claimedVersion(page)) === 1) publisher?.wake()
      return recorded
    } finally {
      saving--
    }
  }

  return {
    pages: {
      ...pages,
      record: (page, events) =>
        publisher === undefined || saving + waiting.length >= max
          ? pages.record(page, events)
          : recordClaimed(page, publisher.leaseMs, events),
    },
    handOver: {
      register: (wake, leaseMs) => {
        publisher = { wake, leaseMs }
      },
      unregister: () => {
        publisher = undefined
      },
      takeAll: () => waiting.splice(0),
    },
  }
}

type Events = Parameters<Pages['record']>[1]

const claimedVersion = (page: NewPageRow): ClaimedVersion => ({
  tenantId: page.tenantId,
  pageGroupId: page.pageGroupId,
  pageId: page.pageId,
  versionId: page.versionId,
  attempt: 1,
  publish: page.publish,
  publishAt: page.publishAt,
})
