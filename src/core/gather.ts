import { DomainFailure, type Outcome } from './failures.ts'

export type GatherLimits = {
  readonly listLengthMax: number
  readonly listsUnderWayMax: number
  readonly queuedMax: number
}
type Waiting<Input, Answer> = {
  readonly input: Input
  readonly resolve: (answer: Answer) => void
  readonly reject: (why: unknown) => void
}

/**
 * Turns single calls that arrive together into lists, and hands each caller its own answer.
 *
 * A list starts in the same turn of the event loop in which its first call arrived, so a caller alone waits for
 * nobody; while as many lists are under way as may be, the next one grows. Past `queuedMax` waiting calls it refuses
 * with `unavailable` at once. Where a list fails for a reason of its own, its members are tried one by one, so
 * that nobody fails for a neighbour; after `unavailable` they are not, for the write may have happened.
 */
export const gather = <Input, Answer>(
  run: (inputs: readonly Input[]) => Promise<readonly Outcome<Answer>[]>,
  { listLengthMax, listsUnderWayMax, queuedMax }: GatherLimits,
): ((input: Input) => Promise<Answer>) => {
  let queue: Waiting<Input, Answer>[] = []
  let listsUnderWay = 0
  let starting = false

  const start = () => {
    starting = false
    while (queue.length > 0 && listsUnderWay < listsUnderWayMax) {
      const list = queue.length <= listLengthMax ? queue : queue.slice(0, listLengthMax)
      queue = queue.length <= listLengthMax ? [] : queue.slice(listLengthMax)
      listsUnderWay++
      void answer(list).finally(() => {
        listsUnderWay--
        startSoon()
      })
    }
  }

  const startSoon = () => {
    if (starting || queue.length === 0 || listsUnderWay >= listsUnderWayMax) return
    starting = true
    setImmediate(start)
  }

  const answer = async (list: readonly Waiting<Input, Answer>[]): Promise<void> => {
    try {
      const outcomes = await run(list.map(({ input }) => input))
      list.forEach((waiting, i) => {
        settle(waiting, outcomes[i] as Outcome<Answer>)
      })
    } catch (why) {
      if (list.length === 1 || isUnavailable(why)) rejectAll(list, why)
      else await answerOneByOne(list)
    }
  }

  const answerOneByOne = async (list: readonly Waiting<Input, Answer>[]): Promise<void> => {
    for (const [i, waiting] of list.entries()) {
      try {
        settle(waiting, (await run([waiting.input]))[0] as Outcome<Answer>)
      } catch (why) {
        if (isUnavailable(why)) return rejectAll(list.slice(i), why)
        waiting.reject(why)
      }
    }
  }

  return (input) =>
    new Promise((resolve, reject) => {
      if (queue.length >= queuedMax) {
        reject(new DomainFailure('unavailable', 'Too many requests are waiting.', { retryAfterS: 1 }))
        return
      }
      queue.push({ input, resolve, reject })
      startSoon()
    })
}

const settle = <Answer>(waiting: Waiting<unknown, Answer>, outcome: Outcome<Answer>): void => {
  if (outcome instanceof DomainFailure) waiting.reject(outcome)
  else waiting.resolve(outcome)
}

const rejectAll = (list: readonly { readonly reject: (why: unknown) => void }[], why: unknown): void => {
  for (const waiting of list) waiting.reject(why)
}

const isUnavailable = (why: unknown): boolean => why instanceof DomainFailure && why.kind === 'unavailable'
