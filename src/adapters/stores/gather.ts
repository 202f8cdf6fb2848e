import { AsyncLocalStorage } from 'node:async_hooks'
import { DomainFailure, isUnavailable } from '../../core/engine/failures.ts'
import { countThatFit, type Outcome } from '../../core/engine/outcome.ts'

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
/**
 * What calls take for themselves, such as an email to add. No two calls that claim the same are in flight at once, and
 * none passes an earlier one. Once a call `wins`, those that wait for the same get the answer of those that lost.
 */
export type Claims<Input, Answer> = {
  readonly of: (input: Input) => readonly string[]
  readonly wins: (answer: Answer) => boolean
  readonly lost: Answer
}
/** Called for each list that starts, and with each change of the number of waiting calls. */
export type GatherObserver = {
  readonly list: (length: number) => void
  readonly queued: (change: number) => void
}
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
 * many lists are in flight as allowed, the next one grows. A list that fails is halved, and each half is tried, so that
 * no call fails for another; but not after `unavailable`, because the write may have happened.
 * Callers read their own writes, even in a shared answer: the list starts after the call.
 */
export const gather = <Input, Answer>(
  run: (inputs: readonly Input[]) => Promise<readonly Outcome<Answer>[]>,
  options: GatherOptions<Input>,
  claims?: Claims<Input, Answer> | undefined,
): ((input: Input) => Promise<Answer>) => {
  const { listLengthMax, unsharedMax = listLengthMax } = options
  const { listsInFlightMax, dedupeKey, observer } = options
  const { listWeightMax = Infinity, weightOf = () => 0, groupOf = () => '' } = options
  let pending: Member<Input, Answer>[] = []
  const joinable = new Map<string, Member<Input, Answer>>()
  /** Claims of the calls in flight. */
  const claimed = new Set<string>()
  let inFlight = 0
  let starting = false

  /** How many of these calls one list takes. */
  const lengthOf = (members: readonly Member<Input, Answer>[]): number => {
    const share = Math.ceil(members.length / (listsInFlightMax - inFlight))
    const lengthMax = Math.min(Math.max(share, unsharedMax), listLengthMax)
    return countThatFit(members.slice(0, lengthMax), ({ input }) => weightOf(input), listWeightMax)
  }

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

  /** The waiting calls that may begin: none that claims what an earlier one claims. */
  const startable = (): Member<Input, Answer>[] => {
    if (claims === undefined) return pending
    const taken = new Set(claimed)
    return pending.filter((member) => {
      const isFree = !member.claims.some((claim) => taken.has(claim))
      for (const claim of member.claims) taken.add(claim)
      return isFree
    })
  }

  /** Takes the next list off the waiting calls. */
  const takeList = (): Member<Input, Answer>[] => {
    let ready = startable()
    if (lengthOf(ready) < ready.length) {
      // Kept: the next list goes on with the groups whose turn has not come.
      pending = inTurns(pending)
      ready = startable()
    }
    const list = ready.slice(0, lengthOf(ready))
    if (list.length === pending.length) pending = []
    else {
      const taken = new Set(list)
      pending = pending.filter((member) => !taken.has(member))
    }
    for (const member of list) for (const claim of member.claims) claimed.add(claim)
    return list
  }

  const start = () => {
    starting = false
    for (let run = answer; pending.length > 0 && inFlight < listsInFlightMax; run = answerApart) {
      const list = takeList()
      if (list.length === 0) return
      joinable.clear()
      observer?.list(list.length)
      observer?.queued(-list.reduce((calls, { callers }) => calls + callers, 0))
      inFlight++
      const end = () => {
        inFlight--
        for (const member of list) for (const claim of member.claims) claimed.delete(claim)
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
      const middle = Math.ceil(list.length / 2)
      for (const half of [list.slice(0, middle), list.slice(middle)])
        await answer(half).catch((why) => {
          if (isUnavailable(why)) throw why
          for (const { reject } of half) reject(why)
        })
      return
    }
    for (const [i, member] of list.entries()) settle(member, outcomes[i] as Outcome<Answer>)
  }

  const settle = (member: Member<Input, Answer>, outcome: Outcome<Answer>): void => {
    if (outcome instanceof DomainFailure) {
      member.reject(outcome)
      return
    }
    if (claims !== undefined && member.claims.length > 0 && claims.wins(outcome)) loseTo(member, claims.lost)
    member.resolve(outcome)
  }

  /** Ends the waiting calls that claim what this one has. */
  const loseTo = (winner: Member<Input, Answer>, lost: Answer): void => {
    const won = new Set(winner.claims)
    const losers = new Set(pending.filter((member) => member.claims.some((claim) => won.has(claim))))
    if (losers.size === 0) return
    pending = pending.filter((member) => !losers.has(member))
    observer?.queued(-losers.size)
    for (const loser of losers) loser.resolve(lost)
  }

  // A list started by a call runs in the context of that call; any other list runs in no caller's context.
  const goOn = AsyncLocalStorage.bind(startSoon)
  const answerApart = AsyncLocalStorage.bind(answer)
  return (input) => {
    const key = dedupeKey?.(input)
    let member = key === undefined ? undefined : joinable.get(key)
    if (member === undefined) {
      member = { ...Promise.withResolvers<Answer>(), input, claims: claims?.of(input) ?? [], callers: 0 }
      pending.push(member)
      if (key !== undefined) joinable.set(key, member)
    }
    member.callers++
    observer?.queued(1)
    startSoon()
    return member.promise
  }
}
