import { isoTime } from '../core/engine/times.ts'
import type { NewPageRow, Pages } from '../core/ports/pages.ts'
import type { ClaimedVersion } from '../core/ports/versions.ts'
import type { Clock } from '../core/ports/world.ts'

type Settings = {
  readonly clock: Clock
  /** Versions that are handed over at a time. */
  readonly max: number
  /** How long they are the publisher's. */
  readonly leaseMs: number
}

/**
 * Hands new versions to the publisher of the same process: they are stored as claimed by it, which saves the
 * claim. If the process ends before they are published, another publisher claims them after the lease.
 */
export const createHandOver = ({ clock, max, leaseMs }: Settings) => {
  let wake: (() => void) | undefined
  let saving = 0
  const waiting: ClaimedVersion[] = []
  return {
    /** From now on the publisher takes versions, and is woken for them; without a function it takes no more. */
    accept: (wakeUp?: () => void): void => {
      wake = wakeUp
    },
    take: (): readonly ClaimedVersion[] => waiting.splice(0),
    /** Pages whose new versions are handed over, as many as there is room for. */
    over: (pages: Pages): Pages => ({
      ...pages,
      record: async (page, events) => {
        if (wake === undefined || saving + waiting.length >= max) return pages.record(page, events)
        const claimedUntil = isoTime(clock() + leaseMs)
        saving++
        try {
          const recorded = await pages.record({ ...page, claimedUntil }, events)
          // Woken for the first, the publisher takes all.
          if (recorded === 'recorded' && waiting.push(claimedVersion(page)) === 1) wake?.()
          return recorded
        } finally {
          saving--
        }
      },
    }),
  }
}

const claimedVersion = (page: NewPageRow): ClaimedVersion => ({
  tenantId: page.tenantId,
  pageGroupId: page.pageGroupId,
  pageId: page.pageId,
  versionId: page.versionId,
  attempt: 1,
  publish: page.publish,
  publishAt: page.publishAt,
})

export type HandOver = ReturnType<typeof createHandOver>
