/** Ids in order of age. New ones nearly always come last. */
const sortedIds = () => {
  const ids: string[] = []
  /** How many ids are less than this one. */
  const rankOf = (id: string): number => {
    let low = 0
    let high = ids.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((ids[middle] as string) < id) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    add: (id: string): void => {
      ids.splice(rankOf(id), 0, id)
    },
    /** Newest first, beginning with the newest before `beforeId`. */
    *backFrom(beforeId: string | null): Generator<string> {
      for (let i = (beforeId === null ? ids.length : rankOf(beforeId)) - 1; i >= 0; i--)
        yield ids[i] as string
    },
  }
}

export type SortedIds = ReturnType<typeof sortedIds>

export const idsIn = (lists: Map<string, SortedIds>, key: string): SortedIds => {
  const ids = lists.get(key) ?? sortedIds()
  lists.set(key, ids)
  return ids
}
