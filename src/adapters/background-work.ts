import { callHook } from '../core/engine/outcome.ts'
import type { Ports, Signal, Store } from '../core/ports/store.ts'
import { atRoot, jobSpans } from './tracing.ts'
import { yieldToRequests } from './yield-to-requests.ts'

type OnError = (error: unknown) => void
/** Hooks that report background work. */
export type WorkHooks = {
  /** Called for each error, mostly of the database; the work goes on. By default prints it to stderr. */
  readonly onError?: OnError | undefined
  /** Called after each step while none of the work is failing: after an error it means that all of it works again. */
  readonly onStep?: (() => void) | undefined
}
type Work = WorkHooks & {
  readonly store: { readonly [Part in keyof Ports]?: object } & Partial<Pick<Store, 'watch'>>
}
export type Job = {
  /** Names the spans of the job. */
  readonly name: string
  /** The parts of the store that it needs: without them it does not run. */
  readonly needs?: readonly (keyof Ports)[]
  /** Wakes the job. Without one it only polls. */
  readonly signal?: Signal
  /** How often the job looks for work without a signal: signals may be lost, and rests end. */
  readonly pollMs: number
  /** Minimum pause between two steps: under load each step then does more at once, and requests get the database. */
  readonly restMs: number
  /** Makes the function that takes one step, see core/pages/publish-versions.ts, and returns whether there may be more. */
  readonly stepWith: (
    onError: OnError,
  ) => (stop: AbortSignal, woken: Promise<void>, asked?: boolean) => Promise<boolean>
  /** Gets a function that wakes the job without asking it to look into the store. */
  readonly accept?: ((wake: () => void) => void) | undefined
  /** Whether failed work is waiting for a retry: until then, steps without an error prove nothing. */
  readonly isFailing?: () => boolean
}

/** `start` works from now on; `wake` looks for work at once; call `stop` before the store is closed. */
export type Background = ReturnType<typeof workInBackground>

/** Does these jobs in the background, independently of each other. */
export const workInBackground = (work: Work, jobs: readonly Job[]) => {
  const { store, onError = console.error, onStep } = work
  const stopping = new AbortController()
  const stop = stopping.signal
  const failing = new Set<Job>()
  const polls: NodeJS.Timeout[] = []
  let isStarted = false
  let unwatch: (() => void) | undefined
  let stopped: Promise<unknown> | undefined

  const possible = jobs.filter(({ needs = [] }) => needs.every((part) => store[part] !== undefined))
  const runners = possible.map((job) => {
    let running: Promise<void> | undefined
    let woken = Promise.withResolvers<void>()
    let [isWoken, isAsked, hasFailed] = [false, true, false]
    const report = (error: unknown): void => {
      hasFailed = true
      failing.add(job)
      callHook(() => onError(error))
    }
    const step = job.stepWith(report)
    const spans = jobSpans(job.name)
    const run = async (): Promise<void> => {
      try {
        for (let more = true; more; ) {
          const asked = isAsked
          isWoken = isAsked = hasFailed = false
          const isLast = stop.aborted
          woken = Promise.withResolvers()
          const beganMs = performance.now()
          more = (await spans.around(() => step(stop, woken.promise, asked))) || isWoken
          if (!hasFailed && !job.isFailing?.()) failing.delete(job)
          if (failing.size === 0 && !isLast) callHook(() => onStep?.())
          if (more) await yieldToRequests(performance.now() - beganMs, job.restMs, stop)
        }
      } catch (error) {
        report(error)
      }
    }
    const wakeUp = (asks: boolean): void => {
      if (stop.aborted) return
      isWoken = true
      isAsked ||= asks
      spans.noteCause()
      woken.resolve()
      running ??= atRoot(run).finally(() => {
        running = undefined
      })
    }
    const wake = () => wakeUp(true)
    return { ...job, wake, wakeUp, finish: () => Promise.resolve(running).then(() => atRoot(run)) }
  })

  return {
    start: (): void => {
      if (stop.aborted || isStarted) return
      isStarted = true
      unwatch = store.watch?.((emitted) => {
        // Runs after the callers that caused the signal have their answers.
        for (const { signal, wake } of runners) if (signal === emitted.split(' ')[0]) setImmediate(wake)
      })
      for (const { pollMs, wake, wakeUp, accept } of runners) {
        accept?.(() => void setImmediate(wakeUp, false))
        polls.push(setInterval(wake, pollMs))
        wake()
      }
    },
    /** Wakes every job that has a signal. */
    wake: (): void => {
      for (const { signal, wake } of runners) if (signal) wake()
    },
    /** Aborts calls in flight, saves decided results, and starts nothing more. */
    stop: async (): Promise<void> => {
      stopping.abort()
      unwatch?.()
      polls.forEach(clearInterval)
      stopped ??= Promise.all(runners.map(({ finish }) => finish()))
      await stopped
    },
  }
}
