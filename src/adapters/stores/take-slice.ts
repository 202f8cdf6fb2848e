import { charactersOf, ROWS_SCANNED_MAX, SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { Scanned } from '../../core/ports/world.ts'

/** Maximum number of rows that are sorted for one slice because no index has their order. */
export const ROWS_SORTED_MAX = 1_000
/** Greater than every id: ids are of lower-case letters, digits and underscores. */
export const AFTER_ALL_IDS = '~'

/** The rows that one slice needs (see `RowsQuery`); the others are not even read. */
export const takeSlice = <Row extends object>(rows: Iterable<Row>, limit: number): Row[] => {
  const taken: Row[] = []
  let characters = 0
  for (const row of rows) {
    const last = taken.at(-1)
    if (last !== undefined) characters += charactersOf(last)
    taken.push(row)
    if (taken.length > limit || characters > SLICE_BYTES_MAX) break
  }
  return taken
}

/**
 * The rows that match, until they fill a slice, among the 10,000 newest and the rows of the same step as the last of
 * them. If these did not suffice, the list resumes at that step.
 */
export const scan = <Row extends object>(
  rows: Iterable<Row>,
  limit: number,
  matches: (row: Row) => boolean,
  stepOf: (row: Row) => string,
): Scanned<Row> => {
  let scannedCount = 0
  let currentStep = ''
  const matching = function* () {
    for (const row of rows) {
      if (scannedCount >= ROWS_SCANNED_MAX && stepOf(row) !== currentStep) return
      scannedCount++
      if (scannedCount <= ROWS_SCANNED_MAX) currentStep = stepOf(row)
      if (matches(row)) yield row
    }
  }
  const taken = takeSlice(matching(), limit)
  const isMore = scannedCount >= ROWS_SCANNED_MAX && taken.length <= limit
  return { rows: taken, resume: isMore ? currentStep : null }
}
