import { setTimeout as pause } from 'node:timers/promises'

/** The pauses between two polls double from the first to the last. */
const PAUSE_MS = { first: 10, last: 500 }

/**
 * Polls until something is done, by this process or another, for up to `msMax` milliseconds or until the signal aborts.
 * Polls at least once. Returns whether it is done.
 */
export const pollUntil = async (
  isDone: () => Promise<boolean>,
  msMax: number,
  signal?: AbortSignal,
): Promise<boolean> => {
  const endMs = performance.now() + msMax
  let pauseMs = PAUSE_MS.first
  for (;;) {
    if (await isDone()) return true
    const leftMs = endMs - performance.now()
    if (leftMs <= 0 || signal?.aborted) return false
    // Rejects if the signal ends the pause.
    await pause(Math.min(pauseMs, leftMs), undefined, { signal }).catch(() => {})
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.last)
  }
}
