/** Splits items into batches of at most `count` items, each ended once it reaches `size`. */
export async function* batchesOf<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  sizeOf: (item: Item) => number,
  max: { readonly count: number; readonly size: number },
): AsyncGenerator<readonly Item[]> {
  let batch: Item[] = []
  let size = 0
  for await (const item of items) {
    batch.push(item)
    size += sizeOf(item)
    if (batch.length < max.count && size < max.size) continue
    yield batch
    batch = []
    size = 0
  }
  if (batch.length > 0) yield batch
}
