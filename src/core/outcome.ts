import { DomainFailure } from './failures.ts'
import { eachInTurn } from './share-loop.ts'

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

/** A read of one as a read of many. One's failure never affects another. */
export const manyOf =
  <Want extends { readonly tenantId: string }, Answer>(read: (want: Want) => Promise<Answer>) =>
  async (wants: readonly Want[]): Promise<Outcome<Answer>[]> => {
    const readOne = (want: Want) => {
      const answer = read(want).catch(asOutcome)
      // It may fail while the next want waits for its turn, before anybody awaits this one.
      answer.catch(() => {})
      return answer
    }
    return Promise.all(await eachInTurn(wants, readOne))
  }

/** Decides each member of a list. One that has failed before keeps its failure. */
export const attemptEach = <One, Answer>(
  list: readonly Outcome<One>[],
  decideOne: (one: One, i: number) => Outcome<Answer>,
): Outcome<Answer>[] =>
  list.map((one, i) => (one instanceof DomainFailure ? one : attempt(() => decideOne(one, i))))

/** Runs those that have not failed, as one list, and puts their answers in their places. */
export const runValid = async <One, Answer>(
  list: readonly Outcome<One>[],
  run: (valid: readonly One[]) => Promise<readonly Answer[]>,
): Promise<readonly Outcome<Answer>[]> => {
  const valid = list.filter((one): one is One => !(one instanceof DomainFailure))
  if (valid.length > 0 && valid.length === list.length) return run(valid)
  const answers = (valid.length === 0 ? [] : await run(valid)).values()
  return list.map((one) => (one instanceof DomainFailure ? one : (answers.next().value as Answer)))
}
