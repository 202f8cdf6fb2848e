import { withTimeout } from '../adapters/postgres/with-timeout.ts'
import { isUnavailable } from '../core/engine/failures.ts'
import { obstacleOf } from '../core/engine/obstacles.ts'

/** A load balancer waits for the answer. */
const CHECK_MS_MAX = 1_000
const FAILED_CHECKS_MAX = 3

/**
 * The readiness of a process on a cluster. A busy node sometimes takes longer than a check may, and a load balancer would
 * then drop all processes at once: so a process is unready only after three checks in a row without an answer. A reason
 * that a node gives counts at once, such as that it takes no writes.
 */
export const patientReadiness = (ready: () => Promise<void>): (() => Promise<void>) => {
  let failedChecks = 0
  return async () => {
    try {
      await withTimeout(ready(), CHECK_MS_MAX)
      failedChecks = 0
    } catch (error) {
      const isWithoutAnswer = isUnavailable(error) && obstacleOf(error) === undefined
      if (!isWithoutAnswer || ++failedChecks >= FAILED_CHECKS_MAX) throw error
    }
  }
}
