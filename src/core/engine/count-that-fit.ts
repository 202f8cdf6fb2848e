/** The number of items, from the first, that together weigh no more than the maximum. At least one, however heavy. */
export const countThatFit = <Item>(
  items: readonly Item[],
  weightOf: (item: Item) => number,
  weightMax: number,
): number => {
  let weight = 0
  const tooMany = items.findIndex((item, i) => {
    weight += weightOf(item)
    return i > 0 && weight > weightMax
  })
  return tooMany < 0 ? items.length : tooMany
}
