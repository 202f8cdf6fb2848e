import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { createCaller } from './call.ts'

const EVERY_MS = 100
const ANSWER_MS_MAX = 2_000

/** Asks again and again whether the process lives; `stop` answers what else than yes it said, in words. */
export const watchHealth = (t: Test, url: string) => {
  const { call, close } = createCaller('', 10_000)
  const faults: string[] = []
  let stopped = false
  const watch = async (): Promise<void> => {
    while (!stopped) {
      const { status, why, ms } = await call(url, { method: 'GET', path: '/healthz' })
      if (status !== 200 || ms > ANSWER_MS_MAX) faults.push(`health: ${status ?? why} after ${ms} ms`)
      await pause(EVERY_MS)
    }
  }
  const watching = watch()
  const stop = async (): Promise<string[]> => {
    stopped = true
    await watching
    close()
    return faults
  }
  t.teardown(stop)
  return { stop }
}
