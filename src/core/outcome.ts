import { DomainFailure } from './failures.ts'

/** The result for one member of a list: its answer or its failure. One member's failure never affects another. */
export type Outcome<Answer> = Answer | DomainFailure

/** Decides one member of a list. Bugs still throw. */
export const attempt = <Answer>(decideOne: () => Answer): Outcome<Answer> => {
  try {
    return decideOne()
  } catch (failure) {
    if (failure instanceof DomainFailure) return failure
    throw failure
  }
}
