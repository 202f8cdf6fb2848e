import { DomainFailure } from '../../core/failures.ts'

type Limits = { readonly underWayMax: number; readonly waitingMax: number; readonly waitMsMax: number }
export type PoolCounts = { readonly underWay: number; readonly waiting: number }
type Waiting = { readonly enter: () => void; readonly timer: NodeJS.Timeout }

/**
 * Lets at most `underWayMax` through at a time; up to `waitingMax` wait in order, none longer than `waitMsMax`.
 * The rest is refused with `unavailable` at once. Answers the function that leaves again. `counts` tells how full it is.
 */
export const gate = ({ underWayMax, waitingMax, waitMsMax }: Limits) => {
  const waiting = new Set<Waiting>()
  let underWay = 0

  const leave = () => {
    underWay--
    for (const first of waiting) {
      waiting.delete(first)
      clearTimeout(first.timer)
      first.enter()
      break
    }
  }
  const enterNow = () => {
    underWay++
    return leave
  }
  const wait = (): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const one: Waiting = {
        enter: () => resolve(enterNow()),
        timer: setTimeout(() => {
          waiting.delete(one)
          reject(tooMany())
        }, waitMsMax),
      }
      waiting.add(one)
    })

  const enter = async (): Promise<() => void> => {
    if (underWay < underWayMax) return enterNow()
    if (waiting.size >= waitingMax) throw tooMany()
    return wait()
  }
  return Object.assign(enter, { counts: (): PoolCounts => ({ underWay, waiting: waiting.size }) })
}

const tooMany = () =>
  new DomainFailure('unavailable', 'Too many statements wait for the database.', { retryAfterS: 1 })
