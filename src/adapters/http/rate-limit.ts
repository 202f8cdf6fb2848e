import { refuse } from '../../core/failures.ts'
import type { Caller } from '../../core/identify.ts'
import { createBuckets } from './buckets.ts'

/** Counts one request of a key: whether it may go on, and what every answer to it says of the limit. */
export type RateLimit = (apiKeyId: string) => {
  readonly retryAfterS: number | null
  readonly headers: Readonly<Record<string, string>>
}

/** As many requests of each key as `perMinute` says. `stopwatch`: milliseconds that never go back. */
export const createRateLimit = (perMinute: number, stopwatch: () => number): RateLimit => {
  const buckets = createBuckets(perMinute, stopwatch)
  const policy = `"per-minute";q=${perMinute};w=60`
  return (apiKeyId) => {
    const { isTaken, left, waitS } = buckets.take(apiKeyId)
    return {
      retryAfterS: isTaken ? null : waitS,
      headers: {
        'ratelimit-policy': policy,
        ratelimit: `"per-minute";r=${Math.floor(left)};t=${waitS}`,
      },
    }
  }
}

/** Refuses `rate_limited` where the caller's key has had its share; `headers` gets what is said of the limit. */
export const limitRate = (
  rateLimit: RateLimit | null,
  { apiKeyId }: Caller,
  headers: Record<string, string>,
): void => {
  const rate = rateLimit?.(apiKeyId)
  if (rate === undefined) return
  Object.assign(headers, rate.headers)
  if (rate.retryAfterS !== null)
    refuse('rate_limited', 'This key has made as many requests as it may in a minute.', {
      retryAfterS: rate.retryAfterS,
    })
}
