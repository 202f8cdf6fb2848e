/** Walks over lists by cursor, and what is wrong with one, in words. */

type Slice<Item> = {
  readonly items: readonly Item[]
  readonly hasMore: boolean
  readonly nextCursor?: string | undefined
}

const SLICES_MAX = 10_000

/** The ids of a list from its beginning to its end, in the order in which they came. */
export const walk = async <Item>(
  sliceAfter: (cursor: string | undefined) => Promise<Slice<Item>>,
  idOf: (item: Item) => string,
): Promise<string[]> => {
  const ids: string[] = []
  let cursor: string | undefined
  for (let slices = 0; slices < SLICES_MAX; slices++) {
    const { items, hasMore, nextCursor } = await sliceAfter(cursor)
    ids.push(...items.map(idOf))
    if (!hasMore) return ids
    cursor = nextCursor
  }
  throw new Error('a walk that does not end')
}

/** `throughout`: ids that were there before the walk began and until it had ended. */
export const walkFaults = (ids: readonly string[], throughout: Iterable<string>): string[] => {
  const seen = new Set(ids)
  const disorder = ids.filter((id, i) => i > 0 && id >= (ids[i - 1] as string))
  const skipped = [...throughout].filter((id) => !seen.has(id))
  return [...disorder.map((id) => `twice or out of order: ${id}`), ...skipped.map((id) => `skipped: ${id}`)]
}
