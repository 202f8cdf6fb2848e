import { detectLoneCalls } from './lone-calls.ts'
import { shareLoop } from './loop-share.ts'

/**
 * Equal reads that arrive in one tick of the event loop share one answer, which is made and written once. It is read after
 * all of them have arrived, so each caller reads what it wrote before, and as a piece of work of its tenant. While reads
 * come one at a time, each begins at once, and so does the first of several.
 */
export const shareEqual = <Query extends { readonly tenantId: string }, Answer>(
  read: (query: Query) => Promise<Answer>,
  keyOf: (query: Query) => string = JSON.stringify,
): ((query: Query) => Promise<Answer>) => {
  type Arrived = PromiseWithResolvers<Answer> & { readonly query: Query }
  let arrived = new Map<string, Arrived>()
  const isAlone = detectLoneCalls()
  let readsInFlight = 0
  const end = () => {
    readsInFlight--
  }

  const begin = (query: Query): Promise<Answer> => {
    readsInFlight++
    const turn = shareLoop(query.tenantId)
    const answer = turn === undefined ? read(query) : turn.then(() => read(query))
    answer.then(end, end)
    return answer
  }

  const startArrived = (): void => {
    const reads = arrived
    arrived = new Map()
    for (const { query, resolve, reject } of reads.values()) begin(query).then(resolve, reject)
  }

  return (query) => {
    if (isAlone() && readsInFlight === 0) return begin(query)
    if (arrived.size === 0) setImmediate(startArrived)
    const key = keyOf(query)
    const shared = arrived.get(key) ?? { ...Promise.withResolvers<Answer>(), query }
    arrived.set(key, shared)
    return shared.promise
  }
}
