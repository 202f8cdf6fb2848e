import { unavailable } from '../../core/engine/failures.ts'
import type { PoolCounts } from './open.ts'
import { callAfter } from './with-timeout.ts'

type Limits = { readonly inFlightMax: number; readonly waitingMax: number; readonly waitMsMax: number }
type Queue = { readonly key: string; inFlight: number; readonly waiting: Set<Waiter> }
type Waiter = { readonly admit: () => void; readonly refuse: () => void }

const newQueue = (key: string): Queue => ({ key, inFlight: 0, waiting: new Set() })

/**
 * At most `inFlightMax` callers hold it at a time; up to `waitingMax` wait, none longer than `waitMsMax`. Callers with
 * the same key, such as a tenant's, hold at most half of it, and keys take turns. If too many wait, the key with most
 * callers loses one. `acquire` returns the function that releases, or a promise of it, and refuses all others with
 * `unavailable`. Without keys, another tenant's small write takes 1.6 times as long beside the flood `updatePageGroup`
 * of test/faults/fair-share.fault.ts.
 */
export const createSemaphore = ({ inFlightMax, waitingMax, waitMsMax }: Limits) => {
  const queues = new Map([['', newQueue('')]])
  const perKeyMax = Math.max(1, Math.floor(inFlightMax / 2))
  let inFlight = 0
  let waiting = 0

  const hasRoom = ({ key, inFlight }: Queue): boolean => key === '' || inFlight < perKeyMax
  const admitNext = () => {
    for (const queue of queues.values()) {
      const [first] = queue.waiting
      if (first === undefined || !hasRoom(queue)) continue
      // The other keys have their turns before this key's next caller.
      queues.delete(queue.key)
      queues.set(queue.key, queue)
      return first.admit()
    }
  }
  const count = (queue: Queue, change: 1 | -1) => {
    inFlight += change
    queue.inFlight += change
    forgetIdle(queue)
  }
  /** The queue without a key is kept: most statements use it, one after the other. */
  const forgetIdle = ({ key, inFlight, waiting }: Queue) => {
    if (key !== '' && inFlight === 0 && waiting.size === 0) queues.delete(key)
  }
  const take = (queue: Queue) => {
    count(queue, 1)
    return () => {
      count(queue, -1)
      admitNext()
    }
  }
  const longestQueue = (): Queue | undefined => {
    let longest: Queue | undefined
    for (const queue of queues.values()) {
      if (queue.waiting.size > (longest?.waiting.size ?? 0)) longest = queue
    }
    return longest
  }

  return {
    acquire: (key = ''): (() => void) | Promise<() => void> => {
      const queue = queues.get(key) ?? newQueue(key)
      const isFree = inFlight < inFlightMax && hasRoom(queue)
      if (!isFree && waiting >= waitingMax) {
        const longest = longestQueue()
        if (longest === undefined || longest.waiting.size <= queue.waiting.size + 1) throw tooMany()
        const [oldest] = longest.waiting
        oldest?.refuse()
      }
      queues.set(key, queue)
      if (isFree) return take(queue)
      return new Promise((resolve, reject) => {
        const leave = () => {
          cancel()
          queue.waiting.delete(waiter)
          waiting--
        }
        const waiter: Waiter = {
          admit: () => {
            leave()
            resolve(take(queue))
          },
          refuse: () => {
            leave()
            forgetIdle(queue)
            reject(tooMany())
          },
        }
        const cancel = callAfter(waitMsMax, waiter.refuse)
        queue.waiting.add(waiter)
        waiting++
      })
    },
    counts: (): PoolCounts => ({ inFlight, waiting }),
  }
}

const tooMany = () => unavailable('Too many statements wait for the database.')
