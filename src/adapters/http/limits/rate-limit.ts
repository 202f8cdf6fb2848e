import { refuse } from '../../../core/engine/failures.ts'
import { MINUTE_MS } from '../../../core/engine/times.ts'
import type { Caller } from '../../../core/tenants/identify.ts'

/**
 * Counts a request of a key, or the items of its batch beyond the first. Refuses `rate_limited`, or `invalid_request` if a
 * batch is longer than the limit can ever allow; `headers` receives the state of the limit either way.
 */
export type RateLimit = (caller: Caller, headers: Record<string, string>, moreItems?: number) => void

/** At most `perMinute` requests of each key; null: no limit. `stopwatch`: monotonic milliseconds. */
export const createRateLimit = (perMinute: number | null, stopwatch: () => number): RateLimit | null => {
  if (perMinute === null) return null
  const take = createTokenBuckets(perMinute, stopwatch)
  const policy = `"per-minute";q=${perMinute};w=60`
  const tooLong = [
    { detail: `must have at most ${perMinute} items: each counts as a request`, pointer: '/items' },
  ]
  return ({ apiKeyId, tenantId }, headers, moreItems) => {
    if (moreItems !== undefined && moreItems >= perMinute)
      refuse('invalid_request', 'The batch exceeds the requests per minute of this API key.', {
        errors: tooLong,
      })
    const { isTaken, left, waitS } = take(apiKeyId ?? tenantId, moreItems ?? 1)
    headers['ratelimit-policy'] = policy
    headers['ratelimit'] = `"per-minute";r=${Math.floor(left)};t=${waitS}`
    if (isTaken) return
    const caller = apiKeyId?.startsWith('hook_') ? 'hook' : 'API key'
    refuse('rate_limited', `This ${caller} has used up its requests per minute.`, { retryAfterS: waitS })
  }
}

const NAMES_MAX = 100_000

type Bucket = { readonly left: number; readonly atMs: number }

/**
 * A bucket of `perMinute` tokens for each name, refilled evenly. Full buckets are forgotten; past `NAMES_MAX` in a minute
 * all are. `stopwatch`: monotonic milliseconds.
 */
export const createTokenBuckets = (perMinute: number, stopwatch: () => number) => {
  const buckets = new Map<string, Bucket>()
  const msPerToken = MINUTE_MS / perMinute
  let sweptMs = stopwatch()

  const sweep = (nowMs: number) => {
    if (buckets.size >= NAMES_MAX) buckets.clear()
    if (nowMs - sweptMs < MINUTE_MS) return
    sweptMs = nowMs
    for (const [name, { atMs }] of buckets) if (nowMs - atMs >= MINUTE_MS) buckets.delete(name)
  }

  /**
   * Takes one or more tokens if the bucket has them. `left` is the number after that, `waitS` the time until the bucket
   * has one again, or as many as were asked for; no longer than it takes to fill the bucket.
   */
  return (name: string, count = 1) => {
    const nowMs = stopwatch()
    sweep(nowMs)
    const bucket = buckets.get(name)
    const before =
      bucket === undefined ? perMinute : Math.min(perMinute, bucket.left + (nowMs - bucket.atMs) / msPerToken)
    const isTaken = before >= count
    const left = isTaken ? before - count : before
    buckets.set(name, { left, atMs: nowMs })
    const nextCount = isTaken ? 1 : Math.min(count, perMinute)
    return { isTaken, left, waitS: Math.max(0, Math.ceil(((nextCount - left) * msPerToken) / 1_000)) }
  }
}
