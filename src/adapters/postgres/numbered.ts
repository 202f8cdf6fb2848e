import type { RowsQuery } from '../../core/ports/world.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'

/** Numbers the wants of a batch: each row that is read for one of them has its `number`. */
export const numbered = <Want extends object>(wants: readonly Want[]) =>
  wants.map((want, number) => ({ ...want, number }))

/** Numbers the wants of lists. A list reads one row more than its limit, which shows whether more follow. */
export const numberedSlices = <Want extends RowsQuery>(wants: readonly Want[]) =>
  wants.map((want, number) => ({
    ...want,
    number,
    beforeId: want.beforeId ?? AFTER_ALL_IDS,
    rowsMax: want.limit + 1,
  }))

/** The rows for each want, in the order of the wants. */
export const rowsOfEach = <Row extends { readonly number: number }>(
  wants: readonly object[],
  rows: readonly Row[],
): readonly (readonly Row[])[] => {
  const byNumber = Map.groupBy(rows, ({ number }) => number)
  return wants.map((_, number) => byNumber.get(number) ?? [])
}
