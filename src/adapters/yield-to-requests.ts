// In Bun the global `performance` lacks `eventLoopUtilization`.
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'

/** A process that is busy for more than this fraction of a rest has requests or much other work to do. */
const BUSY = 0.8
const TIMES_AS_LONG = 4
const LONGER_MS_MAX = 250

/** Rests after background work that took this long. In a busy process the rest is longer, so that requests go first. */
export const yieldToRequests = async (tookMs: number, restMs: number, stop: AbortSignal): Promise<void> => {
  const before = performance.eventLoopUtilization()
  const rest = (ms: number) => pause(ms, undefined, { signal: stop }).catch(() => {})
  await rest(restMs)
  if (performance.eventLoopUtilization(before).utilization > BUSY)
    await rest(Math.min(TIMES_AS_LONG * tookMs, LONGER_MS_MAX))
}
