import { refuse } from '../../core/failures.ts'
import type { Caller } from '../../core/identify.ts'

/** Counts one request of a key: whether it may go on, and what every answer to it says of the limit. */
export type RateLimit = (apiKeyId: string) => {
  readonly retryAfterS: number | null
  readonly headers: Readonly<Record<string, string>>
}
type Bucket = { left: number; at: number }

const MINUTE_MS = 60_000

/**
 * A bucket of `perMinute` requests for each key, filled evenly. Buckets that are full again are forgotten.
 * `stopwatch`: milliseconds that never go back.
 */
export const createRateLimit = (perMinute: number, stopwatch: () => number): RateLimit => {
  const buckets = new Map<string, Bucket>()
  const msPerRequest = MINUTE_MS / perMinute
  const policy = `"per-minute";q=${perMinute};w=60`
  let swept = stopwatch()

  const sweep = (now: number) => {
    if (now - swept < MINUTE_MS) return
    swept = now
    for (const [apiKeyId, { at }] of buckets) if (now - at >= MINUTE_MS) buckets.delete(apiKeyId)
  }

  return (apiKeyId) => {
    const now = stopwatch()
    sweep(now)
    const bucket = buckets.get(apiKeyId) ?? { left: perMinute, at: now }
    const left = Math.min(perMinute, bucket.left + (now - bucket.at) / msPerRequest)
    const allowed = left >= 1
    const rest = allowed ? left - 1 : left
    buckets.set(apiKeyId, { left: rest, at: now })
    const nextS = Math.max(0, Math.ceil(((1 - rest) * msPerRequest) / 1_000))
    return {
      retryAfterS: allowed ? null : nextS,
      headers: {
        'ratelimit-policy': policy,
        ratelimit: `"per-minute";r=${Math.floor(rest)};t=${nextS}`,
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
