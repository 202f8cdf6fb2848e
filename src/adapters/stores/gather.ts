import { AsyncLocalStorage } from 'node:async_hooks'
import { countThatFit } from '../../core/engine/count-that-fit.ts'
import { DomainFailure, isUnavailable } from '../../core/engine/failures.ts'
import type { Outcome } from '../../core/engine/outcome.ts'
import { type ClaimRules, createClaims, losersTo } from './claims.ts'

/** How calls are gathered into lists. */
export type GatherOptions<Input> = {
  readonly listLengthMax: number
  /** If more are waiting, the lists that may start share them. */
  readonly unsharedMax?: number
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
/** Returns an answer or a failure for each input, in the same order. */
type Run<Input, Answer> = (inputs: readonly Input[]) => Promise<readonly Outcome<Answer>[]>
/** One member of a list. All of its callers wait for the same promise. */
type Member<Input, Answer> = PromiseWithResolvers<Answer> & {
  readonly input: Input
  readonly claims: readonly string[]
  callers: number
}

/**
 * Turns single calls that arrive together into lists, and returns to each caller the answer to its call.
 *
 * A list starts in the turn of the event loop in which its first call arrived, so a single caller never waits. While as
 * many lists are in flight as allowed, the next one grows.
 * Callers read their own writes, even in a shared answer: the list starts after the call.
 */
export const gather = <Input, Answer>(
  run: Run<Input, Answer>,
  options: GatherOptions<Input>,
  rules?: ClaimRules<Input, Answer> | undefined,
): ((input: Input) => Promise<Answer>) => {
  const { listLengthMax, unsharedMax = listLengthMax, listsInFlightMax } = options
  const { listWeightMax = Infinity, weightOf = () => 0 } = options
  const { groupOf = () => '', dedupeKey, observer } = options
  let pending: Member<Input, Answer>[] = []
  const joinable = new Map<string, Member<Input, Answer>>()
  const claims = rules && createClaims()
  let inFlight = 0
  let isStartScheduled = false

  /** How many of these calls one list takes. */
  const lengthOf = (members: readonly Member<Input, Answer>[]): number => {
    const share = Math.ceil(members.length / (listsInFlightMax - inFlight))
    const lengthMax = Math.min(Math.max(share, unsharedMax), listLengthMax)
    return countThatFit(members.slice(0, lengthMax), ({ input }) => weightOf(input), listWeightMax)
  }

  /** Takes the next list off the waiting calls. */
  const takeList = (): Member<Input, Answer>[] => {
    let ready = claims?.startable(pending) ?? pending
    if (lengthOf(ready) < ready.length) {
      // Kept: the next list goes on with the groups whose turn has not come.
      pending = inTurns(pending, groupOf)
      ready = claims?.startable(pending) ?? pending
    }
    const list = ready.slice(0, lengthOf(ready))
    pending = list.length === pending.length ? [] : without(pending, new Set(list))
    return list
  }

  const settle = (member: Member<Input, Answer>, outcome: Outcome<Answer>): void => {
    if (outcome instanceof DomainFailure) {
      member.reject(outcome)
      return
    }
    if (rules !== undefined && member.claims.length > 0 && rules.wins(outcome)) endLosers(member, rules.lost)
    member.resolve(outcome)
  }

  /** Ends the waiting calls that claim what the winner claimed. */
  const endLosers = (winner: Member<Input, Answer>, lost: Answer): void => {
    const losers = losersTo(winner, pending)
    if (losers.size === 0) return
    pending = without(pending, losers)
    observer?.queued(-losers.size)
    for (const loser of losers) loser.resolve(lost)
  }

  const answer = halving(run, settle)
  // Runs in no caller's context, unlike a list that a call has started.
  const answerApart = AsyncLocalStorage.bind(answer)

  const startList = (list: readonly Member<Input, Answer>[], answerList: typeof answer): void => {
    joinable.clear()
    observer?.list(list.length)
    observer?.queued(-list.reduce((calls, { callers }) => calls + callers, 0))
    inFlight++
    claims?.acquire(list)
    const end = () => {
      inFlight--
      claims?.release(list)
      scheduleNext()
    }
    void answerList(list).then(end, (error) => {
      for (const { reject } of list) reject(error)
      end()
    })
  }

  const startLists = (): void => {
    isStartScheduled = false
    let answerList = answer
    while (pending.length > 0 && inFlight < listsInFlightMax) {
      const list = takeList()
      if (list.length === 0) return
      startList(list, answerList)
      answerList = answerApart
    }
  }

  const scheduleStart = (): void => {
    if (isStartScheduled || pending.length === 0 || inFlight >= listsInFlightMax) return
    isStartScheduled = true
    setImmediate(startLists)
  }
  // The list after one that ended was started by no call, so it must not run in the context of the one that ended.
  const scheduleNext = AsyncLocalStorage.bind(scheduleStart)

  return (input) => {
    const key = dedupeKey?.(input)
    let member = key === undefined ? undefined : joinable.get(key)
    if (member === undefined) {
      member = { ...Promise.withResolvers<Answer>(), input, claims: rules?.of(input) ?? [], callers: 0 }
      pending.push(member)
      if (key !== undefined) joinable.set(key, member)
    }
    member.callers++
    observer?.queued(1)
    scheduleStart()
    return member.promise
  }
}

/**
 * Runs a list and settles each member. A list that fails is halved, and each half is run, so that no call fails for
 * another; but not after `unavailable`, because the write may have happened: then this rejects, and the members that are
 * not settled yet fail with it.
 */
const halving = <Input, Answer>(
  run: Run<Input, Answer>,
  settle: (member: Member<Input, Answer>, outcome: Outcome<Answer>) => void,
) => {
  const runList = async (list: readonly Member<Input, Answer>[]): Promise<void> => {
    let outcomes: readonly Outcome<Answer>[]
    try {
      outcomes = await run(list.map(({ input }) => input))
    } catch (error) {
      if (list.length === 1 || isUnavailable(error)) throw error
      const middle = Math.ceil(list.length / 2)
      await runHalf(list.slice(0, middle))
      await runHalf(list.slice(middle))
      return
    }
    for (const [i, member] of list.entries()) settle(member, outcomes[i] as Outcome<Answer>)
  }

  const runHalf = async (half: readonly Member<Input, Answer>[]): Promise<void> => {
    try {
      await runList(half)
    } catch (error) {
      if (isUnavailable(error)) throw error
      for (const { reject } of half) reject(error)
    }
  }

  return runList
}

/** The first call of each group, then the second of each, and so on. */
const inTurns = <Input, Call extends { readonly input: Input }>(
  calls: readonly Call[],
  groupOf: (input: Input) => string,
): Call[] => {
  const counts = new Map<string, number>()
  const ranked = calls.map((call) => {
    const group = groupOf(call.input)
    const rank = (counts.get(group) ?? 0) + 1
    counts.set(group, rank)
    return { call, rank }
  })
  return ranked.sort((a, b) => a.rank - b.rank).map(({ call }) => call)
}

const without = <Item>(items: readonly Item[], removed: ReadonlySet<Item>): Item[] =>
  items.filter((item) => !removed.has(item))
