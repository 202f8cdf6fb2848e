import { writeJson } from '../../json/write-json.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import type { RowsQuery, Scanned } from '../ports/world.ts'
import { countThatFit } from './count-that-fit.ts'
import { refuse } from './failures.ts'
import type { Result } from './result.ts'

/** Maximum size of one slice's items as JSON. A single item may be larger. */
export const SLICE_BYTES_MAX = 1_048_576
/** Maximum number of rows that a filtered list reads for one slice. */
export const ROWS_SCANNED_MAX = 10_000

type Slice<Item> = { items: Item[]; hasMore: boolean; nextCursor?: string }
type Listing = SliceQuery & { readonly tenantId: string }
type List<Query, Row, Item> = {
  /** Names the list and its filter, to mark its cursors. */
  readonly nameOf: (query: Query) => string
  /** The rows: see `RowsQuery`. `beforeId` is the position in the cursor. */
  readonly find: (query: Query & RowsQuery) => Promise<readonly Row[] | Scanned<Row>>
  /** The position of a row in the list: by default an id. */
  readonly positionOf: (row: Row) => string
  readonly position?: RegExp
  readonly itemOf: (row: Row, query: Query) => Item
  /** Whether callers see a row; by default they see every one. Hidden rows make a slice shorter. */
  readonly isShown?: (row: Row, query: Query) => boolean
}

/**
 * Answers a query of a list with one slice of at most `limit` items and `SLICE_BYTES_MAX` bytes. The store reads one row
 * more than fits, so `hasMore` is known without counting.
 *
 * A cursor encodes the position of the last item shown, or where reading stopped: it is base64url of `1:<list>:<position>`.
 * It carries no authority: the tenant always comes from the key. It never expires and works even if the row it names is
 * gone. Refuses `invalid_cursor`.
 */
export const sliceOf = <Query extends Listing, Row, Item extends object>(list: List<Query, Row, Item>) => {
  const { nameOf, find, positionOf, position, itemOf, isShown } = list
  return async (query: Query): Promise<Result<Slice<Item>>> => {
    const beforeId = afterCursor(query.cursor, nameOf(query), position)
    const found = await find({ ...query, beforeId })
    const { rows, resume } = 'resume' in found ? found : { rows: found, resume: null }
    const shown = rows.slice(0, query.limit)
    const fitting = firstThatFit(shown.map((row) => itemOf(row, query)))
    const last = shown[fitting.length - 1]
    const isAll = last === undefined || fitting.length === rows.length
    const items = isShown ? fitting.filter((_, i) => isShown(shown[i] as Row, query)) : fitting
    const next = isAll ? resume : positionOf(last)
    if (next === null) return { value: { items, hasMore: false } }
    return { value: { items, hasMore: true, nextCursor: cursorAt(nameOf(query), next) } }
  }
}

/** The first items that together fit into one slice; always at least one. */
const firstThatFit = <Item extends object>(items: Item[]): Item[] => {
  const characters = items.reduce((sum, item) => sum + charactersOf(item), 0)
  // The usual case: nothing is serialized just to be measured.
  if (JSON_BYTES_MAX * characters + NAMES_BYTES_MAX * items.length <= SLICE_BYTES_MAX) return items
  // Items that cannot fit, and one that stands alone, need no measuring either.
  const countMax = countThatFit(items, charactersOf, SLICE_BYTES_MAX)
  if (countMax <= 1) return items.slice(0, 1)
  const bytesOf = (item: Item) => Buffer.byteLength(writeJson(item)) + 1
  return items.slice(0, countThatFit(items.slice(0, countMax), bytesOf, SLICE_BYTES_MAX))
}

/** Maximum size of one character: `\u0001`. */
const JSON_BYTES_MAX = 6
/** Maximum size of one item without its texts: names, numbers and punctuation. */
const NAMES_BYTES_MAX = 1_000

/** The length of all texts in a row or an item: never more than its bytes in JSON. */
export const charactersOf = (row: object): number => {
  let characters = 0
  for (const name in row) {
    const value = (row as Readonly<Record<string, unknown>>)[name]
    if (typeof value === 'string') characters += value.length
    else if (typeof value === 'object' && value !== null) characters += charactersOf(value)
  }
  return characters
}

const ID = /^[a-z]+_[a-z0-9]{26}$/
/** The position after which a list goes on; null at its beginning. */
export const afterCursor = (
  cursor: string | undefined,
  list: string,
  position: RegExp = ID,
): string | null => {
  if (cursor === undefined) return null
  const text = Buffer.from(cursor, 'base64url').toString()
  const mark = `1:${list}:`
  const last = text.slice(mark.length)
  return encode(text) === cursor && text.startsWith(mark) && position.test(last) ? last : invalidCursor()
}

export const invalidCursor = (): never =>
  refuse('invalid_cursor', 'This cursor was not issued by this list with this filter.', {
    errors: [{ detail: 'must be the nextCursor of this list with this filter', parameter: 'cursor' }],
  })

export const cursorAt = (list: string, position: string): string => encode(`1:${list}:${position}`)
const encode = (text: string): string => Buffer.from(text).toString('base64url')
