import { setTimeout as pause } from 'node:timers/promises'

/** Limits the delay of a scrape by a slow database or disk. */
const WAIT_MS_MAX = 1_000

/** Reads a value at most once in `freshMs` and once at a time, however frequent the scrapes are; null while it is not known. */
export const cachedRead = <Value>(
  read: () => Promise<Value>,
  freshMs: number,
  stopwatch: () => number = () => performance.now(),
): (() => Promise<Value | null>) => {
  let readMs = Number.NEGATIVE_INFINITY
  let reading: Promise<Value | null> = Promise.resolve(null)
  return () => {
    if (stopwatch() - readMs >= freshMs) {
      readMs = Number.POSITIVE_INFINITY
      reading = read()
        .catch(() => null)
        .finally(() => {
          readMs = stopwatch()
        })
    }
    return Promise.race([reading, pause(WAIT_MS_MAX, null, { ref: false })])
  }
}
