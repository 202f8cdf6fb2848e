import { DomainFailure, type Outcome } from './failures.ts'

export type GatherOptions<Input, Answer> = {
  readonly listLengthMax: number
  readonly listsInFlightMax: number
  /** Of all members of a list together; a heavier member goes alone. */
  readonly listWeightMax?: number
  readonly weightOf?: (input: Input) => number
  /** Heavy answers are handed out a few at a time, so that what their callers do with them holds up nobody else. */
  readonly answerWeightOf?: (answer: Answer) => number
  /** Inputs with the same key share a member, and its answer. For reads only. */
  readonly dedupeKey?: (input: Input) => string
  readonly observer?: GatherObserver | undefined
}
/** Called for each list that starts, and whenever the number of waiting calls changes. */
export type GatherObserver = {
  readonly list: (length: number) => void
  readonly queued: (calls: number) => void
}
const HANDED_OUT_MAX = 262_144

type Caller<Answer> = {
  readonly resolve: (answer: Answer) => void
  readonly reject: (why: unknown) => void
}
/** One member of a list, and all callers who wait for its answer. */
type Member<Input, Answer> = { readonly input: Input; readonly callers: Caller<Answer>[] }

/**
 * Turns single calls that arrive together into lists, and hands each caller its own answer.
 *
 * A list starts in the turn of the event loop in which its first call arrived, so a caller alone waits for nobody. While
 * as many lists are in flight as allowed, the next one grows. When a list fails, its members are tried one by one, so
 * that nobody fails for a neighbour; but not after `unavailable`, because the write may have happened.
 *
 * What a caller wrote before it asked is in the answer that it shares: the list starts after the call.
 */
export const gather = <Input, Answer>(
  run: (inputs: readonly Input[]) => Promise<readonly Outcome<Answer>[]>,
  options: GatherOptions<Input, Answer>,
): ((input: Input) => Promise<Answer>) => {
  const { listLengthMax, listsInFlightMax, dedupeKey, observer } = options
  const { listWeightMax = Number.POSITIVE_INFINITY, weightOf = () => 0, answerWeightOf = () => 0 } = options
  let pending: Member<Input, Answer>[] = []
  const joinable = new Map<string, Member<Input, Answer>>()
  let queued = 0
  let listsInFlight = 0
  let starting = false

  const nextList = (): readonly Member<Input, Answer>[] => {
    let length = 1
    let weight = weightOf((pending[0] as Member<Input, Answer>).input)
    for (; length < Math.min(pending.length, listLengthMax); length++) {
      weight += weightOf((pending[length] as Member<Input, Answer>).input)
      if (weight > listWeightMax) break
    }
    const list = pending.slice(0, length)
    pending = pending.slice(length)
    return list
  }

  const start = () => {
    starting = false
    while (pending.length > 0 && listsInFlight < listsInFlightMax) {
      const list = nextList()
      joinable.clear()
      for (const { callers } of list) queued -= callers.length
      observer?.list(list.length)
      observer?.queued(queued)
      listsInFlight++
      void answer(list).finally(() => {
        listsInFlight--
        startSoon()
      })
    }
  }

  const startSoon = () => {
    if (starting || pending.length === 0 || listsInFlight >= listsInFlightMax) return
    starting = true
    setImmediate(start)
  }

  const answer = async (list: readonly Member<Input, Answer>[]): Promise<void> => {
    let outcomes: readonly Outcome<Answer>[]
    try {
      outcomes = await run(list.map(({ input }) => input))
    } catch (why) {
      if (list.length === 1 || isUnavailable(why)) rejectAll(list, why)
      else await answerOneByOne(list)
      return
    }
    let weight = 0
    for (const [i, member] of list.entries()) {
      const outcome = outcomes[i] as Outcome<Answer>
      settle(member, outcome)
      weight += outcome instanceof DomainFailure ? 0 : answerWeightOf(outcome)
      if (weight <= HANDED_OUT_MAX) continue
      weight = 0
      await new Promise(setImmediate)
    }
  }

  const answerOneByOne = async (list: readonly Member<Input, Answer>[]): Promise<void> => {
    for (const [i, member] of list.entries()) {
      try {
        settle(member, (await run([member.input]))[0] as Outcome<Answer>)
      } catch (why) {
        if (isUnavailable(why)) return rejectAll(list.slice(i), why)
        rejectAll([member], why)
      }
    }
  }

  const memberFor = (input: Input): Member<Input, Answer> => {
    const key = dedupeKey?.(input)
    const same = key === undefined ? undefined : joinable.get(key)
    if (same !== undefined) return same
    const member = { input, callers: [] }
    pending.push(member)
    if (key !== undefined) joinable.set(key, member)
    return member
  }

  return (input) =>
    new Promise((resolve, reject) => {
      queued++
      observer?.queued(queued)
      memberFor(input).callers.push({ resolve, reject })
      startSoon()
    })
}

const settle = <Answer>({ callers }: Member<unknown, Answer>, outcome: Outcome<Answer>): void => {
  for (const { resolve, reject } of callers) {
    if (outcome instanceof DomainFailure) reject(outcome)
    else resolve(outcome)
  }
}

const rejectAll = (list: readonly Member<unknown, never>[], why: unknown): void => {
  for (const { callers } of list) for (const { reject } of callers) reject(why)
}

const isUnavailable = (why: unknown): boolean => why instanceof DomainFailure && why.kind === 'unavailable'
