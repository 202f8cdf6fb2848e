import type { Recorded } from '../ports/world.ts'
import { DomainFailure, unavailable } from './failures.ts'
import type { Outcome } from './outcome.ts'

export const ROUNDS_MAX = 10
/** A longer list is split after this many conflicts. */
const ROUNDS_TOGETHER_MAX = 3

export type WriteSteps<Input, Known, Changes, Answer> = {
  readonly recall: (inputs: readonly Input[]) => Promise<Known>
  readonly decide: (
    inputs: readonly Input[],
    known: Known,
  ) => { readonly outcomes: readonly Outcome<Answer>[]; readonly changes: Changes | null }
  readonly record: (changes: Changes) => Promise<Recorded>
}

/**
 * The one idea of this code base, for every write: load what a list needs in one read, decide each member in order,
 * save the decisions in one write; if another writer was faster, load and decide again.
 *
 * A list that keeps being overtaken is split in halves, so that only the contended members fail (`unavailable`).
 */
export const decideAndSave = async <Input, Known, Changes, Answer>(
  inputs: readonly Input[],
  steps: WriteSteps<Input, Known, Changes, Answer>,
): Promise<readonly Outcome<Answer>[]> => {
  const roundsMax = inputs.length > 1 ? ROUNDS_TOGETHER_MAX : ROUNDS_MAX
  for (let round = 0; round < roundsMax; round++) {
    const { outcomes, changes } = steps.decide(inputs, await steps.recall(inputs))
    if (changes === null) return outcomes
    if ((await steps.record(changes)) === 'recorded') return outcomes
  }
  if (inputs.length <= 1) return [gaveUp()]
  const middle = Math.ceil(inputs.length / 2)
  const first = await decideAndSave(inputs.slice(0, middle), steps)
  return [...first, ...(await decideAndSaveRest(inputs.slice(middle), steps))]
}

/** Decides the rest of a list that is partly saved: an error fails only the members that cause it. */
export const decideAndSaveRest = async <Input, Known, Changes, Answer>(
  inputs: readonly Input[],
  steps: WriteSteps<Input, Known, Changes, Answer>,
): Promise<readonly Outcome<Answer>[]> => {
  try {
    return await decideAndSave(inputs, steps)
  } catch (why) {
    if (why instanceof DomainFailure) return inputs.map(() => why)
    const outcomes: Outcome<Answer>[] = []
    for (const input of inputs) outcomes.push(...(await decideAndSave([input], steps).catch(failed)))
    return outcomes
  }
}

export const gaveUp = () => unavailable(`Gave up after ${ROUNDS_MAX} conflicting writes; retry.`)
const failed = (why: unknown) => [unavailable('This write failed; retry.', why)]
