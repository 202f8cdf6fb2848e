import { detectLoneCalls } from './lone-calls.ts'
import { shareLoop } from './loop-share.ts'

/**
 * Equal reads that arrive in one tick of the event loop share one answer, which is made and written once. It is read after
 * all of them have arrived, so each caller reads what it wrote before, and as a piece of work of its tenant. While reads
 * come one at a time, each begins at once.
 */
export const shareEqual = <Query extends { readonly tenantId: string }, Answer>(
  read: (query: Query) => Promise<Answer>,
  keyOf: (query: Query) => string = JSON.stringify,
): ((query: Query) => Promise<Answer>) => {
  type Arrived = PromiseWithResolvers<Answer> & { readonly query: Query }
  let arrived = new Map<string, Arrived>()
  const isAlone = detectLoneCalls()
  let readsInFlight = 0

  const start = ({ query, resolve, reject }: Arrived): void => {
    readsInFlight++
    const end =
      <Result>(settle: (result: Result) => void) =>
      (result: Result) => {
        readsInFlight--
        settle(result)
      }
    const turn = shareLoop(query.tenantId)
    const answer = turn === undefined ? read(query) : turn.then(() => read(query))
    answer.then(end(resolve), end(reject))
  }

  const startArrived = (): void => {
    const reads = arrived
    arrived = new Map()
    for (const arrivedRead of reads.values()) start(arrivedRead)
  }

  return (query) => {
    const schedule = isAlone() && readsInFlight === 0 ? queueMicrotask : setImmediate
    if (arrived.size === 0) schedule(startArrived)
    const key = keyOf(query)
    const shared = arrived.get(key) ?? { ...Promise.withResolvers<Answer>(), query }
    arrived.set(key, shared)
    return shared.promise
  }
}
