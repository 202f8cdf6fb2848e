import { DomainFailure, type Outcome } from './failures.ts'
import { fairQueue } from './fair-queue.ts'

export type GatherLimits = {
  readonly listLengthMax: number
  /** Of all members together, as `weightOf` tells it; a member that is heavier goes alone. */
  readonly listWeightMax: number
  readonly listsUnderWayMax: number
  readonly queuedMax: number
}
type Ways<Input, Answer> = {
  /** Inputs of one line are taken in order; lines take turns, so that nobody waits behind all of another's. */
  readonly lineOf: (input: Input) => string
  readonly weightOf?: (input: Input) => number
  /** Heavy answers are handed out a few at a time, so that what their callers do with them does not hold up the others. */
  readonly answerWeightOf?: (answer: Answer) => number
  /** The text by which two inputs are the same. */
  readonly sameAs?: (input: Input) => string
  readonly watch?: GatherWatch | undefined
}
/** Told of each list that starts, and of how many calls wait whenever that changes. */
export type GatherWatch = {
  readonly list: (length: number) => void
  readonly queued: (calls: number) => void
}
const HANDED_OUT_MAX = 262_144

type Caller<Answer> = {
  readonly resolve: (answer: Answer) => void
  readonly reject: (why: unknown) => void
}
/** One member of a list, and everybody who asked for it. */
type Member<Input, Answer> = { readonly input: Input; readonly callers: Caller<Answer>[] }

/**
 * Turns single calls that arrive together into lists, and hands each caller its own answer.
 *
 * A list starts in the same turn of the event loop in which its first call arrived, so a caller alone waits for
 * nobody; while as many lists are under way as may be, the next one grows. Past `queuedMax` waiting calls it refuses
 * with `unavailable` at once. Where a list fails for a reason of its own, its members are tried one by one, so
 * that nobody fails for a neighbour; after `unavailable` they are not, for the write may have happened.
 *
 * With `sameAs`, calls of one text that wait for the same list are one member of it and get one answer. For reads only:
 * what a caller wrote before it asked is in it, because the list starts after the call.
 */
export const gather = <Input, Answer>(
  run: (inputs: readonly Input[]) => Promise<readonly Outcome<Answer>[]>,
  { listLengthMax, listWeightMax, listsUnderWayMax, queuedMax }: GatherLimits,
  { lineOf, weightOf = () => 0, answerWeightOf = () => 0, sameAs, watch }: Ways<Input, Answer>,
): ((input: Input) => Promise<Answer>) => {
  const queue = fairQueue<Member<Input, Answer>>()
  const bounds = {
    lengthMax: listLengthMax,
    weightMax: listWeightMax,
    weightOf: ({ input }: Member<Input, Answer>) => weightOf(input),
  }
  const joinable = new Map<string, Member<Input, Answer>>()
  let queued = 0
  let listsUnderWay = 0
  let starting = false

  const start = () => {
    starting = false
    while (queue.length() > 0 && listsUnderWay < listsUnderWayMax) {
      const list = queue.take(bounds)
      joinable.clear()
      for (const { callers } of list) queued -= callers.length
      watch?.list(list.length)
      watch?.queued(queued)
      listsUnderWay++
      void answer(list).finally(() => {
        listsUnderWay--
        startSoon()
      })
    }
  }

  const startSoon = () => {
    if (starting || queue.length() === 0 || listsUnderWay >= listsUnderWayMax) return
    starting = true
    setImmediate(start)
  }

  const answer = async (list: readonly Member<Input, Answer>[]): Promise<void> => {
    try {
      const outcomes = await run(list.map(({ input }) => input))
      let weight = 0
      for (const [i, member] of list.entries()) {
        const outcome = outcomes[i] as Outcome<Answer>
        settle(member, outcome)
        weight += outcome instanceof DomainFailure ? 0 : answerWeightOf(outcome)
        if (weight <= HANDED_OUT_MAX) continue
        weight = 0
        await new Promise(setImmediate)
      }
    } catch (why) {
      if (list.length === 1 || isUnavailable(why)) rejectAll(list, why)
      else await answerOneByOne(list)
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
    const text = sameAs?.(input)
    const same = text === undefined ? undefined : joinable.get(text)
    if (same !== undefined) return same
    const member = { input, callers: [] }
    queue.push(lineOf(input), member)
    if (text !== undefined) joinable.set(text, member)
    return member
  }

  return (input) =>
    new Promise((resolve, reject) => {
      if (queued >= queuedMax) {
        reject(new DomainFailure('unavailable', 'Too many requests are waiting.', { retryAfterS: 1 }))
        return
      }
      queued++
      watch?.queued(queued)
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
