import { AsyncLocalStorage } from 'node:async_hooks'
import { DomainFailure, isUnavailable } from './failures.ts'
import { countThatFit, type Outcome } from './outcome.ts'
import { shareLoop } from './share-loop.ts'

/** How calls are gathered into lists. */
export type GatherOptions<Input> = {
  readonly listLengthMax: number
  readonly listsInFlightMax: number
  /** The group of a call, such as its tenant. If the waiting calls do not fit into one list, groups take turns. */
  readonly groupOf?: (input: Input) => string
  /** Total weight of the members of a list; a heavier member goes alone. */
  readonly listWeightMax?: number
  readonly weightOf?: (input: Input) => number
  /** Inputs with the same key share a member and its answer. For reads only. */
  readonly dedupeKey?: (input: Input) => string
  readonly observer?: GatherObserver | undefined
}
/** Called for each list that starts, and with each change of the number of waiting calls. */
export type GatherObserver = {
  readonly list: (length: number) => void
  readonly queued: (change: number) => void
}
/** One member of a list. All of its callers wait for the same promise. */
type Member<Input, Answer> = PromiseWithResolvers<Answer> & { readonly input: Input; callers: number }

/**
 * Turns single calls that arrive together into lists, and returns to each caller the answer to its call.
 *
 * A list starts in the turn of the event loop in which its first call arrived, so a single caller never waits. While as
 * many lists are in flight as allowed, the next one grows. When a list fails, its members are tried one by one, so that
 * no call fails for another; but not after `unavailable`, because the write may have happened.
 * Callers read their own writes, even in a shared answer: the list starts after the call.
 */
export const gather = <Input, Answer>(
  run: (inputs: readonly Input[]) => Promise<readonly Outcome<Answer>[]>,
  options: GatherOptions<Input>,
): ((input: Input) => Promise<Answer>) => {
  const { listLengthMax, listsInFlightMax, dedupeKey, observer } = options
  const { listWeightMax = Infinity, weightOf = () => 0, groupOf = () => '' } = options
  let pending: Member<Input, Answer>[] = []
  const joinable = new Map<string, Member<Input, Answer>>()
  let inFlight = 0
  let starting = false

  /** How many of these calls one list takes. */
  const lengthOf = (members: readonly Member<Input, Answer>[]): number =>
    countThatFit(members.slice(0, listLengthMax), ({ input }) => weightOf(input), listWeightMax)

  /** The first call of each group, then the second of each, and so on. */
  const inTurns = (members: readonly Member<Input, Answer>[]): Member<Input, Answer>[] => {
    const counts = new Map<string, number>()
    const ranked = members.map((member) => {
      const group = groupOf(member.input)
      const rank = (counts.get(group) ?? 0) + 1
      counts.set(group, rank)
      return { member, rank }
    })
    return ranked.sort((a, b) => a.rank - b.rank).map(({ member }) => member)
  }

  const start = () => {
    starting = false
    for (let run = answer; pending.length > 0 && inFlight < listsInFlightMax; run = answerApart) {
      if (lengthOf(pending) < pending.length) pending = inTurns(pending)
      const list = pending.splice(0, lengthOf(pending))
      joinable.clear()
      observer?.list(list.length)
      observer?.queued(-list.reduce((calls, { callers }) => calls + callers, 0))
      inFlight++
      const end = () => {
        inFlight--
        goOn()
      }
      void run(list).then(end, (why) => {
        for (const { reject } of list) reject(why)
        end()
      })
    }
  }

  const startSoon = () => {
    if (starting || pending.length === 0 || inFlight >= listsInFlightMax) return
    starting = true
    setImmediate(start)
  }

  const answer = async (list: readonly Member<Input, Answer>[]): Promise<void> => {
    let outcomes: readonly Outcome<Answer>[]
    try {
      outcomes = await run(list.map(({ input }) => input))
    } catch (why) {
      if (list.length === 1 || isUnavailable(why)) throw why
      for (const member of list)
        await answer([member]).catch((why) => {
          if (isUnavailable(why)) throw why
          member.reject(why)
        })
      return
    }
    for (const [i, member] of list.entries()) {
      // While the loop is busy with large answers, the next ones stay here, and no other list of reads begins.
      const busy = dedupeKey && i > 0 && shareLoop(groupOf(member.input))
      if (busy) await busy
      const outcome = outcomes[i] as Outcome<Answer>
      if (outcome instanceof DomainFailure) member.reject(outcome)
      else member.resolve(outcome)
    }
  }

  // A list started by a call runs in the context of that call; any other list runs in no caller's context.
  const [goOn, answerApart] = [AsyncLocalStorage.bind(startSoon), AsyncLocalStorage.bind(answer)]
  return (input) => {
    const key = dedupeKey?.(input)
    let member = key === undefined ? undefined : joinable.get(key)
    if (member === undefined) {
      member = { ...Promise.withResolvers<Answer>(), input, callers: 0 }
      pending.push(member)
      if (key !== undefined) joinable.set(key, member)
    }
    member.callers++
    observer?.queued(1)
    startSoon()
    return member.promise
  }
}
