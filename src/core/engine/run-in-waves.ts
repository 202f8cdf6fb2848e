import { allOf } from './and-then.ts'
import { countThatFit } from './count-that-fit.ts'
import { DomainFailure, isAway } from './failures.ts'
import { asOutcome, type Outcome } from './outcome.ts'
import { type Effect, wavesOf } from './prospects-in-waves.ts'

/** A longer list costs little less for each input, and keeps other callers waiting. */
export const LIST_LENGTH_MAX = 500
/** Total weight of the inputs of one list, which are prepared at once. */
const LIST_WEIGHT_MAX = 1_048_576

/** Inputs to run in order. */
export type Batch<Input, Item> = Prepared<Input, Item> & { readonly inputs: readonly Input[] }
type Prepared<Input, Item> = {
  /** Makes and checks an item just before it is run. Its failure is its answer. */
  readonly prepare: (input: Input) => Item | Promise<Item>
  /** The cost of that, in characters. */
  readonly weightOf?: ((input: Input) => number) | undefined
  /** Resolves when a list of this length may begin. */
  readonly beforeList?: ((length: number) => Promise<void> | undefined) | undefined
}
type Steps<Input, Item, Answer> = Prepared<Input, Item> & {
  readonly effectOf: (item: Item) => Effect
  /** Runs items that do not affect each other. Returns the answer or the error of each. */
  readonly runEach: (items: readonly Item[]) => Promise<readonly (Answer | Error)[]>
}

/**
 * Runs any number of inputs in order, a list at a time: each input finds the prospects that earlier ones created.
 * Returns the answer or the error of each input, in order. Once the database is away, the rest is not tried and gets the
 * same error.
 */
export const runInWaves = async <Input, Item, Answer>(
  inputs: readonly Input[],
  { weightOf = () => 0, prepare, effectOf, runEach, beforeList }: Steps<Input, Item, Answer>,
): Promise<readonly (Answer | Error)[]> => {
  const answers: (Answer | Error)[] = []
  const failRest = (error: Error) => [...answers, ...inputs.slice(answers.length).map(() => error)]
  while (answers.length < inputs.length) {
    const next = inputs.slice(answers.length, answers.length + LIST_LENGTH_MAX)
    const list = next.slice(0, countThatFit(next, weightOf, LIST_WEIGHT_MAX))
    try {
      await beforeList?.(list.length)
    } catch (error) {
      return failRest(asOutcome(error))
    }
    const items = await allOf(list.map((input) => prepareOne(input, prepare)))
    const effects = items.map((item) => (item instanceof DomainFailure ? null : effectOf(item)))
    answers.push(...(await runList(items, wavesOf(effects), runEach)))
    const away = answers.find(isAway)
    if (away !== undefined) return failRest(away)
  }
  return answers
}

/** The item to run, or its failure. */
const prepareOne = <Input, Item>(
  input: Input,
  prepare: (input: Input) => Item | Promise<Item>,
): Outcome<Item> | Promise<Outcome<Item>> => {
  try {
    const item = prepare(input)
    return item instanceof Promise ? item.catch(asOutcome) : item
  } catch (error) {
    return asOutcome(error)
  }
}

/** Runs the items of each wave together, wave after wave. */
const runList = async <Item, Answer>(
  items: readonly Outcome<Item>[],
  waveOfEach: readonly (number | null)[],
  runEach: (items: readonly Item[]) => Promise<readonly (Answer | Error)[]>,
): Promise<readonly (Answer | Error)[]> => {
  // A refused item is its answer.
  const answers = [...items] as (Answer | Error)[]
  const waves: number[][] = []
  for (const [i, wave] of waveOfEach.entries()) {
    if (wave === null) continue
    waves[wave] ??= []
    waves[wave].push(i)
  }
  let away: Error | undefined
  for (const wave of waves) {
    const ended = away === undefined ? await runEach(wave.map((i) => items[i] as Item)) : []
    for (const [i, place] of wave.entries()) answers[place] = away ?? (ended[i] as Answer | Error)
    away ??= ended.find(isAway)
  }
  return answers
}
