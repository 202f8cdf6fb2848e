import { DomainFailure } from './failures.ts'

/** The result for one member of a list: its answer or its failure. One member's failure never affects another. */
export type Outcome<Answer> = Answer | DomainFailure

/** Decides one member of a list. Bugs still throw. */
export const attempt = <Answer>(decideOne: () => Answer): Outcome<Answer> => {
  try {
    return decideOne()
  } catch (why) {
    return asOutcome(why)
  }
}

/** A failure is an outcome. Bugs still throw. */
export const asOutcome = (why: unknown): DomainFailure => {
  if (why instanceof DomainFailure) return why
  throw why
}
