import { Problem } from './api.ts'
import type { LiveState } from './live-mark.ts'
import { showError } from './notices.ts'

const POLL_MS = 2_000
/** The pause while the page is hidden. It ends as soon as the page is visible again. */
const HIDDEN_MS = 3_600_000

type Repeat = {
  readonly signal: AbortSignal
  readonly ms?: number
  readonly work: () => Promise<unknown>
  readonly onState?: ((state: LiveState) => void) | undefined
  /** The state after `work` succeeded. */
  readonly state?: () => LiveState
}

/**
 * Repeats `work` until the view ends, pausing while the page is hidden. Retries if the server is away or busy. If the
 * resource is gone, shows the view again, which reports it. Resolves after the first round.
 */
export const repeat = ({
  signal,
  ms = POLL_MS,
  work,
  onState = () => {},
  state = () => 'live',
}: Repeat): Promise<void> => {
  /** Returns how long to pause before the next round, or null if there is none. */
  const workOnce = async (): Promise<number | null> => {
    try {
      await work()
      onState(state())
      return ms
    } catch (error) {
      if (signal.aborted) return null
      const { status, retryAfterMs } = failureOf(error)
      const failure = stateFor(status)
      onState(failure)
      if (failure !== 'stopped') return Math.max(ms, retryAfterMs)
      if (status === 404 || status === 410) dispatchEvent(new Event('hashchange'))
      else if (status !== 401) showError(error)
      return null
    }
  }
  return new Promise((resolve) => {
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        const pauseMs = document.hidden ? HIDDEN_MS : await workOnce()
        resolve()
        if (pauseMs === null) return
        await pause(pauseMs, signal)
      }
    }
    void run()
  })
}

/** A server that cannot be reached counts as one that is unavailable. */
const failureOf = (error: unknown): Pick<Problem, 'status' | 'retryAfterMs'> =>
  error instanceof Problem ? error : { status: 503, retryAfterMs: 0 }

const stateFor = (status: number): LiveState => {
  if (status >= 500) return 'away'
  return status === 429 ? 'limited' : 'stopped'
}

/** Waits for a time, or until the page becomes visible or the view ends. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const ended = new AbortController()
    const end = () => {
      clearTimeout(timer)
      ended.abort()
      resolve()
    }
    const endIfVisible = () => document.hidden || end()
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { signal: ended.signal })
    document.addEventListener('visibilitychange', endIfVisible, { signal: ended.signal })
  })
