import { gather } from './gather.ts'
import { LOOKUPS_MAX } from './together.ts'

/**
 * However many ids are guessed at once, they are looked up by one statement at a time. Rows that exist wait for no slow one.
 */
const LOOK_UPS = { listLengthMax: LOOKUPS_MAX, listsInFlightMax: 1, dedupeKey: String }

/** How many rows are kept, for how long at most, and whether they can be trusted now: see `hasAllSignals` of a store. */
export type RowLimits = {
  readonly rowsMax: number
  readonly msMax: number
  readonly hasAllSignals: () => boolean
}

/**
 * Keeps rows such as API keys in memory, so that a request costs no look-up. They are looked up again after a signal
 * that some have changed, and after `msMax` in case the signal is lost. A remembered row is trusted only while
 * `hasAllSignals`. Rows that do not exist are not remembered. `stopwatch`: milliseconds of a monotonic clock.
 */
export const rememberRows = <Row>(
  findRows: (ids: readonly string[]) => Promise<readonly Row[]>,
  idOf: (row: Row) => string,
  stopwatch: () => number,
  { rowsMax, msMax, hasAllSignals }: RowLimits,
) => {
  const remembered = new Map<string, { row: Row; until: number; afterSignals: number }>()
  let signals = 0

  const findEach = async (ids: readonly string[]): Promise<(Row | null)[]> => {
    const found = new Map((await findRows(ids)).map((row) => [idOf(row), row]))
    return ids.map((id) => found.get(id) ?? null)
  }
  // Separate, so that no known row waits for guesses.
  const findKnown = gather(findEach, { ...LOOK_UPS, listsInFlightMax: 4 })
  const findUnknown = gather(findEach, LOOK_UPS)
  const lookUp = async (id: string, wasKnown: boolean): Promise<Row | null> => {
    const validity = { until: stopwatch() + msMax, afterSignals: signals }
    const row = await (wasKnown ? findKnown : findUnknown)(id)
    if (row === null) remembered.delete(id)
    else {
      if (!wasKnown && remembered.size >= rowsMax) remembered.clear()
      remembered.set(id, { row, ...validity })
    }
    return row
  }

  return {
    /** A remembered row, or a promise of one that is looked up. */
    find: (id: string): Row | Promise<Row | null> => {
      const entry = remembered.get(id)
      // Asked even if nothing is remembered yet: that prepares for the next request.
      const isTrusted = hasAllSignals()
      if (entry && isTrusted && entry.afterSignals === signals && stopwatch() < entry.until) return entry.row
      return lookUp(id, entry !== undefined)
    },
    /** Looks an id up as if it were not remembered, so that both take equally long. */
    findUncached: findUnknown,
    /** Whether a row existed when it was last looked up, even if that was before a signal. */
    isKnown: (id: string): boolean => remembered.has(id),
    forget: (): void => {
      signals++
    },
  }
}
