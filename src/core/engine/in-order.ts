import { DomainFailure, isAway } from './failures.ts'
import { asOutcome, countThatFit, type Outcome } from './outcome.ts'

/** A longer list costs little less for each, and keeps other callers waiting. */
export const LIST_LENGTH_MAX = 500
/** Total weight of the inputs of one list, which are prepared at once. */
const LIST_WEIGHT_MAX = 1_048_576

/** What ties an item of a list to others. */
export type Ties = {
  /** What it calls the thing that it is about, such as an email and an id. Two items with one name are about the same thing. */
  readonly names: readonly string[]
  /** What it fills in of that thing. Of several items with the same names and fills, only the first changes anything. */
  readonly fills: string
  /** Of several items with one key, the others repeat the first. */
  readonly key?: string | undefined
}
type Steps<Input, Item, Answer> = {
  /** The cost of preparing an input, in characters. */
  readonly weightOf?: (input: Input) => number
  /** Checks one input. Its failure is its answer. */
  readonly prepare: (input: Input) => Item | Promise<Item>
  readonly tiesOf: (item: Item) => Ties
  readonly run: (item: Item) => Promise<Answer>
  /** Resolves when a list of this length may begin. */
  readonly beforeList?: ((length: number) => Promise<void> | undefined) | undefined
}

/**
 * Runs any number of inputs in order, a list at a time: an input finds what those before it created of the same thing.
 * Returns each, in order, with its answer or its error. Once the database is away the rest is not tried, and fails alike.
 */
export const inOrder = async <Input, Item, Answer>(
  inputs: readonly Input[],
  { weightOf = () => 0, prepare, tiesOf, run, beforeList }: Steps<Input, Item, Answer>,
): Promise<readonly (Answer | Error)[]> => {
  const answers: (Answer | Error)[] = []
  const waves = createWaves()
  const restAs = (why: Error) => [...answers, ...inputs.slice(answers.length).map(() => why)]
  while (answers.length < inputs.length) {
    const next = inputs.slice(answers.length, answers.length + LIST_LENGTH_MAX)
    const list = next.slice(0, countThatFit(next, weightOf, LIST_WEIGHT_MAX))
    try {
      await beforeList?.(list.length)
    } catch (why) {
      return restAs(asOutcome(why))
    }
    const items = await Promise.all(list.map((input) => prepared(input, prepare)))
    const waveOfEach = waves.nextList(
      items.map((item) => (item instanceof DomainFailure ? null : tiesOf(item))),
    )
    answers.push(...(await inWaves(items, waveOfEach, run)))
    const away = answers.find(isAway)
    if (away !== undefined) return restAs(away)
  }
  return answers
}

/** The item to run, or its failure. Most are ready at once, and need no promise. */
const prepared = <Input, Item>(
  input: Input,
  prepare: (input: Input) => Item | Promise<Item>,
): Outcome<Item> | Promise<Outcome<Item>> => {
  try {
    const item = prepare(input)
    return item instanceof Promise ? item.catch(asOutcome) : item
  } catch (why) {
    return asOutcome(why)
  }
}

/** Something that items are about, or a key that they have. */
type Thing = {
  /** The last wave of an item about it. */
  wave: number
  /** The wave of the first item that says this about it. */
  firstWaves: Map<string, number>
  /** Two things are one once an item calls both by name. */
  joinedTo?: Thing
}

/**
 * Says in which wave of a list each item runs. An item about the same thing as an earlier one goes in a later wave, but
 * items that repeat what an earlier one says go together: they change nothing.
 */
const createWaves = () => {
  const things = new Map<string, Thing>()

  const thingOf = (name: string): Thing | undefined => {
    let thing = things.get(name)
    while (thing?.joinedTo !== undefined) thing = thing.joinedTo
    return thing
  }
  /** The one thing that all of these names mean. */
  const joined = (names: readonly string[]): Thing => {
    let thing: Thing | undefined
    for (const name of names) {
      const known = thingOf(name)
      if (thing === undefined || known === undefined) thing ??= known
      else if (known !== thing) join(known, thing)
    }
    thing ??= { wave: -1, firstWaves: new Map() }
    for (const name of names) things.set(name, thing)
    return thing
  }
  const join = (one: Thing, to: Thing): void => {
    to.wave = Math.max(to.wave, one.wave)
    for (const [text, wave] of one.firstWaves) to.firstWaves.set(text, wave)
    one.joinedTo = to
  }
  /** The first wave for an item that says this about a thing. */
  const waveAfter = ({ wave, firstWaves }: Thing, text: string): number => {
    const first = firstWaves.get(text)
    return first === undefined ? wave + 1 : Math.max(wave, first + 1)
  }
  const note = (thing: Thing, text: string, wave: number): void => {
    thing.wave = wave
    if (!thing.firstWaves.has(text)) thing.firstWaves.set(text, wave)
  }

  const waveOf = ({ names, fills, key }: Ties): number => {
    const thing = names.length === 0 ? null : joined(names)
    const keyed = key === undefined ? null : joined([`\0${key}`])
    const text = names.length === 1 ? `${names[0]}\0${fills}` : [...names, fills].join('\0')
    const wave = Math.max(thing ? waveAfter(thing, text) : 0, keyed ? waveAfter(keyed, '') : 0)
    if (thing) note(thing, text, wave)
    if (keyed) note(keyed, '', wave)
    return wave
  }

  return {
    /** The waves of the items of the next list; null for one that is not run. All of the lists before have ended. */
    nextList: (ties: readonly (Ties | null)[]): readonly (number | null)[] => {
      for (const thing of things.values()) {
        thing.wave = -1
        for (const text of thing.firstWaves.keys()) thing.firstWaves.set(text, -1)
      }
      return ties.map((each) => (each === null ? null : waveOf(each)))
    },
  }
}

/** Runs the items of each wave together, wave after wave. */
const inWaves = async <Item, Answer>(
  items: readonly Outcome<Item>[],
  waveOfEach: readonly (number | null)[],
  run: (item: Item) => Promise<Answer>,
): Promise<(Answer | Error)[]> => {
  const answers = new Array<Answer | Error>(items.length)
  let away: Error | undefined
  const runOne = async (item: Item, i: number): Promise<void> => {
    try {
      answers[i] = away ?? (await run(item))
    } catch (why) {
      answers[i] = why as Error
    }
  }
  const waves: (() => Promise<void>)[][] = []
  for (const [i, item] of items.entries()) {
    const wave = waveOfEach[i] ?? null
    if (item instanceof DomainFailure) answers[i] = item
    else if (wave !== null) {
      waves[wave] ??= []
      waves[wave]?.push(() => runOne(item, i))
    }
  }
  for (const wave of waves) {
    await Promise.all(wave.map((runNext) => runNext()))
    away ??= answers.find(isAway)
  }
  return answers
}
