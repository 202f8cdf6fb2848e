/** Walks over lists by cursor, and what is wrong with one, in words. */

type Slice<Item> = {
  readonly items: readonly Item[]
  readonly hasMore: boolean
  readonly nextCursor?: string | undefined
}

const SLICES_MAX = 10_000
/** Thousands more would only hide them. */
const FAULTS_MAX = 10

/** The ids of a list from its beginning to its end, in the order in which they came; as far as the first that repeats. */
export const walk = async <Item>(
  sliceAfter: (cursor: string | undefined) => Promise<Slice<Item>>,
  idOf: (item: Item) => string,
): Promise<string[]> => {
  const ids: string[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  for (let slices = 0; slices < SLICES_MAX; slices++) {
    const { items, hasMore, nextCursor } = await sliceAfter(cursor)
    for (const item of items) {
      ids.push(idOf(item))
      seen.add(idOf(item))
    }
    // A walk in circles would not end.
    if (!hasMore || seen.size < ids.length) return ids
    cursor = nextCursor
  }
  throw new Error('a walk that does not end')
}

/** `throughout`: ids that were there before the walk began and until it had ended. */
export const walkFaults = (ids: readonly string[], throughout: Iterable<string>): string[] => {
  const seen = new Set(ids)
  const disorder = ids.filter((id, i) => i > 0 && id >= (ids[i - 1] as string))
  const skipped = [...throughout].filter((id) => !seen.has(id))
  return [
    ...disorder.map((id) => `twice or out of order: ${id}`),
    ...skipped.map((id) => `skipped: ${id}`),
  ].slice(0, FAULTS_MAX)
}
