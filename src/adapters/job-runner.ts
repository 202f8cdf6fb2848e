import type { Ports, Queue, Signal } from '../core/ports/store.ts'
import { atRoot } from './at-root.ts'
import { yieldToRequests } from './yield-to-requests.ts'

export type OnError = (error: unknown) => void
export type Job = {
  /** The parts of the store that it needs: without them it does not run. */
  readonly needs?: readonly (keyof Ports)[]
  /** Wakes the job. Without one it only polls. */
  readonly signal?: Signal
  /** Its queue in the store. It is not polled while it is known to be empty. */
  readonly queue?: Queue
  /** How often the job looks for work without a signal: signals may be lost, and rests end. */
  readonly pollMs: number
  /** Minimum pause between two steps: under load each step then does more at once, and requests get the database. */
  readonly restMs: number
  /** Makes the function that takes one step, see core/pages/publish-versions.ts, and returns whether there may be more. */
  readonly createStep: (
    onError: OnError,
  ) => (stop: AbortSignal, woken: Promise<void>, polls?: boolean) => Promise<boolean>
  /** Called once with a function that wakes the job without making it poll the store. */
  readonly registerWake?: ((wake: () => void) => void) | undefined
  /** Whether failed work is waiting for a retry: until then, steps without an error prove nothing. */
  readonly isFailing?: () => boolean
}
type Deps = {
  readonly stop: AbortSignal
  readonly onError: OnError
  /** Called after each step. `works`: whether nothing in it failed. `isLast`: whether it began after `stop`. */
  readonly onStep: (step: { readonly works: boolean; readonly isLast: boolean }) => void
}

/** Takes steps of a job while it is woken or there may be more to do. */
export const createRunner = (job: Job, { stop, onError, onStep }: Deps) => {
  let running: Promise<void> | undefined
  let woken = Promise.withResolvers<void>()
  let isWoken = false
  let mustPoll = true
  let hasFailed = false
  const report = (error: unknown): void => {
    hasFailed = true
    onError(error)
  }
  const step = job.createStep(report)

  const takeStep = (): Promise<boolean> => {
    const polls = mustPoll
    mustPoll = false
    isWoken = false
    hasFailed = false
    woken = Promise.withResolvers()
    return step(stop, woken.promise, polls)
  }
  const run = async (): Promise<void> => {
    try {
      let mayHaveMore = true
      while (mayHaveMore) {
        const isLast = stop.aborted
        const beganMs = performance.now()
        const hasMore = await takeStep()
        mayHaveMore = hasMore || isWoken
        onStep({ works: !hasFailed && !job.isFailing?.(), isLast })
        if (mayHaveMore) await yieldToRequests(performance.now() - beganMs, job.restMs, stop)
      }
    } catch (error) {
      report(error)
    }
  }

  return {
    /** Starts the job, or makes it take another step. `polls`: whether that step must look into the store. */
    wake: ({ polls }: { readonly polls: boolean }): void => {
      if (stop.aborted) return
      isWoken = true
      mustPoll ||= polls
      woken.resolve()
      running ??= atRoot(run).finally(() => {
        running = undefined
      })
    },
    /** Waits for the step in progress, then takes the last one, which saves decided results. */
    finish: async (): Promise<void> => {
      await running
      await atRoot(run)
    },
  }
}
