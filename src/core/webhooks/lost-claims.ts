import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { ClaimedEndpoint } from '../ports/webhooks.ts'

/** How often a claim is given back until that succeeds. */
const GIVE_BACK_MS = 1_000

/**
 * Claims of endpoints whose results the store could not save. They are given back once the store responds, so that no
 * endpoint waits for the end of its lease. Those results are lost, and their deliveries are sent again.
 */
export const lostClaims = (
  { store: { webhooks }, clock }: Omit<Needs<'webhooks'>, 'newId'>,
  leaseMs: number,
) => {
  const lost = new Map<ClaimedEndpoint, { readonly retryAt: number; readonly until: number }>()
  const add = (endpoint: ClaimedEndpoint, until = clock() + leaseMs): void => {
    lost.set(endpoint, { retryAt: clock() + GIVE_BACK_MS, until })
  }
  return {
    add: (endpoint: ClaimedEndpoint) => add(endpoint),
    /** Gives back the claims that are due. If the store still fails, it tries them again later. */
    giveBack: (): Promise<unknown>[] => {
      const now = clock()
      const due = [...lost].filter(([, { retryAt }]) => retryAt <= now)
      for (const [endpoint] of due) lost.delete(endpoint)
      return due
        .filter(([, { until }]) => now < until)
        .map(([endpoint, { until }]) => {
          const { failures, failingSince, lastError } = endpoint
          const state = { failures, failingSince, lastError, claimableAt: isoTime(now), readAt: isoTime(now) }
          return webhooks.settle(endpoint, [], state).catch(() => add(endpoint, until))
        })
    },
  }
}
