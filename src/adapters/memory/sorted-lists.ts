/** Lists of rows in the order of their ids. New rows nearly always come last. */
export const sortedLists = <Row>(idOf: (row: Row) => string) => {
  const lists = new Map<string, Row[]>()
  /** How many rows have a lesser id. */
  const rankIn = (rows: readonly Row[], id: string): number => {
    let [low, high] = [0, rows.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (idOf(rows[middle] as Row) < id) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    add: (list: string, row: Row): void => {
      const rows = lists.get(list) ?? []
      lists.set(list, rows)
      rows.splice(rankIn(rows, idOf(row)), 0, row)
    },
    remove: (list: string, row: Row): void => {
      const rows = lists.get(list) ?? []
      const rank = rankIn(rows, idOf(row))
      if (rows[rank] && idOf(rows[rank]) === idOf(row)) rows.splice(rank, 1)
    },
    /** Newest first, beginning with the newest before `beforeId`. */
    *backFrom(list: string, beforeId: string | null): Generator<Row> {
      const rows = lists.get(list) ?? []
      for (let i = (beforeId === null ? rows.length : rankIn(rows, beforeId)) - 1; i >= 0; i--)
        yield rows[i] as Row
    },
  }
}
