import { unavailable } from '../../core/failures.ts'

type Limits = { readonly inFlightMax: number; readonly waitingMax: number; readonly waitMsMax: number }
export type PoolCounts = { readonly inFlight: number; readonly waiting: number }

/**
 * At most `inFlightMax` hold it at a time; up to `waitingMax` wait in order, none longer than `waitMsMax`.
 * `acquire` resolves to the function that releases, and refuses everybody else with `unavailable`.
 */
export const createSemaphore = ({ inFlightMax, waitingMax, waitMsMax }: Limits) => {
  const waiting = new Set<() => void>()
  let inFlight = 0

  /** Hands its place to the first of those waiting. */
  const release = () => {
    const [admitFirst] = waiting
    if (admitFirst === undefined) inFlight--
    else admitFirst()
  }

  return {
    acquire: async (): Promise<() => void> => {
      if (inFlight < inFlightMax) {
        inFlight++
        return release
      }
      if (waiting.size >= waitingMax) throw tooMany()
      return new Promise((resolve, reject) => {
        const admit = () => {
          clearTimeout(timer)
          waiting.delete(admit)
          resolve(release)
        }
        const timer = setTimeout(() => {
          waiting.delete(admit)
          reject(tooMany())
        }, waitMsMax)
        waiting.add(admit)
      })
    },
    counts: (): PoolCounts => ({ inFlight, waiting: waiting.size }),
  }
}

const tooMany = () => unavailable('Too many statements wait for the database.')
