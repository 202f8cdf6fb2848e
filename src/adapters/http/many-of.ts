import { eachInTurn } from '../../core/engine/each-in-turn.ts'
import { asOutcome, type Outcome } from '../../core/engine/outcome.ts'
import { shareLoop } from './share-loop.ts'

/** A read of one as a read of many, each a piece of work of its tenant. One member's failure never affects another. */
export const manyOf =
  <Want extends { readonly tenantId: string }, Answer>(read: (want: Want) => Promise<Answer>) =>
  async (wants: readonly Want[]): Promise<Outcome<Answer>[]> => {
    const readOne = (want: Want) => {
      const answer = read(want).catch(asOutcome)
      // It may fail while the next want waits for its turn, before anyone awaits this one.
      answer.catch(() => {})
      return answer
    }
    return Promise.all(await eachInTurn(shareLoop, wants, readOne))
  }
