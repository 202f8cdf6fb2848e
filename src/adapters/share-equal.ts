import { detectLoneCalls } from './lone-calls.ts'
import { shareLoop } from './loop-share.ts'

/**
 * Equal reads that arrive in one tick of the event loop share one answer, which is made and written once. It is read after
 * all of them have arrived, so each caller reads what it wrote before, and as a piece of work of its tenant. Equal reads that
 * arrive while one is in flight share the next one, so at most two answers to one question exist at a time. While reads come
 * one at a time, each begins at once, and so does the first of several.
 */
export const shareEqual = <Query extends { readonly tenantId: string }, Answer>(
  read: (query: Query) => Promise<Answer>,
  keyOf: (query: Query) => string = JSON.stringify,
): ((query: Query) => Promise<Answer>) => {
  type Shared = PromiseWithResolvers<Answer> & { readonly query: Query }
  let arrived = new Map<string, Shared>()
  /** Shared reads in flight, each with the one after it, if anyone waits for that. */
  const nextOf = new Map<string, Shared | undefined>()
  const isAlone = detectLoneCalls()
  let readsInFlight = 0

  const begin = (query: Query, onEnd: () => void): Promise<Answer> => {
    readsInFlight++
    const end = () => {
      readsInFlight--
      onEnd()
    }
    const turn = shareLoop(query.tenantId)
    const answer = turn === undefined ? read(query) : turn.then(() => read(query))
    answer.then(end, end)
    return answer
  }

  const beginShared = (key: string, { query, resolve, reject }: Shared): void => {
    nextOf.set(key, undefined)
    const beginNext = () => {
      const next = nextOf.get(key)
      nextOf.delete(key)
      if (next !== undefined) beginShared(key, next)
    }
    begin(query, beginNext).then(resolve, reject)
  }

  const beginArrived = (): void => {
    const reads = arrived
    arrived = new Map()
    for (const [key, shared] of reads) beginShared(key, shared)
  }

  return (query) => {
    if (isAlone() && readsInFlight === 0) return begin(query, ignore)
    const key = keyOf(query)
    if (nextOf.has(key)) {
      const next = nextOf.get(key) ?? { ...Promise.withResolvers<Answer>(), query }
      nextOf.set(key, next)
      return next.promise
    }
    if (arrived.size === 0) setImmediate(beginArrived)
    const shared = arrived.get(key) ?? { ...Promise.withResolvers<Answer>(), query }
    arrived.set(key, shared)
    return shared.promise
  }
}

const ignore = () => {}
