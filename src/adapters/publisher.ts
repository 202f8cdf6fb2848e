import { setTimeout as pause } from 'node:timers/promises'

type Deps = {
  /** Takes on what waits and answers how much it was. */
  readonly publish: (stop: AbortSignal) => Promise<number>
  /** A look now and then, for signals that were lost and pauses that have ended. */
  readonly pollMs: number
  /** Between two rounds: under load each then takes on many versions, and requests have the database meanwhile. */
  readonly restMs: number
  readonly onError: (error: unknown) => void
}

/** Publishes in the background: when woken, and every `pollMs`. */
export const createPublisher = ({ publish, pollMs, restMs, onError }: Deps) => {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let wokenMeanwhile = false

  const rest = (): Promise<void> => pause(restMs, undefined, { signal: stopping.signal }).catch(() => {})

  const run = async (): Promise<void> => {
    try {
      while (!stopping.signal.aborted) {
        wokenMeanwhile = false
        const taken = await publish(stopping.signal)
        if (taken > 0) await rest()
        else if (!wokenMeanwhile) return
      }
    } catch (error) {
      onError(error)
    }
  }

  const wake = (): void => {
    if (stopping.signal.aborted) return
    wokenMeanwhile = true
    if (running !== null) return
    clearTimeout(timer)
    running = run().finally(() => {
      running = null
      if (!stopping.signal.aborted) timer = setTimeout(wake, pollMs)
    })
  }

  return {
    start: wake,
    wake,
    /** Ends calls to the namer, saves what was decided, and takes on nothing more. */
    stop: async (): Promise<void> => {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
