import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { createCaller } from './call.ts'

const EVERY_MS = 100
const ANSWER_MS_MAX = 2_000
const TICK_MS = 20

/** Asks for the health every 100 ms until `stop`, which returns each answer that was no 200 or came late, in words. */
export const watchHealth = (t: Test, url: string) => {
  const { call, close } = createCaller('', 10_000)
  const faults: string[] = []
  let stopped = false
  // This process has much else to do: what its timers are late by is not the server's time.
  let lateMs = 0
  let last = performance.now()
  const clock = setInterval(() => {
    lateMs += Math.max(0, performance.now() - last - 2 * TICK_MS)
    last = performance.now()
  }, TICK_MS)
  const watch = async (): Promise<void> => {
    while (!stopped) {
      lateMs = 0
      const { status, why, ms } = await call(url, { method: 'GET', path: '/healthz' })
      if (status !== 200 || ms - lateMs > ANSWER_MS_MAX)
        faults.push(`health: ${status ?? why} after ${ms} ms`)
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
