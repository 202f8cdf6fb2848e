import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { createCaller } from './call.ts'

const EVERY_MS = 100
const ANSWER_MS_MAX = 2_000
const TICK_MS = 20

/** Asks again and again whether the process lives; `stop` answers what else than yes it said, in words. */
export const watchHealth = (t: Test, url: string) => {
  const { call, close } = createCaller('', 10_000)
  const faults: string[] = []
  let stopped = false
  // A crowd in the same process may make this one late: that is not the server's time.
  let late = 0
  let last = performance.now()
  const clock = setInterval(() => {
    late += Math.max(0, performance.now() - last - 2 * TICK_MS)
    last = performance.now()
  }, TICK_MS)
  const watch = async (): Promise<void> => {
    while (!stopped) {
      late = 0
      const { status, why, ms } = await call(url, { method: 'GET', path: '/healthz' })
      if (status !== 200 || ms - late > ANSWER_MS_MAX) faults.push(`health: ${status ?? why} after ${ms} ms`)
      await pause(EVERY_MS)
    }
  }
  const watching = watch()
  const stop = async (): Promise<string[]> => {
    stopped = true
    await watching
    close()
    clearInterval(clock)
    return faults
  }
  t.teardown(stop)
  return { stop }
}
