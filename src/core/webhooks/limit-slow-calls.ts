import { equalShares } from '../engine/equal-shares.ts'
import { refuse } from '../engine/failures.ts'

/** Slow calls in flight: of one tenant, and of all, in equal shares. */
const OF_TENANT_MAX = 4
const ALL_MAX = 32

type SlowCalls = 'replays' | 'tests'

/**
 * Runs slow calls, and refuses `rate_limited` while too many are in flight. The signal is aborted if another tenant needs
 * the slot of a call.
 */
export const limitSlowCalls = (what: SlowCalls) => {
  const acquire = equalShares(OF_TENANT_MAX, ALL_MAX)
  return async <Answer>(tenantId: string, work: (lost: AbortSignal) => Promise<Answer>): Promise<Answer> => {
    const lost = new AbortController()
    const release = acquire(tenantId, () => lost.abort()) ?? refuseTooMany(what)
    return work(lost.signal).finally(release)
  }
}

export const refuseTooMany = (what: SlowCalls): never =>
  refuse('rate_limited', `Too many ${what} are in flight. Try again later.`, { retryAfterS: 5 })
