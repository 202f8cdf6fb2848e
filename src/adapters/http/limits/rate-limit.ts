import { refuse } from '../../../core/failures.ts'
import type { Caller } from '../../../core/identify.ts'
import { createTokenBuckets } from './token-bucket.ts'

/** Counts a request of a key. Refuses `rate_limited`; `headers` receives the state of the limit either way. */
export type RateLimit = (caller: Caller, headers: Record<string, string>) => void

/** At most `perMinute` requests of each key, or no limit. `stopwatch`: monotonic milliseconds. */
export const createRateLimit = (perMinute: number | null, stopwatch: () => number): RateLimit => {
  if (perMinute === null) return () => {}
  const take = createTokenBuckets(perMinute, stopwatch)
  const policy = `"per-minute";q=${perMinute};w=60`
  return ({ apiKeyId }, headers) => {
    const { isTaken, left, waitS } = take(apiKeyId)
    headers['ratelimit-policy'] = policy
    headers['ratelimit'] = `"per-minute";r=${Math.floor(left)};t=${waitS}`
    if (!isTaken)
      refuse('rate_limited', 'This API key has used up its requests per minute.', { retryAfterS: waitS })
  }
}
