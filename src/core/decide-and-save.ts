import { DomainFailure, type Outcome } from './failures.ts'
import type { Recorded } from './ports.ts'

const ROUNDS_MAX = 10

/**
 * The one idea of this house, for every write: load what a list needs in one read, decide each of its members in
 * order, save what was decided in one write; and where somebody else got there first, load and decide again.
 */
export const decideAndSave = async <Known, Changes, Answer>(story: {
  recall: () => Promise<Known>
  decide: (known: Known) => {
    readonly outcomes: readonly Outcome<Answer>[]
    readonly changes: Changes | null
  }
  record: (changes: Changes) => Promise<Recorded>
}): Promise<readonly Outcome<Answer>[]> => {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const { outcomes, changes } = story.decide(await story.recall())
    if (changes === null || (await story.record(changes)) === 'recorded') return outcomes
  }
  throw new DomainFailure('unavailable', 'Others kept writing the same things at the same moment.', {
    retryAfterS: 1,
  })
}
