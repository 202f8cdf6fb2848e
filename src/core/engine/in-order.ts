import { DomainFailure, isUnavailable } from './failures.ts'
import { asOutcome, attempt, countThatFit, type Outcome } from './outcome.ts'

/** A longer list costs little less for each, and keeps other callers waiting. */
export const LIST_LENGTH_MAX = 500
/** Total weight of the inputs of one list, which are prepared at once. */
const LIST_WEIGHT_MAX = 1_048_576

type Steps<Input, Item, Answer> = {
  /** The cost of preparing an input, in characters. */
  readonly weightOf?: (input: Input) => number
  /** Checks one input. Its failure is its answer. */
  readonly prepare: (input: Input) => Item | Promise<Item>
  /** What an item names, such as an email: it must find what an earlier item with one of these names creates. */
  readonly namesOf: (item: Item) => readonly string[]
  readonly run: (item: Item) => Promise<Answer>
  /** Resolves when a list of this length may begin. */
  readonly beforeList?: ((length: number) => Promise<void> | undefined) | undefined
}

/**
 * Runs any number of inputs as if one after the other, a list at a time: an input finds what those before it created.
 * Returns each, in order, with its answer or its error. After `unavailable` the rest is not tried, and fails alike.
 */
export const inOrder = async <Input, Item, Answer>(
  inputs: readonly Input[],
  { weightOf = () => 0, prepare, namesOf, run, beforeList }: Steps<Input, Item, Answer>,
): Promise<readonly (Answer | Error)[]> => {
  const answers: (Answer | Error)[] = []
  /** Names of items that have ended. */
  const settled = new Set<string>()
  while (answers.length < inputs.length) {
    const next = inputs.slice(answers.length, answers.length + LIST_LENGTH_MAX)
    const list = next.slice(0, countThatFit(next, weightOf, LIST_WEIGHT_MAX))
    const begun = await Promise.resolve(beforeList?.(list.length)).catch(asOutcome)
    if (begun instanceof DomainFailure) return [...answers, ...inputs.slice(answers.length).map(() => begun)]
    const items = await Promise.all(list.map((input) => prepared(input, prepare)))
    answers.push(...(await inWaves(items, { namesOf, run, settled })))
    const away = answers.find(isUnavailable)
    if (away !== undefined) return [...answers, ...inputs.slice(answers.length).map(() => away)]
  }
  return answers
}

/** The item to run, or its failure. */
const prepared = <Input, Item>(
  input: Input,
  prepare: (input: Input) => Item | Promise<Item>,
): Outcome<Item> | Promise<Outcome<Item>> => {
  const item = attempt(() => prepare(input))
  return item instanceof Promise ? item.catch(asOutcome) : item
}

/**
 * Runs items in waves: an item that names what an earlier one was the first to name goes in a later wave than that one,
 * and all others with that name go together. Names that are `settled` hold nothing up.
 */
const inWaves = async <Item, Answer>(
  items: readonly Outcome<Item>[],
  { namesOf, run, settled }: Pick<Steps<unknown, Item, Answer>, 'namesOf' | 'run'> & { settled: Set<string> },
): Promise<(Answer | Error)[]> => {
  const answers = new Array<Answer | Error>(items.length)
  const waves: number[][] = []
  /** The wave of the first item with a name. */
  const firstWaves = new Map<string, number>()
  for (const [i, item] of items.entries()) {
    if (item instanceof DomainFailure) {
      answers[i] = item
      continue
    }
    const names = namesOf(item).filter((name) => !settled.has(name))
    let wave = 0
    for (const name of names) wave = Math.max(wave, (firstWaves.get(name) ?? -1) + 1)
    for (const name of names) if (!firstWaves.has(name)) firstWaves.set(name, wave)
    const others = waves[wave]
    if (others === undefined) waves[wave] = [i]
    else others.push(i)
  }
  let away: Error | undefined
  for (const wave of waves) {
    const runOne = async (i: number) => {
      answers[i] = away ?? (await run(items[i] as Item).catch((why): Error => why))
    }
    await Promise.all(wave.map(runOne))
    away ??= answers.find((answer): answer is Error => isUnavailable(answer))
  }
  for (const name of firstWaves.keys()) settled.add(name)
  return answers
}
