import type { GrowthCell } from './results.ts'

/* What the sizes are called. */
export const EMPTY = 'empty'
export const MILLION = '1 million'
export const TEN_MILLION = '10 million'

type Other = Partial<Pick<GrowthCell, 'callers' | 'case' | 'step'>>

/** The cell that differs from another one in this only. */
export const likeIn = (
  cells: readonly GrowthCell[],
  cell: GrowthCell,
  other: Other,
): GrowthCell | undefined => {
  const want = { ...cell, ...other }
  return cells.find(
    (one) =>
      one.kind === want.kind &&
      one.case === want.case &&
      one.step === want.step &&
      one.callers === want.callers,
  )
}

/** How many times dearer one is than the other: a caller alone waits for it, many share the service. */
export const dearer = (cell: GrowthCell, than: GrowthCell): number =>
  cell.callers === 1 ? cell.meanMs / than.meanMs : than.rate / cell.rate
