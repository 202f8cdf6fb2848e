import { refuse } from '../../../core/engine/failures.ts'
import { networkOf } from './failed-auth-limit.ts'
import { createTokenBuckets } from './rate-limit.ts'

/** Counts a delivery that an address makes to a hook for browsers. Refuses `rate_limited`. */
export type LimitForms = (hookId: string, address: string | undefined) => void

/** At most `perMinute` deliveries of each address to each hook; null: no limit. `stopwatch`: monotonic milliseconds. */
export const limitForms = (perMinute: number | null, stopwatch: () => number): LimitForms => {
  if (perMinute === null) return () => {}
  const take = createTokenBuckets(perMinute, stopwatch)
  return (hookId, address) => {
    if (address === undefined) return
    const { isTaken, waitS } = take(`${hookId} ${networkOf(address)}`)
    if (isTaken) return
    refuse('rate_limited', 'This address has sent this form too often. Try again later.', {
      retryAfterS: waitS,
    })
  }
}
