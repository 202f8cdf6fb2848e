import { countThatFit } from '../../core/engine/count-that-fit.ts'
import { type ClaimRules, createClaims, losersTo } from './claims.ts'

/** How waiting calls become lists. */
export type ListOptions<Input> = {
  readonly listLengthMax: number
  /** If more are waiting, the lists that may start share them. */
  readonly unsharedMax?: number
  /** The group of a call, such as its tenant. If the waiting calls do not fit into one list, groups take turns. */
  readonly groupOf?: (input: Input) => string
  /** Whether a list takes calls of one group only: that of the call whose turn it is. */
  readonly isOfOneGroup?: boolean
  /** Total weight of the members of a list; a heavier member goes alone. */
  readonly listWeightMax?: number
  readonly weightOf?: (input: Input) => number
  /** Inputs with the same key share a member and its answer. For reads only. */
  readonly dedupeKey?: (input: Input) => string
}
/** One member of a list. All of its callers wait for the same promise. */
export type Member<Input, Answer> = {
  readonly promise: Promise<Answer>
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
  readonly input: Input
  readonly claims: readonly string[]
  callers: number
}

/** The calls that wait for a list. */
export const createPendingCalls = <Input, Answer>(
  options: ListOptions<Input>,
  rules: ClaimRules<Input, Answer> | undefined,
) => {
  const { listLengthMax, unsharedMax = listLengthMax, listWeightMax = Infinity } = options
  const { weightOf = () => 0, groupOf = () => '', isOfOneGroup = false, dedupeKey } = options
  let pending: Member<Input, Answer>[] = []
  const joinable = new Map<string, Member<Input, Answer>>()
  const claims = rules && createClaims()

  const startable = () => {
    const ready = claims?.startable(pending) ?? pending
    const [first] = ready
    if (!isOfOneGroup || first === undefined) return ready
    const group = groupOf(first.input)
    return ready.filter(({ input }) => groupOf(input) === group)
  }

  /** How many of these calls one list takes if this many lists may start. */
  const lengthOf = (ready: readonly Member<Input, Answer>[], listsFree: number): number => {
    const share = Math.ceil(ready.length / listsFree)
    const lengthMax = Math.min(Math.max(share, unsharedMax), listLengthMax)
    return countThatFit(ready.slice(0, lengthMax), ({ input }) => weightOf(input), listWeightMax)
  }

  const takeAll = (): Member<Input, Answer>[] => {
    const list = pending
    pending = []
    joinable.clear()
    return list
  }

  const addMember = (input: Input): Member<Input, Answer> => {
    const member = {
      ...Promise.withResolvers<Answer>(),
      input,
      claims: rules?.of(input) ?? [],
      callers: 0,
    }
    pending.push(member)
    return member
  }

  return {
    isEmpty: () => pending.length === 0,

    /** Adds a call, and returns its answer. One that starts at once is not compared with others: mostly it is alone. */
    add: (input: Input, startsAtOnce: boolean): Promise<Answer> => {
      const key = startsAtOnce ? undefined : dedupeKey?.(input)
      const equal = key === undefined ? undefined : joinable.get(key)
      const member = equal ?? addMember(input)
      if (key !== undefined && equal === undefined) joinable.set(key, member)
      member.callers++
      return member.promise
    },

    /** Takes the next list. It is empty if all waiting calls claim what calls in flight do. */
    takeList: (listsFree: number): Member<Input, Answer>[] => {
      if (pending.length === 1 && claims === undefined) return takeAll()
      let ready = startable()
      let length = lengthOf(ready, listsFree)
      if (length < ready.length) {
        // This order is kept: the next list continues with the groups whose turn has not come.
        pending = roundRobin(pending, groupOf)
        ready = startable()
        length = lengthOf(ready, listsFree)
      }
      const list = ready.slice(0, length)
      pending = list.length === pending.length ? [] : without(pending, new Set(list))
      // A later call must not share an answer that may be older than the call.
      joinable.clear()
      claims?.acquire(list)
      return list
    },

    /** Lets other calls claim what a list claimed that has ended. */
    release: (list: readonly Member<Input, Answer>[]): void => claims?.release(list),

    /** Takes out the calls that claim what the winner claimed. */
    removeLosers: (winner: Member<Input, Answer>): ReadonlySet<Member<Input, Answer>> => {
      const losers = losersTo(winner, pending)
      if (losers.size > 0) pending = without(pending, losers)
      return losers
    },
  }
}

/** The first call of each group, then the second of each, and so on. */
const roundRobin = <Input, Call extends { readonly input: Input }>(
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
