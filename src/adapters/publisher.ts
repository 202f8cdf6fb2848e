type Deps = {
  /** Takes on what waits and answers how much it was. */
  readonly publish: (stop: AbortSignal) => Promise<number>
  /** A look now and then, for signals that were lost and pauses that have ended. */
  readonly pollMs: number
  readonly onError: (error: unknown) => void
}

/** Publishes in the background: when woken, and every `pollMs`. */
export const createPublisher = ({ publish, pollMs, onError }: Deps) => {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let wokenMeanwhile = false

  const run = async (): Promise<void> => {
    try {
      let taken: number
      do {
        wokenMeanwhile = false
        taken = await publish(stopping.signal)
      } while ((taken > 0 || wokenMeanwhile) && !stopping.signal.aborted)
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
