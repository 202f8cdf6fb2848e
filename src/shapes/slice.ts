import * as v from 'valibot'
import { documented } from './text.ts'

const isLimit = (given: string): boolean =>
  /^[0-9]+$/.test(given) && Number(given) >= 1 && Number(given) <= 100
const limit = () =>
  v.pipe(
    v.string(),
    documented(v.check(isLimit, 'must be a whole number from 1 to 100, in digits'), {
      type: 'integer',
      minimum: 1,
      maximum: 100,
    }),
    v.transform(Number),
  )

/** Query of every list, specification 4.2 and 4.3. */
export const sliceQuery = {
  cursor: v.optional(v.pipe(v.string(), v.description('`nextCursor` of the slice before.'))),
  limit: v.optional(limit(), '20'),
}
export const SliceQuery = v.object(sliceQuery)
export type SliceQuery = v.InferOutput<typeof SliceQuery>

/** One answer of a list: `nextCursor` is there exactly when `hasMore` is true. */
export const sliceOf = <const Item extends v.GenericSchema>(item: Item) => ({
  items: v.array(item),
  hasMore: v.boolean(),
  nextCursor: v.optional(v.string()),
})
