import { callListener } from '../core/engine/call-listener.ts'
import type { Ports, Store } from '../core/ports/store.ts'
import { createRunner, type Job, type OnError } from './job-runner.ts'

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

  const runnerOf = (job: Job) =>
    createRunner(job, {
      stop,
      onError: (error) => {
        failing.add(job)
        callListener(() => onError(error))
      },
      onStep: ({ works, isLast }) => {
        if (works) failing.delete(job)
        if (failing.size === 0 && !isLast) callListener(() => onStep?.())
      },
    })
  const possible = jobs.filter(({ needs = [] }) => needs.every((part) => store[part] !== undefined))
  const runners = possible.map((job) => ({ ...job, ...runnerOf(job) }))

  return {
    start: (): void => {
      if (stop.aborted || isStarted) return
      isStarted = true
      unwatch = store.watch?.((emitted) => {
        const [kind] = emitted.split(' ')
        for (const { signal, wake } of runners) {
          // Runs after the callers that caused the signal have their answers.
          if (signal === kind) setImmediate(wake, { polls: true })
        }
      })
      for (const { pollMs, wake, accept } of runners) {
        accept?.(() => void setImmediate(wake, { polls: false }))
        polls.push(setInterval(wake, pollMs, { polls: true }))
        wake({ polls: true })
      }
    },
    /** Wakes every job that has a signal. */
    wake: (): void => {
      for (const { signal, wake } of runners) {
        if (signal !== undefined) wake({ polls: true })
      }
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
