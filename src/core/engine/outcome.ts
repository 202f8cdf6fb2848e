import { DomainFailure } from './failures.ts'

/** The result for one member of a list: its answer or its failure. One member's failure never affects another. */
export type Outcome<Answer> = Answer | DomainFailure

/** A failure is an outcome. Bugs still throw. */
export const asOutcome = (error: unknown): DomainFailure => {
  if (error instanceof DomainFailure) return error
  throw error
}

/** The answer or the error of each of these calls. */
export const settledEach = <Answer>(calls: readonly Promise<Answer>[]): Promise<(Answer | Error)[]> =>
  Promise.all(calls.map((call) => call.catch((error: Error) => error)))

/** Throws the first of these errors, if there is one. */
export const throwFirst = (errors: readonly unknown[]): void => {
  if (errors.length > 0) throw errors[0]
}
