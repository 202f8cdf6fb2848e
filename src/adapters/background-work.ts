import { callListener } from '../core/engine/call-listener.ts'
import type { Ports, Store } from '../core/ports/store.ts'
import type { Clock } from '../core/ports/world.ts'
import { createRunner, type Job, type OnError } from './job-runner.ts'
import { type QueueWatch, watchQueues } from './queue-watch.ts'

/** Hooks that report background work. */
export type WorkHooks = {
  /** Called for each error, mostly of the database; the work goes on. By default prints it to stderr. */
  readonly onError?: OnError | undefined
  /** Called after each step while none of the work is failing: after an error it means that all of it works again. */
  readonly onStep?: (() => void) | undefined
}
type Work = WorkHooks & {
  readonly store: { readonly [Part in keyof Ports]?: object } & Partial<
    Pick<Store, 'watch' | 'waiting' | 'hasAllSignals'>
  >
  readonly clock?: Clock | undefined
}
/** `start` works from now on; `wake` looks for work at once; call `stop` before the store is closed. */
export type Background = ReturnType<typeof workInBackground>

/** Does these jobs in the background, independently of each other. All work of a process shares one watch of its queues. */
export const workInBackground = (work: Work, jobs: readonly Job[], queues?: QueueWatch) => {
  const { store, clock = Date.now, onError = console.error, onStep } = work
  const { mayHaveWork, noteActivity } = queues ?? watchQueues(store, clock)
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
  const runners = possible.map((job) => ({ ...job, ...runnerOf(job), isFailing: () => failing.has(job) }))
  type Runner = (typeof runners)[number]
  /** Wakes a job if its queue may have work. One that failed is tried until it works. */
  const poll = async ({ queue, pollMs, wake, isFailing }: Runner): Promise<void> => {
    const mustLook = queue === undefined || isFailing() || (await mayHaveWork(queue, pollMs / 2))
    if (mustLook) wake({ polls: true })
  }

  return {
    start: (): void => {
      if (stop.aborted || isStarted) return
      isStarted = true
      unwatch = store.watch?.((emitted) => {
        noteActivity()
        const [kind] = emitted.split(' ')
        for (const { signal, wake } of runners) {
          // Runs after the callers that caused the signal have their answers.
          if (signal === kind) setImmediate(wake, { polls: true })
        }
      })
      for (const runner of runners) {
        const { pollMs, wake, registerWake } = runner
        registerWake?.(() => void setImmediate(wake, { polls: false }))
        polls.push(setInterval(poll, pollMs, runner))
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
