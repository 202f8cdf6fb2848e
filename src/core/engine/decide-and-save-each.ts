import type { Recorded } from '../ports/world.ts'
import { allOf } from './and-then.ts'
import { isUnavailable } from './failures.ts'
import { settledEach } from './outcome.ts'

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
 * `decideAndSave` for several inputs that do not affect each other, with one write for all of them. Returns the answer or
 * the error of each. One that is overtaken goes on alone, and so do all if one of them cannot be loaded.
 */
export const decideAndSaveEach = async <Input, Known, Change, Answer>(
  inputs: readonly Input[],
  { recall, decide, recordEach, alone }: StepsOfEach<Input, Known, Change, Answer>,
): Promise<readonly (Answer | Error)[]> => {
  let known: readonly Known[]
  try {
    known = await allOf(inputs.map(recall))
  } catch (error) {
    return isUnavailable(error) ? inputs.map(() => error) : settledEach(inputs, alone)
  }
  const { answers, decided } = decideEach(inputs, known, decide)
  // Nothing that the decisions needed is kept while they are saved.
  known = []
  if (decided.length === 0) return answers
  const changes = decided.map(({ change }) => change)
  const outcomes = await recordEach(changes).catch((error: Error) => changes.map(() => error))
  const overtaken: number[] = []
  for (const [i, { place }] of decided.entries()) {
    const outcome = outcomes[i]
    if (outcome === 'overtaken') overtaken.push(place)
    else if (outcome instanceof Error) answers[place] = outcome
  }
  const answersAlone = await settledEach(overtaken, (place) => alone(inputs[place] as Input))
  for (const [i, place] of overtaken.entries()) answers[place] = answersAlone[i] as Answer | Error
  return answers
}

/** The answer or the error of each input, and the changes to save, each with the place of its input. */
const decideEach = <Input, Known, Change, Answer>(
  inputs: readonly Input[],
  known: readonly Known[],
  decide: StepsOfEach<Input, Known, Change, Answer>['decide'],
) => {
  const answers: (Answer | Error)[] = []
  const decided: { readonly place: number; readonly change: Change }[] = []
  for (const [place, input] of inputs.entries()) {
    try {
      const { answer, change } = decide(input, known[place] as Known)
      answers.push(answer)
      if (change !== null) decided.push({ place, change })
    } catch (error) {
      answers.push(error as Error)
    }
  }
  return { answers, decided }
}
