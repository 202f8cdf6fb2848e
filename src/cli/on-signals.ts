import { isatty } from 'node:tty'
import type { Log } from '../adapters/log.ts'

const STOPPING = ['SIGTERM', 'SIGINT'] as const
/** A terminal sends its signals to all of its processes, and `npm` passes them on: this soon after the first it is the same. */
const SAME_SIGNAL_MS = 300

/**
 * SIGHUP says that the terminal was closed. It concerns only a process that uses one. Node resets a SIGHUP that was ignored
 * at the start, as under `nohup`; but `nohup` leaves no terminal on stdin, stdout and stderr.
 */
const usesTerminal = (): boolean => [0, 1, 2].some((descriptor) => isatty(descriptor))

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
  process.on('SIGHUP', usesTerminal() ? handle : () => {})
}
