import { DomainFailure } from './failures.ts'

/** The result for one member of a list: its answer or its failure. One member's failure never affects another. */
export type Outcome<Answer> = Answer | DomainFailure

/** A failure is an outcome. Bugs still throw. */
export const asOutcome = (error: unknown): DomainFailure => {
  if (error instanceof DomainFailure) return error
  throw error
}

/** Runs all inputs at the same time. Returns the answer or the error of each. */
export const settledEach = <Input, Answer>(
  inputs: readonly Input[],
  run: (input: Input) => Promise<Answer>,
): Promise<(Answer | Error)[]> =>
  Promise.all(
    inputs.map(async (input) => {
      try {
        return await run(input)
      } catch (error) {
        return error as Error
      }
    }),
  )

/** Throws the first of these errors, if there is one. */
export const throwFirst = (errors: readonly unknown[]): void => {
  if (errors.length > 0) throw errors[0]
}
