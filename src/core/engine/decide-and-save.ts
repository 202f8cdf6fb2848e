import { setTimeout } from 'node:timers/promises'
import type { Recorded } from '../ports/world.ts'
import { DomainFailure, unavailable, writeTooLate } from './failures.ts'
import type { Outcome } from './outcome.ts'
import { stopwatch } from './remember-rows.ts'

const ROUNDS_MAX = 10
/** A longer list is split after this many conflicts. */
const ROUNDS_TOGETHER_MAX = 3
const KNOWN_MS_MAX = 10_000

/** Whether a process was suspended since it read, or found in memory, the facts that a write depends on. */
export const isStale = (knownMs: number): boolean => stopwatch() - knownMs > KNOWN_MS_MAX
/** A write that begins later than this after its request stores nothing. `waitMsMax`: the longest wait for a lock or an answer. */
export const lateMsOf = (waitMsMax: number): number => waitMsMax + 10_000
/** Starts when a write is requested. Returns a function that refuses the write with `unavailable` once it is late. */
export const refuserOfLate = (waitMsMax: number) => {
  const lateAfterMs = stopwatch() + lateMsOf(waitMsMax)
  return (): void => {
    if (stopwatch() > lateAfterMs) throw writeTooLate()
  }
}
/** After this time since a change, no write takes effect that depends on older reads. */
export const writtenMsOf = (statementMsMax: number): number =>
  KNOWN_MS_MAX + lateMsOf(statementMsMax) + statementMsMax

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
 * save the decisions in one write; if another writer was faster, or this process was suspended, load and decide again.
 *
 * A list that keeps being overtaken is split in halves, so that only the contended members fail (`unavailable`).
 */
export const decideAndSave = async <Input, Known, Changes, Answer>(
  inputs: readonly Input[],
  steps: WriteSteps<Input, Known, Changes, Answer>,
): Promise<readonly Outcome<Answer>[]> => {
  const roundsMax = inputs.length > 1 ? ROUNDS_TOGETHER_MAX : ROUNDS_MAX
  for (let round = 0; round < roundsMax; round++) {
    const recalledMs = stopwatch()
    const { outcomes, changes } = steps.decide(inputs, await steps.recall(inputs))
    if (changes === null) return outcomes
    if (!isStale(recalledMs) && (await steps.record(changes)) === 'recorded') return outcomes
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

/** Retries a single write, which returns `overtaken` if another writer was faster. */
export const untilRecorded = async <Answer>(write: () => Promise<Answer | 'overtaken'>): Promise<Answer> => {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const answer = await write()
    if (answer !== 'overtaken') return answer
    // Random pauses, so that writers of the same row do not keep overtaking each other.
    await setTimeout(Math.random() * 2 ** round)
  }
  throw gaveUp()
}

const gaveUp = () => unavailable(`Gave up after ${ROUNDS_MAX} conflicting writes; retry.`)
const failed = (why: unknown) => [unavailable('This write failed; retry.', why)]
