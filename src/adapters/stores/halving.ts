import { isUnavailable } from '../../core/engine/failures.ts'
import type { Outcome } from '../../core/engine/outcome.ts'
import type { Member } from './pending-calls.ts'

/** Returns an answer or a failure for each input, in the same order. */
export type Run<Input, Answer> = (inputs: readonly Input[]) => Promise<readonly Outcome<Answer>[]>

/**
 * Runs a list and settles each member. A list that fails is halved, and each half is run, so that no call fails for
 * another; but not after `unavailable`, because the write may have happened: then this rejects, and the members that are
 * not settled yet fail with it.
 */
export const halving = <Input, Answer>(
  run: Run<Input, Answer>,
  settle: (member: Member<Input, Answer>, outcome: Outcome<Answer>) => void,
) => {
  const runList = async (list: readonly Member<Input, Answer>[]): Promise<void> => {
    let outcomes: readonly Outcome<Answer>[]
    try {
      outcomes = await run(list.map(({ input }) => input))
    } catch (error) {
      if (list.length === 1 || isUnavailable(error)) throw error
      const middle = Math.ceil(list.length / 2)
      await runHalf(list.slice(0, middle))
      await runHalf(list.slice(middle))
      return
    }
    for (const [i, member] of list.entries()) settle(member, outcomes[i] as Outcome<Answer>)
  }

  const runHalf = async (half: readonly Member<Input, Answer>[]): Promise<void> => {
    try {
      await runList(half)
    } catch (error) {
      if (isUnavailable(error)) throw error
      for (const { reject } of half) reject(error)
    }
  }

  return runList
}
