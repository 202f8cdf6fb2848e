import { isoTime } from '../engine/times.ts'
import type { NewPageRow } from '../ports/pages.ts'
import type { ClaimedVersion } from '../ports/versions.ts'
import type { Clock, Recorded } from '../ports/world.ts'

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
    /** Stores pages; as many as there is room for are claimed. */
    record: async <Row extends NewPageRow>(
      pages: readonly Row[],
      record: (pages: readonly Row[]) => Promise<Recorded>,
    ): Promise<Recorded> => {
      const count = wake ? Math.max(0, Math.min(pages.length, max - saving - waiting.length)) : 0
      if (count === 0) return record(pages)
      const claimedUntil = isoTime(clock() + leaseMs)
      const mine = pages.slice(0, count).map((page) => ({ ...page, claimedUntil }))
      saving += count
      try {
        const recorded = await record([...mine, ...pages.slice(count)])
        if (recorded === 'recorded') {
          waiting.push(...mine.map(claimedVersion))
          wake?.()
        }
        return recorded
      } finally {
        saving -= count
      }
    },
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
