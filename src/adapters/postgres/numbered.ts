import type { RowsQuery } from '../../core/ports/world.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'

/** Numbers the lookups of a batch: each row that is read for one of them has its `number`. */
export const numbered = <Lookup extends object>(lookups: readonly Lookup[]) =>
  lookups.map((lookup, number) => ({ ...lookup, number }))

/** Numbers the lookups of lists. A list reads one row more than its limit, which shows whether more follow. */
export const numberedSlices = <Lookup extends RowsQuery>(lookups: readonly Lookup[]) =>
  lookups.map((lookup, number) => ({
    ...lookup,
    number,
    beforeId: lookup.beforeId ?? AFTER_ALL_IDS,
    rowsMax: lookup.limit + 1,
  }))

/** The rows for each lookup, in the order of the lookups. */
export const rowsOfEach = <Row extends { readonly number: number }>(
  lookups: readonly object[],
  rows: readonly Row[],
): readonly (readonly Row[])[] => {
  if (lookups.length === 1) return [rows]
  const byNumber = Map.groupBy(rows, ({ number }) => number)
  return lookups.map((_, number) => byNumber.get(number) ?? [])
}
