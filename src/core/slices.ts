import { refuse } from './failures.ts'

/**
 * The rows of a list as one slice of it. The store was asked for one row more than is shown, so that `hasMore` is
 * known without counting. Where its rows are heavier than `bytesMax` a slice is shorter than asked for.
 *
 * A cursor is base64url of `1:<list>:<last id shown>`, where `list` marks the list and its filter. It carries no
 * authority: the tenant always comes from the key. It never expires and works when the row it names is gone.
 */
export const sliceOf = <Row, Item>(
  rows: readonly Row[],
  {
    list,
    limit,
    idOf,
    itemOf,
    bytesOf = () => 0,
    bytesMax = Number.POSITIVE_INFINITY,
  }: {
    list: string
    limit: number
    idOf: (row: Row) => string
    itemOf: (row: Row) => Item
    bytesOf?: (row: Row) => number
    bytesMax?: number
  },
): { items: Item[]; hasMore: boolean; nextCursor?: string } => {
  const shown = rows.slice(0, Math.min(limit, fitting(rows, bytesOf, bytesMax)))
  const last = shown.at(-1)
  const items = shown.map(itemOf)
  if (rows.length === shown.length || last === undefined) return { items, hasMore: false }
  return { items, hasMore: true, nextCursor: encode(`1:${list}:${idOf(last)}`) }
}

/** How many of the first rows are no heavier together than that; one is, however heavy. */
const fitting = <Row>(rows: readonly Row[], bytesOf: (row: Row) => number, bytesMax: number): number => {
  let bytes = 0
  const tooMany = rows.findIndex((row, i) => {
    bytes += bytesOf(row)
    return i > 0 && bytes > bytesMax
  })
  return tooMany < 0 ? rows.length : tooMany
}

/** The id after which a list goes on; null at its beginning. Refuses `invalid_cursor`. */
export const afterCursor = (cursor: string | undefined, list: string): string | null => {
  if (cursor === undefined) return null
  const text = Buffer.from(cursor, 'base64url').toString()
  const mark = `1:${list}:`
  const lastId = text.slice(mark.length)
  if (encode(text) !== cursor || !text.startsWith(mark) || !/^[a-z]+_[a-z0-9]{26}$/.test(lastId))
    refuse('invalid_cursor', 'The cursor is not one that this list, with this filter, has given.', {
      errors: [{ detail: 'must be the nextCursor of this very list', parameter: 'cursor' }],
    })
  return lastId
}

const encode = (text: string): string => Buffer.from(text).toString('base64url')
