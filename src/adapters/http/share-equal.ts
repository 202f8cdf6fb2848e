import { shareLoop } from './share-loop.ts'

/**
 * Equal reads that arrive in one turn of the event loop share one answer, which is made and written once. It is read after
 * all of them have arrived, so each caller reads what it wrote before, and as a piece of work of its tenant.
 */
export const shareEqual = <Want extends { readonly tenantId: string }, Answer>(
  read: (want: Want) => Promise<Answer>,
  keyOf: (want: Want) => string = JSON.stringify,
): ((want: Want) => Promise<Answer>) => {
  const arrived = new Map<string, Promise<Answer>>()
  return (want) => {
    const key = keyOf(want)
    const shared = arrived.get(key)
    if (shared !== undefined) return shared
    const answer = new Promise<Answer>((resolve) => {
      setImmediate(() => {
        arrived.delete(key)
        const busy = shareLoop(want.tenantId)
        resolve(busy === undefined ? read(want) : busy.then(() => read(want)))
      })
    })
    arrived.set(key, answer)
    return answer
  }
}
