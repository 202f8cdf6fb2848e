import { withTimeout } from '../adapters/postgres/with-timeout.ts'
import { isUnavailable } from '../core/engine/failures.ts'
import { obstacleOf } from '../core/engine/obstacles.ts'

/** A load balancer waits for the answer. */
const LOOK_MS_MAX = 1_000
const FAILED_LOOKS_MAX = 3

/**
 * Whether a process on a cluster is ready. A busy node now and then takes longer than a look may, and all processes would
 * lose their load at once: so a process is unready only once three looks in a row had no answer. A reason that a node
 * gives counts at once, such as that it takes no writes.
 */
export const patientReadiness = (ready: () => Promise<void>): (() => Promise<void>) => {
  let failedLooks = 0
  return async () => {
    try {
      await withTimeout(ready(), LOOK_MS_MAX)
      failedLooks = 0
    } catch (error) {
      const isWithoutAnswer = isUnavailable(error) && obstacleOf(error) === undefined
      if (!isWithoutAnswer || ++failedLooks >= FAILED_LOOKS_MAX) throw error
    }
  }
}
