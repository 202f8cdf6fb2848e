const MINUTE_MS = 60_000

type Bucket = { readonly left: number; readonly at: number }

/**
 * A bucket of `perMinute` for each name, filled evenly. Buckets that are full again are forgotten; of more than
 * `namesMax` in a minute all are. `stopwatch`: milliseconds that never go back.
 */
export const createBuckets = (perMinute: number, stopwatch: () => number, namesMax = 100_000) => {
  const buckets = new Map<string, Bucket>()
  const msForOne = MINUTE_MS / perMinute
  let swept = stopwatch()

  const sweep = (now: number) => {
    if (buckets.size >= namesMax) buckets.clear()
    if (now - swept < MINUTE_MS) return
    swept = now
    for (const [name, { at }] of buckets) if (now - at >= MINUTE_MS) buckets.delete(name)
  }
  const leftIn = (name: string, now: number): number => {
    const bucket = buckets.get(name)
    return bucket === undefined ? perMinute : Math.min(perMinute, bucket.left + (now - bucket.at) / msForOne)
  }
  const secondsToOne = (left: number) => Math.max(0, Math.ceil(((1 - left) * msForOne) / 1_000))

  return {
    /** Takes one where there is one. `left` and `waitS` are of the moment after. */
    take: (name: string): { isTaken: boolean; left: number; waitS: number } => {
      const now = stopwatch()
      sweep(now)
      const before = leftIn(name, now)
      const isTaken = before >= 1
      const left = isTaken ? before - 1 : before
      buckets.set(name, { left, at: now })
      return { isTaken, left, waitS: secondsToOne(left) }
    },
    /** What was taken, and is not used. */
    giveBack: (name: string): void => {
      const now = stopwatch()
      const left = leftIn(name, now) + 1
      if (left >= perMinute) buckets.delete(name)
      else buckets.set(name, { left, at: now })
    },
  }
}
