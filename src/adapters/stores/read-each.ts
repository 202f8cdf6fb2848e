import { asOutcome, type Outcome } from '../../core/engine/outcome.ts'
import { mapSharingLoop } from '../../core/engine/share-loop.ts'
import { shareLoop } from '../loop-share.ts'

/**
 * Turns a read of one query into a read of many; each takes its tenant's turn. One query's failure never affects another.
 */
export const readEach =
  <Query extends { readonly tenantId: string }, Answer>(read: (query: Query) => Promise<Answer>) =>
  async (queries: readonly Query[]): Promise<Outcome<Answer>[]> => {
    const start = (query: Query) => {
      const answer = read(query).catch(asOutcome)
      // It may fail while the next query waits for its turn, before anyone awaits this one.
      answer.catch(() => {})
      return answer
    }
    return Promise.all(await mapSharingLoop(shareLoop, queries, start))
  }
