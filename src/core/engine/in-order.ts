import { DomainFailure, isUnavailable } from './failures.ts'
import { asOutcome, attempt, countThatFit, type Outcome } from './outcome.ts'
import { shareLoop } from './share-loop.ts'

/** A list of 200 costs little more than a list of one; a longer one keeps its callers waiting. */
export const LIST_LENGTH_MAX = 200
/** Total weight of the inputs of one list, which are prepared at once. */
const LIST_WEIGHT_MAX = 1_048_576

type Steps<Input, Item, Answer> = {
  /** The cost of preparing an input, in characters. */
  readonly weightOf?: (input: Input) => number
  /** Checks one input. Its failure is its answer. */
  readonly prepare: (input: Input) => Item | Promise<Item>
  /** A use case for many at once. */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome<Answer>[]>
  /** Resolves when a list of this length may begin. */
  readonly beforeList?: (length: number) => Promise<void> | undefined
}

/**
 * Runs any number of inputs, a list at a time, in order: an input finds what those before it created. Returns each, in
 * order, with its answer or its error. If a list fails, its members are run one by one, so that none fails for another;
 * but after `unavailable` the rest is not tried, and fails alike.
 */
export const inOrder = async <Input, Item, Answer>(
  inputs: readonly Input[],
  { weightOf = () => 0, prepare, run, beforeList = () => undefined }: Steps<Input, Item, Answer>,
): Promise<readonly (Answer | Error)[]> => {
  const answers: (Answer | Error)[] = []
  let oneByOne = 0
  while (answers.length < inputs.length) {
    const length = oneByOne-- > 0 ? 1 : LIST_LENGTH_MAX
    const next = inputs.slice(answers.length, answers.length + length)
    const list = next.slice(0, countThatFit(next, weightOf, LIST_WEIGHT_MAX))
    try {
      // Other callers get a turn in between, even if the database never makes anyone wait.
      await new Promise(setImmediate)
      await beforeList(list.length)
      const prepared = list.map((input) => attempt(() => prepare(input)))
      const caught = prepared.map((item) => (item instanceof Promise ? item.catch(asOutcome) : item))
      const isWaiting = caught.some((item) => item instanceof Promise)
      const items = isWaiting ? await Promise.all(caught) : (caught as Outcome<Item>[])
      answers.push(...(await runValid(items, run)))
    } catch (why) {
      if (isUnavailable(why)) return [...answers, ...inputs.slice(answers.length).map(() => why)]
      if (list.length === 1) answers.push(why as Error)
      else oneByOne = list.length
    }
  }
  return answers
}

/** Runs those that have not failed, as one list, and puts their answers in their places. */
const runValid = async <One, Answer>(
  list: readonly Outcome<One>[],
  run: (valid: readonly One[]) => Promise<readonly Answer[]>,
): Promise<readonly Outcome<Answer>[]> => {
  const valid = list.filter((one): one is One => !(one instanceof DomainFailure))
  if (valid.length > 0 && valid.length === list.length) return run(valid)
  const answers = (valid.length === 0 ? [] : await run(valid)).values()
  return list.map((one) => (one instanceof DomainFailure ? one : (answers.next().value as Answer)))
}

/** Runs this for each want, in order, each as a piece of work of its tenant. */
export const eachInTurn = async <Want extends { readonly tenantId: string }, Found>(
  wants: readonly Want[],
  run: (want: Want, i: number) => Found,
): Promise<Found[]> => {
  const found: Found[] = []
  for (const [i, want] of wants.entries()) {
    const busy = shareLoop(want.tenantId)
    if (busy) await busy
    found.push(run(want, i))
  }
  return found
}

/** A read of one as a read of many. One member's failure never affects another. */
export const manyOf =
  <Want extends { readonly tenantId: string }, Answer>(read: (want: Want) => Promise<Answer>) =>
  async (wants: readonly Want[]): Promise<Outcome<Answer>[]> => {
    const readOne = (want: Want) => {
      const answer = read(want).catch(asOutcome)
      // It may fail while the next want waits for its turn, before anyone awaits this one.
      answer.catch(() => {})
      return answer
    }
    return Promise.all(await eachInTurn(wants, readOne))
  }
