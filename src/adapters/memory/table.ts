import { keyOf } from '../../core/engine/keys.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'

type Wanted<Row> = { readonly [Name in keyof Row]?: Row[Name] | null }
type Index<Row> = ReturnType<typeof indexBy<Row>>

/**
 * Rows in lists. Rows with the same values of the members `listedBy` share a list, sorted by the members `sortedBy`. A
 * row with a null among these, or with an empty text if these are computed, is in no list.
 */
export const indexBy = <Row>(
  listedBy: readonly (keyof Row)[],
  sortedBy: readonly (keyof Row)[] | ((row: Row) => string) = [],
) => {
  const lists = new Map<string, Row[]>()
  const listOf = textOf<Row>(listedBy)
  const placeOf =
    typeof sortedBy === 'function' ? (sortedBy as (row: Wanted<Row>) => string) : textOf<Row>(sortedBy)
  const rowsOf = (lookup: Wanted<Row>): Row[] => lists.get(listOf(lookup)) ?? []
  /** How many rows sort before a place. New rows nearly always come last. */
  const rankIn = (rows: readonly Row[], place: string): number => {
    let low = 0
    let high = rows.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (placeOf(rows[middle] as Row) < place) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    add: (row: Row): void => {
      const list = placeOf(row) && listOf(row)
      if (list === '') return
      const rows = lists.get(list)
      if (rows === undefined) lists.set(list, [row])
      else rows.splice(rankIn(rows, placeOf(row)), 0, row)
    },
    remove: (row: Row): void => {
      if (placeOf(row) === '') return
      const rows = rowsOf(row)
      rows.splice(rankIn(rows, placeOf(row)), 1)
      if (rows.length === 0) lists.delete(listOf(row))
    },
    at: (lookup: Wanted<Row>): Row | undefined => {
      const rows = rowsOf(lookup)
      const place = placeOf(lookup)
      const row = rows[rankIn(rows, place)]
      return row !== undefined && placeOf(row) === place ? row : undefined
    },
    /** Newest first: the rows before a place, down to another. */
    *backFrom(lookup: Wanted<Row>, before: string | null = null, from: string | null = null): Generator<Row> {
      const rows = rowsOf(lookup)
      const end = rankIn(rows, from ?? '')
      for (let i = rankIn(rows, before ?? AFTER_ALL_IDS) - 1; i >= end; i--) yield rows[i] as Row
    },
    /** Oldest first: the rows from a place on, up to another. */
    *onFrom(lookup: Wanted<Row>, from: string, before: string): Generator<Row> {
      const rows = rowsOf(lookup)
      const end = rankIn(rows, before)
      for (let i = rankIn(rows, from); i < end; i++) yield rows[i] as Row
    },
    /** Oldest first: at most `max` rows after one id and before another. */
    after(lookup: Wanted<Row>, afterId = '', beforeId = AFTER_ALL_IDS, max = Infinity): Row[] {
      const rows = rowsOf(lookup)
      const start = rankIn(rows, `${afterId}!`)
      return rows.slice(start, Math.min(start + max, rankIn(rows, beforeId)))
    },
    all: (): Row[] => [...lists.values()].flat(),
  }
}

export type IsActive = (row: { readonly tenantId: string }) => boolean
/** Registers a table as one that holds rows of tenants. */
export type RegisterTable = <Owned extends TenantTable>(name: string, table: Owned) => Owned
export type TenantTable = {
  readonly all: () => { tenantId: string }[]
  readonly remove: (row: never) => void
}

/** Rows under several indexes. A row is replaced, never changed in place. */
export const tableOf = <Row extends object, Name extends string>(
  indexes: Readonly<Record<Name, Index<Row>>>,
) => {
  const all: Index<Row>[] = Object.values(indexes)
  const add = (row: Row): void => {
    for (const index of all) index.add(row)
  }
  const remove = (row: Row): void => {
    for (const index of all) index.remove(row)
  }
  /** Returns the row with its changes, if there is one. */
  const change = (before: Row | undefined, fields: Partial<Row>): Row | null => {
    if (before === undefined) return null
    const after = { ...before, ...fields }
    remove(before)
    add(after)
    return after
  }
  return { ...indexes, add, remove, change, all: () => all[0]?.all() ?? [] }
}

/** Joins these members of a row; empty if one of them is null. Without names the text is the same for all rows. */
const textOf = <Row>(names: readonly (keyof Row)[]) => {
  const [first] = names
  if (first === undefined) return () => '*'
  // The fast path of nearly every comparison.
  if (names.length === 1) return (row: Wanted<Row>) => (row[first] ?? '') as string
  return (row: Wanted<Row>) => {
    const texts = names.map((name) => row[name])
    return texts.includes(null) ? '' : keyOf(...(texts as string[]))
  }
}

export const compare = (a: string, b: string): number => {
  if (a === b) return 0
  return a < b ? -1 : 1
}
