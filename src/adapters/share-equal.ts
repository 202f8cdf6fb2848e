import { shareLoop } from './loop-share.ts'

/**
 * Equal reads that arrive in one tick of the event loop share one answer, which is made and written once. It is read after
 * all of them have arrived, so each caller reads what it wrote before, and as a piece of work of its tenant.
 */
export const shareEqual = <Query extends { readonly tenantId: string }, Answer>(
  read: (query: Query) => Promise<Answer>,
  keyOf: (query: Query) => string = JSON.stringify,
): ((query: Query) => Promise<Answer>) => {
  const arrived = new Map<string, Promise<Answer>>()
  return (query) => {
    const key = keyOf(query)
    const shared = arrived.get(key)
    if (shared !== undefined) return shared
    const answer = new Promise<Answer>((resolve) => {
      setImmediate(() => {
        arrived.delete(key)
        const turn = shareLoop(query.tenantId)
        resolve(turn === undefined ? read(query) : turn.then(() => read(query)))
      })
    })
    arrived.set(key, answer)
    return answer
  }
}
