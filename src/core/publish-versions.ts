import { oneLine } from './first-words.ts'
import type { Store } from './ports/store.ts'
import type { ClaimedVersion, Namer, Settlement } from './ports/versions.ts'
import type { Clock } from './ports/world.ts'
import { isoTime } from './times.ts'

export const ATTEMPTS_MAX = 5
/** How long a version rests after its first, second, … failed attempt. */
const RESTS_MS = [1_000, 5_000, 20_000, 60_000]
/**
 * How far the clocks of two servers may differ. A version that would wait longer than a lease and this got its time
 * from a clock that was ahead: it is claimed at once, so that no version waits for a clock to catch up.
 */
const CLOCK_AHEAD_MS_MAX = 5 * 60_000

type Deps = {
  readonly store: Pick<Store, 'versions'>
  readonly clock: Clock
  /** Without one the name that the page was created with stays. */
  readonly namer: Namer | null
  /** Versions in progress at a time. */
  readonly claimMax: number
  /** Longer than the namer may take. */
  readonly leaseMs: number
  /** Gets every attempt that failed, with the reason. */
  readonly onFailedAttempt?: (version: ClaimedVersion, why: unknown) => void
}

/**
 * Claims waiting versions and publishes them, each with a name from the namer.
 *
 * Each call is one step: it claims as many versions as there is room for, waits until an attempt ends or `woken`
 * resolves, and saves what has ended. It answers false once nothing waits and nothing is in progress. Tenants take
 * turns: each claim starts with the tenant after the last one served.
 *
 * The namer is called outside of any write. If it fails the version rests and is tried again, five times at most; then
 * it is published under its built-in name. An attempt that `stop` ended does not count, and after `stop` nothing more
 * is claimed. A version whose attempts all ended without a result, because their publishers died, is `failed`. Nothing
 * is published twice: a publisher that was too slow has lost its claim, and what it saves is ignored.
 */
export const publishVersions = ({ store, clock, namer, claimMax, leaseMs, onFailedAttempt }: Deps) => {
  const inProgress = new Set<Promise<void>>()
  const ended: { readonly tenantId: string; readonly settlement: Settlement }[] = []
  /** Of the store or of a hook; thrown once the others have been saved. */
  const errors: unknown[] = []
  const keepError = (error: unknown) => void errors.push(error)
  let lastTenantId = ''

  const claim = async (): Promise<readonly ClaimedVersion[]> => {
    const max = claimMax - inProgress.size
    if (max === 0) return []
    const now = clock()
    const want = {
      now: isoTime(now),
      until: isoTime(now + leaseMs),
      horizon: isoTime(now + leaseMs + CLOCK_AHEAD_MS_MAX),
      max,
    }
    let claimed = await store.versions.claim({ ...want, afterTenantId: lastTenantId })
    if (claimed.length === 0 && lastTenantId !== '')
      claimed = await store.versions.claim({ ...want, afterTenantId: '' })
    lastTenantId = claimed.reduce((last, { tenantId }) => (tenantId > last ? tenantId : last), '')
    return claimed
  }

  const attemptAt = async (version: ClaimedVersion, stop: AbortSignal): Promise<Settlement> => {
    const { pageId, versionId, attempt } = version
    const which = { pageId, versionId, attempt }
    const publishedAs = (computedName: string | null): Settlement => ({
      ...which,
      status: 'published',
      at: isoTime(clock()),
      computedName,
    })
    if (attempt > ATTEMPTS_MAX)
      return { ...which, status: 'failed', reason: `None of ${ATTEMPTS_MAX} attempts came to an end.` }
    if (namer === null) return publishedAs(null)
    try {
      const context = await store.versions.context(version)
      if (context === null) throw new Error(`${pageId} is missing`)
      return publishedAs(nameFrom(await namer(context, stop)))
    } catch (why) {
      if (stop.aborted)
        return { ...which, status: 'processing', claimableAt: isoTime(clock()), counts: false }
      onFailedAttempt?.(version, why)
      const restMs = RESTS_MS[attempt - 1]
      if (restMs === undefined) return publishedAs(null)
      return { ...which, status: 'processing', claimableAt: isoTime(clock() + restMs), counts: true }
    }
  }

  const start = (version: ClaimedVersion, stop: AbortSignal): void => {
    const attempt = attemptAt(version, stop)
      .then((settlement) => void ended.push({ tenantId: version.tenantId, settlement }))
      .catch(keepError)
      .finally(() => inProgress.delete(attempt))
    inProgress.add(attempt)
  }

  const settleEnded = async (): Promise<void> => {
    const byTenant = Map.groupBy(ended.splice(0), ({ tenantId }) => tenantId)
    const saves = [...byTenant].map(([tenantId, those]) => {
      const settlements = those.map(({ settlement }) => settlement)
      return store.versions.settle(tenantId, settlements).catch(keepError)
    })
    await Promise.all(saves)
  }

  return async (stop: AbortSignal, woken?: Promise<void>): Promise<boolean> => {
    if (!stop.aborted) for (const version of await claim()) start(version, stop)
    if (inProgress.size + ended.length === 0) return false
    if (ended.length === 0) await Promise.race(woken ? [...inProgress, woken] : inProgress)
    await settleEnded()
    if (errors.length > 0) throw errors.splice(0)[0]
    return true
  }
}

/** What a namer answered, as a name that a page can have. */
export const nameFrom = (answer: string): string => {
  const name = oneLine(answer)
  if (name === '') throw new Error('the namer answered no name')
  return name
}
