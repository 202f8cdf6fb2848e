import { isoTime } from '../core/engine/times.ts'
import type { Queue, Store } from '../core/ports/store.ts'
import type { Clock } from '../core/ports/world.ts'

const IDLE_LOOK_MS = 30_000

export type QueueWatch = ReturnType<typeof watchQueues>

/**
 * Knows which queues may have work, by one statement for all of them: as often as their jobs poll while the process has
 * anything to do, and else every half minute. So a job looks into its queue only if something waits there, and the
 * database of an idle process can sleep.
 *
 * Work that this process or a signal of another one brings wakes its job directly. The looks find the rest: what other processes left
 * undone, rests that end, and schedules, which become work twice as early as an idle process looks.
 */
export const watchQueues = (store: Pick<Partial<Store>, 'waiting' | 'hasAllSignals'>, clock: Clock) => {
  const getsSignals = store.hasAllSignals !== undefined
  let isActive = true
  let lastLookMs = Number.NEGATIVE_INFINITY
  let lastLook: Promise<ReadonlySet<Queue> | 'unknown'> = Promise.resolve('unknown')

  const lookNow = async (): Promise<ReadonlySet<Queue> | 'unknown'> => {
    const nowMs = clock()
    isActive = false
    try {
      const waiting = await store.waiting?.({ now: isoTime(nowMs), until: isoTime(nowMs + 2 * IDLE_LOOK_MS) })
      if (waiting === undefined) return 'unknown'
      if (waiting.length > 0) isActive = true
      return new Set(waiting)
    } catch {
      // The jobs find out why, and report it.
      isActive = true
      return 'unknown'
    }
  }

  return {
    /** Whether work may wait in a queue, by a look that an active process took at most this long ago. */
    mayHaveWork: async (queue: Queue, ageMsMax: number): Promise<boolean> => {
      const ageMs = performance.now() - lastLookMs
      const mayRest = getsSignals && !isActive
      if (ageMs >= (mayRest ? IDLE_LOOK_MS : ageMsMax)) {
        lastLookMs = performance.now()
        lastLook = lookNow()
      }
      const waiting = await lastLook
      return waiting === 'unknown' || waiting.has(queue)
    },
    /** Call this for each request and each signal. */
    noteActivity: (): void => {
      isActive = true
    },
  }
}
