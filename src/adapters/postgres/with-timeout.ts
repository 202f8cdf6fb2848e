import { unavailable } from '../../core/engine/failures.ts'

export const NO_ANSWER_IN_TIME = 'The database did not answer in time.'

/**
 * Refuses `unavailable` if PostgreSQL has not answered in time. The driver itself retries for ever when an address does
 * not exist, or accepts connections and drops them.
 */
export const withTimeout = <Answer>(asked: PromiseLike<Answer>, msMax: number): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const cancel = callAfter(msMax, () => reject(unavailable(NO_ANSWER_IN_TIME)))
    const end =
      <Result>(settle: (result: Result) => void) =>
      (result: Result) => {
        cancel()
        settle(result)
      }
    asked.then(end(resolve), end(reject))
  })

/** A timer that is this late belongs to a process that stood still: it was stopped, or nothing was left for it to run on. */
const LATE_MS = 500

/**
 * Calls a function after this time, unless it is cancelled. After a process stood still its timers are over before it has
 * read what arrived meanwhile, or sent what it held: then it has the same time once more.
 */
export const callAfter = (ms: number, act: () => void): (() => void) => {
  const dueMs = performance.now() + ms
  let timer = setTimeout(() => {
    if (performance.now() - dueMs < LATE_MS) act()
    else timer = setTimeout(act, ms)
  }, ms)
  return () => clearTimeout(timer)
}
