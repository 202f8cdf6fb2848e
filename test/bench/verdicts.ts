import type { CaseName } from './cases.ts'
import type { Cell } from './measure.ts'
import { BARE_OF, type Result } from './report.ts'
import { times } from './table.ts'

export type Verdict = { readonly row: string; readonly verdict: string; readonly reached: boolean | null }
/** One ratio that a row is judged by, and where it was seen. */
export type Ratio = { readonly value: number; readonly where: string }

const OURS = 'prospect-pages'
const RIVALS = ['fastify', 'express']
const LOGS: readonly CaseName[] = ['log-known', 'log-new', 'log-key']
const CREATES: readonly CaseName[] = ['create-one', 'create-many']
const LISTS: readonly CaseName[] = ['groups', 'pages-first', 'pages-deep']

/** The table of what must be reached, each row with what this run says of it. A row is as good as its worst case. */
export const verdictsOf = (result: Result): Verdict[] => {
  const { cells, embedded } = result
  const rival = (cases: readonly CaseName[], callers: readonly number[]) =>
    againstRival(cells, cases, callers)
  return [
    atLeast(2, 'log an activity, 64 and 256 callers: × the rival', rival(LOGS, [64, 256])),
    atLeast(1.3, 'log an activity, 64 and 256 callers: × pgbench', againstPgbench(cells, LOGS, [64, 256])),
    atLeast(0.4, 'log an activity, 64 callers, embedded: × bare', againstBare(embedded, 'on sqlite', LOGS)),
    atLeast(0.9, 'log an activity, 1 caller: × the rival', rival(LOGS, [1])),
    atLeast(2, 'create pages in one group and over many, 64 callers: × the rival', rival(CREATES, [64])),
    atLeast(2, 'read a page, 64 callers: × the rival', rival(['page'], [64])),
    atLeast(1.5, 'list groups, list pages, 64 callers: × the rival', rival(LISTS, [64])),
    atLeast(0.6, 'any operation on memory, 64 callers: × bare', againstBare(embedded, 'on memory', null)),
    atMost(1.2, 'slice at depth 100,000: time against the first', deepAgainstFirst(cells)),
    notMeasured('log an activity into 10 million rows against empty', 'growth.ts'),
    notMeasured('list groups when one holds 1 million pages', 'growth.ts'),
    atMost(1, "p99 at 64 callers, any operation: × the rival's", p99AgainstRival(cells)),
    notMeasured("the end of an hour's mixed run against its start", 'a run of an hour'),
  ]
}

export const atLeast = (bound: number, row: string, ratios: readonly Ratio[]): Verdict => {
  const worst = ratios.toSorted((a, b) => a.value - b.value)[0]
  return worst === undefined
    ? notMeasured(row, null)
    : judged(row, worst, worst.value >= bound, `at least ${bound}`)
}
export const atMost = (bound: number, row: string, ratios: readonly Ratio[]): Verdict => {
  const worst = ratios.toSorted((a, b) => b.value - a.value)[0]
  return worst === undefined
    ? notMeasured(row, null)
    : judged(row, worst, worst.value <= bound, `at most ${bound}`)
}
const judged = (row: string, worst: Ratio, reached: boolean, bound: string): Verdict => ({
  row,
  reached,
  verdict: `${reached ? 'reached' : 'missed'} ${times(worst.value)} (${bound}; worst: ${worst.where})`,
})
const notMeasured = (row: string, by: string | null): Verdict => ({
  row,
  reached: null,
  verdict: `not measured by this run${by === null ? '' : `: see ${by}`}`,
})

const find = (cells: readonly Cell[], contestant: string, like: Pick<Cell, 'case' | 'callers' | 'age'>) =>
  cells.find(
    (cell) =>
      cell.contestant === contestant &&
      cell.case === like.case &&
      cell.callers === like.callers &&
      cell.age === like.age,
  )
/** The faster of the rivals in the same case, at the same age. */
const rivalOf = (cells: readonly Cell[], our: Cell): Cell | undefined =>
  RIVALS.flatMap((name) => find(cells, name, our) ?? []).toSorted((a, b) => b.rate - a.rate)[0]

const whereOf = (cell: Cell) => `${cell.case}, ${cell.callers}, ${cell.age}`
const oursIn = (cells: readonly Cell[], cases: readonly CaseName[] | null, callers: readonly number[]) =>
  cells.filter(
    (cell) =>
      cell.contestant === OURS &&
      (cases === null || cases.includes(cell.case)) &&
      callers.includes(cell.callers),
  )

const againstRival = (
  cells: readonly Cell[],
  cases: readonly CaseName[],
  callers: readonly number[],
): Ratio[] =>
  oursIn(cells, cases, callers).flatMap((our) => {
    const rival = rivalOf(cells, our)
    return rival === undefined
      ? []
      : [{ value: our.rate / rival.rate, where: `${whereOf(our)}, ${rival.contestant}` }]
  })

const againstPgbench = (
  cells: readonly Cell[],
  cases: readonly CaseName[],
  callers: readonly number[],
): Ratio[] =>
  oursIn(cells, cases, callers).flatMap((our) => {
    // It has no age.
    const floor = find(cells, 'pgbench', { ...our, age: 'fresh' })
    return floor === undefined ? [] : [{ value: our.rate / floor.rate, where: whereOf(our) }]
  })

const againstBare = (
  cells: readonly Cell[],
  contestant: string,
  cases: readonly CaseName[] | null,
): Ratio[] =>
  cells
    .filter((cell) => cell.contestant === contestant && (cases === null || cases.includes(cell.case)))
    .flatMap((cell) => {
      const bare = find(cells, BARE_OF[contestant] ?? '', cell)
      return bare === undefined ? [] : [{ value: cell.rate / bare.rate, where: cell.case }]
    })

const deepAgainstFirst = (cells: readonly Cell[]): Ratio[] =>
  oursIn(cells, ['pages-deep'], [1, 64]).flatMap((deep) => {
    const first = find(cells, OURS, { ...deep, case: 'pages-first' })
    return first === undefined ? [] : [{ value: deep.meanMs / first.meanMs, where: whereOf(deep) }]
  })

const p99AgainstRival = (cells: readonly Cell[]): Ratio[] =>
  oursIn(cells, null, [64]).flatMap((our) => {
    const rival = rivalOf(cells, our)
    return rival === undefined
      ? []
      : [{ value: our.p99Ms / rival.p99Ms, where: `${whereOf(our)}, ${rival.contestant}` }]
  })
