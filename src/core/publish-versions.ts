import { oneLine } from './first-words.ts'
import type { ClaimedVersion, Clock, Namer, NamingContext, Settlement, Store } from './ports.ts'
import { isoTime } from './times.ts'

export const ATTEMPTS_MAX = 5
/** How long a version rests after its first, second, … failed attempt. */
const PAUSES_MS = [1_000, 5_000, 20_000, 60_000]

type Deps = {
  readonly store: Pick<Store, 'versions'>
  /** For what callers see. */
  readonly clock: Clock
  /** For leases and rests: one that is never set back, so that nothing that waits is held up by that. */
  readonly waitClock?: Clock
  /** Without one the name that the page was created with stays. */
  readonly namer: Namer | null
  readonly claimMax: number
  /** Longer than the namer may take. */
  readonly leaseMs: number
  /** Told of every attempt that failed, with the reason. */
  readonly onFailedAttempt?: (version: ClaimedVersion, why: unknown) => void
}

/**
 * Takes waiting versions on and publishes them, each with a name from the namer; answers how many it took, 0 where
 * nothing waits.
 *
 * The namer is called outside of any write. Where it fails the version rests and is tried again, five times at most;
 * then it is published under its built-in name. An attempt that `stop` ended does not count. A version whose attempts
 * all ended without a word, because their publishers died over it, is `failed`. Nothing is published twice: a publisher
 * that was too slow has lost its claim, and what it saves is passed over.
 */
export const publishVersions =
  ({ store, clock, waitClock = clock, namer, claimMax, leaseMs, onFailedAttempt }: Deps) =>
  async (stop: AbortSignal): Promise<number> => {
    const now = waitClock()
    const claimed = await store.versions.claim({
      now: isoTime(now),
      until: isoTime(now + leaseMs),
      max: claimMax,
    })

    const settle = async (
      version: ClaimedVersion,
      context: NamingContext | undefined,
    ): Promise<Settlement> => {
      const { pageId, versionId, attempt } = version
      const which = { pageId, versionId, attempt }
      if (attempt > ATTEMPTS_MAX)
        return { ...which, status: 'failed', reason: `None of ${ATTEMPTS_MAX} attempts came to an end.` }
      try {
        const computedName = namer && context ? nameFrom(await namer(context, stop, version)) : null
        return { ...which, status: 'published', at: isoTime(clock()), computedName }
      } catch (why) {
        if (stop.aborted)
          return { ...which, status: 'processing', claimableAt: isoTime(waitClock()), counts: false }
        onFailedAttempt?.(version, why)
        const pauseMs = PAUSES_MS[attempt - 1]
        if (pauseMs === undefined)
          return { ...which, status: 'published', at: isoTime(clock()), computedName: null }
        const claimableAt = isoTime(waitClock() + pauseMs)
        return { ...which, status: 'processing', claimableAt, counts: true }
      }
    }

    const byTenant = Map.groupBy(claimed, ({ tenantId }) => tenantId)
    const settled = await Promise.allSettled(
      [...byTenant].map(async ([tenantId, versions]) => {
        const contexts = namer === null ? [] : await store.versions.contexts(tenantId, versions)
        const settlements = versions.map((version, i) => settle(version, contexts[i]))
        await store.versions.settle(tenantId, await Promise.all(settlements))
      }),
    )
    // One tenant's failure is told once nothing is under way any more.
    for (const one of settled) if (one.status === 'rejected') throw one.reason
    return claimed.length
  }

/** What a namer answered as a name that a page can have. */
export const nameFrom = (thought: string): string => {
  const name = oneLine(thought)
  if (name === '') throw new Error('the namer answered no name')
  return name
}
