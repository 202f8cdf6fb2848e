import type { Recorded } from '../ports/world.ts'
import { refuse } from './failures.ts'

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
