import type { Log } from '../adapters/log.ts'

/** SIGHUP: the terminal was closed. */
const STOPPING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
/** A terminal sends its signals to all of its processes, and `npm` passes them on: this soon after the first it is the same. */
const SAME_SIGNAL_MS = 300

/** Stops at the first of these signals. The second ends the process at once. */
export const onSignals = (log: Log, stop: () => void): void => {
  let firstMs: number | null = null
  const handle = (signal: NodeJS.Signals) => {
    if (firstMs === null) {
      firstMs = performance.now()
      log.info({ signal }, 'stopping')
      stop()
    } else if (performance.now() - firstMs > SAME_SIGNAL_MS) process.exit(1)
  }
  for (const signal of STOPPING) process.on(signal, handle)
}
