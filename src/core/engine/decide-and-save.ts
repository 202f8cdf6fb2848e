import type { Recorded } from '../ports/world.ts'
import { isUnavailable, refuse } from './failures.ts'

export const ATTEMPTS_MAX = 20

/**
 * How a use case writes. `recall` learns whether its last answer was overtaken. `decide` is pure; its change is null if there
 * is nothing to save.
 */
export type Steps<Known, Change, Answer> = {
  readonly recall: (wasOvertaken: boolean) => Promise<Known> | Known
  readonly decide: (known: Known) => { readonly answer: Answer; readonly change: Change | null }
  readonly record: (change: Change) => Promise<Recorded>
}

/**
 * The one idea of this code base, for every write: load what the decision needs, decide, and save the decision together
 * with what it assumed. If another writer was faster, the store saves nothing: load and decide again. Refuses
 * `unavailable` after twenty attempts.
 */
export const decideAndSave = async <Known, Change, Answer>({
  recall,
  decide,
  record,
}: Steps<Known, Change, Answer>): Promise<Answer> => {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const recalled = recall(attempt > 1)
    const { answer, change } = decide(recalled instanceof Promise ? await recalled : recalled)
    if (change === null || (await record(change)) === 'recorded') return answer
  }
  return gaveUp()
}

export const gaveUp = (): never =>
  refuse(
    'unavailable',
    `Gave up after ${ATTEMPTS_MAX} conflicting writes; retry.`,
    { retryAfterS: 1 },
    { isContended: true },
  )

/** How a use case writes several inputs that do not affect each other. */
export type StepsOfEach<Input, Known, Change, Answer> = {
  readonly recall: (input: Input) => Promise<Known> | Known
  readonly decide: (input: Input, known: Known) => { readonly answer: Answer; readonly change: Change | null }
  /** Saves each change whole or not at all. */
  readonly recordEach: (changes: readonly Change[]) => Promise<readonly (Recorded | Error)[]>
  /** `decideAndSave` for one input. */
  readonly alone: (input: Input) => Promise<Answer>
}

/**
 * `decideAndSave` for several inputs that do not affect each other, with one write for all of them. Returns the answer or the
 * error of each. One that is overtaken goes on alone, and so do all if one of them cannot be loaded.
 */
export const decideAndSaveEach = async <Input, Known, Change, Answer>(
  inputs: readonly Input[],
  { recall, decide, recordEach, alone }: StepsOfEach<Input, Known, Change, Answer>,
): Promise<readonly (Answer | Error)[]> => {
  let known: readonly Known[]
  try {
    const recalled = recallEach(inputs, recall)
    known = recalled instanceof Promise ? await recalled : recalled
  } catch (error) {
    return isUnavailable(error) ? inputs.map(() => error) : eachAlone(inputs, alone)
  }
  const { answers, changes, places } = decideEach(inputs, known, decide)
  // Nothing that the decisions needed is kept while they are saved.
  known = []
  if (changes.length === 0) return answers
  const outcomes = await recordEach(changes).catch((error: Error) => changes.map(() => error))
  const overtaken: number[] = []
  for (const [i, place] of places.entries()) {
    const outcome = outcomes[i]
    if (outcome === 'overtaken') overtaken.push(place)
    else if (outcome instanceof Error) answers[place] = outcome
  }
  const later = await eachAlone(overtaken, (place) => alone(inputs[place] as Input))
  for (const [i, place] of overtaken.entries()) answers[place] = later[i] as Answer | Error
  return answers
}

/** Nearly always all are at hand, and need no promises. */
const recallEach = <Input, Known>(
  inputs: readonly Input[],
  recall: (input: Input) => Promise<Known> | Known,
): Promise<readonly Known[]> | readonly Known[] => {
  const recalled = inputs.map(recall)
  return recalled.some((one) => one instanceof Promise)
    ? Promise.all(recalled)
    : (recalled as readonly Known[])
}

const decideEach = <Input, Known, Change, Answer>(
  inputs: readonly Input[],
  known: readonly Known[],
  decide: StepsOfEach<Input, Known, Change, Answer>['decide'],
) => {
  const answers: (Answer | Error)[] = []
  const changes: Change[] = []
  /** The place of each change among the inputs. */
  const places: number[] = []
  for (const [i, input] of inputs.entries()) {
    try {
      const { answer, change } = decide(input, known[i] as Known)
      answers.push(answer)
      if (change === null) continue
      changes.push(change)
      places.push(i)
    } catch (error) {
      answers.push(error as Error)
    }
  }
  return { answers, changes, places }
}

/** Runs all inputs at the same time. Returns the answer or the error of each. */
export const eachAlone = <Input, Answer>(
  inputs: readonly Input[],
  run: (input: Input) => Promise<Answer>,
): Promise<readonly (Answer | Error)[]> =>
  Promise.all(
    inputs.map(async (input) => {
      try {
        return await run(input)
      } catch (error) {
        return error as Error
      }
    }),
  )
