import { DomainFailure } from './failures.ts'

/** The result for one member of a list: its answer or its failure. One member's failure never affects another. */
export type Outcome<Answer> = Answer | DomainFailure

/** A failure is an outcome. Bugs still throw. */
export const asOutcome = (error: unknown): DomainFailure => {
  if (error instanceof DomainFailure) return error
  throw error
}

/** The result of the attempt, or null if it throws. */
export const orNull = <Answer>(attempt: () => Answer): Answer | null => {
  try {
    return attempt()
  } catch {
    return null
  }
}

/** Throws the first of these errors, if there is one. */
export const throwFirst = (errors: readonly unknown[]): void => {
  if (errors.length > 0) throw errors[0]
}

/** Calls an embedder's listener. One that throws must not cost an answer or a write, so its error is printed. */
export const callHook = (listener: () => void): void => {
  try {
    listener()
  } catch (error) {
    console.error(error)
  }
}

/** The number of items, from the first, that together weigh no more than the maximum. At least one, however heavy. */
export const countThatFit = <Item>(
  items: readonly Item[],
  weightOf: (item: Item) => number,
  weightMax: number,
): number => {
  let weight = 0
  const tooMany = items.findIndex((item, i) => {
    weight += weightOf(item)
    return i > 0 && weight > weightMax
  })
  return tooMany < 0 ? items.length : tooMany
}
