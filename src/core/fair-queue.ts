type Line<Item> = { items: Item[]; next: number }
type Bounds<Item> = {
  readonly lengthMax: number
  readonly weightMax: number
  readonly weightOf: (item: Item) => number
}

/** What is taken is dropped many at once: taking one from the front of an array moves all the others. */
const DROPPED_AT_ONCE = 256

/** A queue of several lines: first come, first served within a line, and the lines take turns. */
export const fairQueue = <Item>() => {
  const lines = new Map<string, Line<Item>>()
  let length = 0

  /** Takes the next of the line whose turn it is; the line goes to the end of those who wait. */
  const takeFrom = (name: string, line: Line<Item>): Item => {
    const item = line.items[line.next++] as Item
    length--
    const isEmpty = line.next === line.items.length
    if (isEmpty || lines.size > 1) lines.delete(name)
    if (!isEmpty) lines.set(name, line)
    if (line.next === DROPPED_AT_ONCE) {
      line.items = line.items.slice(DROPPED_AT_ONCE)
      line.next = 0
    }
    return item
  }

  return {
    length: () => length,
    push: (name: string, item: Item): void => {
      const line = lines.get(name)
      if (line === undefined) lines.set(name, { items: [item], next: 0 })
      else line.items.push(item)
      length++
    },
    /** The next items, as many as fit; at least one, however heavy. */
    take: ({ lengthMax, weightMax, weightOf }: Bounds<Item>): Item[] => {
      const taken: Item[] = []
      let weight = 0
      while (taken.length < lengthMax) {
        const turn = lines.entries().next()
        if (turn.done) break
        const [name, line] = turn.value
        weight += weightOf(line.items[line.next] as Item)
        if (weight > weightMax && taken.length > 0) break
        taken.push(takeFrom(name, line))
      }
      return taken
    },
  }
}
