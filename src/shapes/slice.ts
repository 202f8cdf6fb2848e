import * as v from 'valibot'
import { described, documented, inForm, optional } from './text.ts'

export const ITEMS_MAX = 100
/** A whole number in a query. */
export const wholeText = (minimum: number, maximum: number, description: string) => {
  const isWhole = (digits: string) =>
    /^[0-9]+$/.test(digits) && Number(digits) >= minimum && Number(digits) <= maximum
  const detail = `must be a whole number from ${minimum} to ${maximum}`
  return inForm(
    'number',
    v.pipe(
      v.string(),
      documented(v.check(isWhole, detail), { type: 'integer', minimum, maximum }),
      v.description(description),
      v.transform(Number),
    ),
  )
}
const LIMIT = 'The maximum number of items to return. A slice may hold fewer while `hasMore` is true.'
export const limit = () => wholeText(1, ITEMS_MAX, LIMIT)

/** Query of every list. */
export const SliceQuery = v.object({
  cursor: optional(v.string(), 'The `nextCursor` of the previous slice, unchanged and with the same filter.'),
  limit: v.optional(limit(), '20'),
})
export type SliceQuery = v.InferOutput<typeof SliceQuery>

/** One answer of a list. `nextCursor` is present exactly when `hasMore` is true. */
export const sliceOf = <const Item extends v.GenericSchema>(item: Item) => ({
  items: described(v.pipe(v.array(item), v.maxLength(ITEMS_MAX)), 'Newest first.'),
  hasMore: described(v.boolean(), 'Whether more items follow.'),
  nextCursor: optional(
    v.string(),
    'Present if `hasMore` is true. Pass it as `cursor` to get the next slice.',
  ),
})
