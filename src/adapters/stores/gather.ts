import { AsyncLocalStorage } from 'node:async_hooks'
import { DomainFailure } from '../../core/engine/failures.ts'
import type { Outcome } from '../../core/engine/outcome.ts'
import { detectLoneCalls } from '../lone-calls.ts'
import type { ClaimRules } from './claims.ts'
import { halving, type Run } from './halving.ts'
import { createPendingCalls, type ListOptions, type Member } from './pending-calls.ts'

/** How calls are gathered into lists. */
export type GatherOptions<Input> = ListOptions<Input> & {
  readonly listsInFlightMax: number
  readonly observer?: GatherObserver | undefined
}
/** Called for each list that starts, and with each change of the number of waiting calls. */
export type GatherObserver = {
  readonly list: (length: number) => void
  readonly queued: (change: number) => void
}

/**
 * Turns single calls that arrive together into lists, and returns to each caller the answer to its call.
 *
 * A list starts at the end of the tick of the event loop in which its first call arrived. While as many lists are in flight
 * as allowed, the next one grows. While calls come one at a time, each starts at once.
 * Callers read their own writes, even in a shared answer: the list starts after the call.
 */
export const gather = <Input, Answer>(
  run: Run<Input, Answer>,
  options: GatherOptions<Input>,
  rules?: ClaimRules<Input, Answer> | undefined,
): ((input: Input) => Promise<Answer>) => {
  const { listsInFlightMax, observer } = options
  const pending = createPendingCalls(options, rules)
  let listsInFlight = 0
  const isAlone = detectLoneCalls()
  let isStartScheduled = false
  // A list that no call has started must not run in the context of a caller, such as the trace of its request.
  const outsideCalls = AsyncLocalStorage.snapshot()

  const settle = (member: Member<Input, Answer>, outcome: Outcome<Answer>): void => {
    if (outcome instanceof DomainFailure) {
      member.reject(outcome)
      return
    }
    if (member.claims.length > 0 && rules?.wins(outcome)) endLosers(member, rules.lost)
    member.resolve(outcome)
  }

  const endLosers = (winner: Member<Input, Answer>, lost: Answer): void => {
    const losers = pending.removeLosers(winner)
    if (losers.size > 0) observer?.queued(-losers.size)
    for (const loser of losers) loser.resolve(lost)
  }

  const runList = halving(run, settle)

  const startList = (list: readonly Member<Input, Answer>[]): void => {
    observer?.list(list.length)
    observer?.queued(-list.reduce((calls, { callers }) => calls + callers, 0))
    listsInFlight++
    const end = () => {
      listsInFlight--
      pending.release(list)
      if (!pending.isEmpty()) outsideCalls(scheduleStart, setImmediate)
    }
    void runList(list).then(end, (error) => {
      for (const { reject } of list) reject(error)
      end()
    })
  }

  /** Runs in the context of the call that scheduled it: so does the first list, but no other. */
  const startLists = (): void => {
    isStartScheduled = false
    let isFirst = true
    while (!pending.isEmpty() && listsInFlight < listsInFlightMax) {
      const list = pending.takeList(listsInFlightMax - listsInFlight)
      if (list.length === 0) return
      if (isFirst) startList(list)
      else outsideCalls(startList, list)
      isFirst = false
    }
  }

  const scheduleStart = (schedule: (start: () => void) => void): void => {
    if (isStartScheduled || listsInFlight >= listsInFlightMax) return
    isStartScheduled = true
    schedule(startLists)
  }

  return (input) => {
    const startsAtOnce = isAlone() && listsInFlight === 0
    const answer = pending.add(input, startsAtOnce)
    observer?.queued(1)
    scheduleStart(startsAtOnce ? queueMicrotask : setImmediate)
    return answer
  }
}
