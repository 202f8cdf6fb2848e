import { setTimeout as pause } from 'node:timers/promises'
import { callHook } from '../core/call-hook.ts'

type Deps = {
  /** One step of the work, see core/publish-versions.ts; answers whether there may be more. */
  readonly publish: (stop: AbortSignal, woken: Promise<void>) => Promise<boolean>
  /** How often it looks without being woken: signals may be lost, and rests end. */
  readonly pollMs: number
  /** Between two steps: under load each then covers many versions, and requests get the database meanwhile. */
  readonly restMs: number
  readonly onError: (error: unknown) => void
  /** Called after each step without an error. */
  readonly onStep?: (() => void) | undefined
}

/** Publishes in the background: when woken, and every `pollMs`. */
export const createPublisher = ({ publish, pollMs, restMs, onError, onStep }: Deps) => {
  const stopping = new AbortController()
  const stop = stopping.signal
  let poll: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let woken = Promise.withResolvers<void>()
  let isWoken = false

  const run = async (): Promise<void> => {
    try {
      let more = true
      while (more) {
        isWoken = false
        woken = Promise.withResolvers()
        more = (await publish(stop, woken.promise)) || isWoken
        callHook(() => onStep?.())
        if (more) await pause(restMs, undefined, { signal: stop }).catch(() => {})
      }
    } catch (error) {
      callHook(() => onError(error))
    }
  }
  const wake = (): void => {
    if (stop.aborted) return
    isWoken = true
    woken.resolve()
    running ??= run().finally(() => {
      running = null
    })
  }

  return {
    start: (): void => {
      if (stop.aborted) return
      poll ??= setInterval(wake, pollMs)
      wake()
    },
    wake,
    /** Ends calls to the namer, saves what was decided, and claims nothing more. */
    stop: async (): Promise<void> => {
      stopping.abort()
      clearInterval(poll)
      await running
      await run()
    },
  }
}
