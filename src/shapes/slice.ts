import * as v from 'valibot'
import { described, documented, optional } from './text.ts'

export const ITEMS_MAX = 100
const isLimit = (given: string): boolean =>
  /^[0-9]+$/.test(given) && Number(given) >= 1 && Number(given) <= ITEMS_MAX
export const limit = () =>
  v.pipe(
    v.string(),
    documented(v.check(isLimit, 'must be a whole number from 1 to 100'), {
      type: 'integer',
      minimum: 1,
      maximum: ITEMS_MAX,
    }),
    v.description('The maximum number of items to return. A slice may hold fewer while `hasMore` is true.'),
    v.transform(Number),
  )

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
