import type { CaseName } from './cases.ts'
import { dearer, EMPTY, likeIn, MILLION } from './growth-cells.ts'
import type { Cell } from './measure.ts'
import type { Amount, PartName } from './options.ts'
import type { GrowthCell, HourFound, Results } from './results.ts'
import { times } from './table.ts'

export type Verdict = { readonly row: string; readonly verdict: string; readonly reached: boolean | null }
/** One ratio that a row is judged by, and where it was seen. */
type Ratio = { readonly value: number; readonly where: string }
type Row = {
  readonly part: PartName
  readonly row: string
  readonly bound: { readonly least: number } | { readonly most: number }
  readonly ratios: readonly Ratio[]
  /** Why less may be believed of it than of the others. */
  readonly but?: string | null
}

const OURS = 'prospect-pages'
const RIVALS = ['fastify', 'express']
/** Whose answers the bare server imitates. */
export const BARE_OF: Readonly<Record<string, string>> = {
  'on sqlite': 'bare as sqlite',
  'on memory': 'bare as memory',
}
const KNOWN: readonly CaseName[] = ['log-known', 'log-key']
const LOGS: readonly CaseName[] = ['log-known', 'log-new', 'log-key']
const BATCHES: readonly CaseName[] = ['batch-100', 'batch-1000']
const CREATES: readonly CaseName[] = ['create-one', 'create-many']
const LISTS: readonly CaseName[] = ['groups', 'pages-first', 'pages-deep']

/** The table of what must be reached, each row with what was measured of it. A row is as good as its worst case. */
export const verdictsOf = (results: Results): Verdict[] =>
  [rowsOfRates, rowsOfGrowth, rowsOfWaiting, rowsOfHour]
    .flatMap((rowsOf) => rowsOf(results))
    .map((row) => verdictOf(row, results[row.part]?.amount))

const rowsOfRates = ({ cases }: Results): Row[] => {
  const { cells, embedded } = cases ?? { cells: [], embedded: [] }
  const rival = (names: readonly CaseName[], callers: readonly number[]) =>
    againstRival(cells, names, callers)
  const least = (bound: number, row: string, ratios: readonly Ratio[]): Row => ({
    part: 'cases',
    row,
    bound: { least: bound },
    ratios,
  })
  return [
    least(2, 'log an activity of a known email, 64 and 256 callers: × the rival', rival(KNOWN, [64, 256])),
    least(
      1.8,
      'log an activity of a new email, 64 and 256 callers: × the rival',
      rival(['log-new'], [64, 256]),
    ),
    least(2, 'log activities in batches, 64 callers: × the rival', rival(BATCHES, [64])),
    least(5, 'log activities in batches of 100, 64 callers: × one by one', batchAgainstSingle(cells)),
    least(1.3, 'log an activity, 64 and 256 callers: × pgbench', againstPgbench(cells, LOGS, [64, 256])),
    least(0.4, 'log an activity, 64 callers, embedded: × bare', againstBare(embedded, 'on sqlite', LOGS)),
    least(
      0.72,
      'log an activity of a known email, 64 callers: × the floor, by processor time',
      againstFloor(cells, ['log-known'], 64),
    ),
    least(
      0.7,
      'log an activity of a known email, 1 caller: × the floor, by processor time',
      againstFloor(cells, ['log-known'], 1),
    ),
    least(1, 'log an activity of a known email, 1 caller: × the rival', rival(KNOWN, [1])),
    least(0.9, 'log an activity of a new email, 1 caller: × the rival', rival(['log-new'], [1])),
    least(2.5, 'create pages in one group and over many, 64 callers: × the rival', rival(CREATES, [64])),
    least(2, 'read a page, 64 callers: × the rival', rival(['page'], [64])),
    least(3, 'list groups, list pages, 64 callers: × the rival', rival(LISTS, [64])),
    least(0.6, 'any operation on memory, 64 callers: × bare', againstBare(embedded, 'on memory', null)),
  ]
}

const rowsOfGrowth = ({ cases, growth }: Results): Row[] => {
  const { cells, fullest } = growth ?? { cells: [], fullest: EMPTY }
  return [
    {
      part: cases === undefined ? 'growth' : 'cases',
      row: 'slice at depth 100,000: time against the first',
      bound: { most: 1.2 },
      ratios: [
        ...deepAgainstFirst(cases?.cells ?? []),
        ...growthRatios(cells, { case: 'pages-deep', step: MILLION }, { case: 'pages-first' }),
      ],
    },
    {
      part: 'growth',
      row: 'log an activity into 10 million rows: time against an empty table',
      bound: { most: 1.3 },
      ratios: LOGS.flatMap((name) => growthRatios(cells, { case: name, step: fullest }, { step: EMPTY })),
      but: fullest === MILLION ? '1 million rows instead of 10 million' : null,
    },
    {
      part: 'growth',
      row: 'list groups when one holds 1 million pages: time against ten',
      bound: { most: 1.1 },
      ratios: growthRatios(cells, { case: 'groups', step: MILLION }, { step: EMPTY }),
    },
  ]
}

const rowsOfWaiting = ({ cases }: Results): Row[] => [
  {
    part: 'cases',
    row: "p99 at 64 callers, any operation: × the rival's",
    bound: { most: 1 },
    ratios: p99AgainstRival(cases?.cells ?? []),
  },
]

const rowsOfHour = ({ hour }: Results): Row[] => [
  {
    part: 'hour',
    row: "the end of an hour's mixed run: time and memory against its start",
    bound: { most: 1.1 },
    ratios: hour === undefined ? [] : endAgainstStart(hour),
    but:
      hour === undefined || hour.amount.minutes === 60
        ? null
        : `${minutesText(hour.amount)} instead of an hour`,
  },
]
const minutesText = ({ minutes }: Amount) => (minutes === 1 ? 'one minute' : `${minutes} minutes`)

const verdictOf = ({ part, row, bound, ratios, but }: Row, amount: Amount | undefined): Verdict => {
  if (amount === undefined) return { row, reached: null, verdict: `not measured yet: --part ${part}` }
  const isLeast = 'least' in bound
  const [worst] = ratios.toSorted((a, b) => (isLeast ? a.value - b.value : b.value - a.value))
  if (worst === undefined)
    return { row, reached: null, verdict: 'not measured: there was nothing to compare with' }
  const reached = isLeast ? worst.value >= bound.least : worst.value <= bound.most
  const wanted = isLeast ? `at least ${bound.least}` : `at most ${bound.most}`
  const { quick, rounds, seconds } = amount
  const doubts = [...(but ? [but] : []), ...(quick ? [`quick: ${rounds} round of ${seconds} s`] : [])].map(
    (doubt) => `; ${doubt}`,
  )
  const verdict = `${reached ? 'reached' : 'missed'} ${times(worst.value)} (${wanted}; worst: ${worst.where})`
  return { row, reached, verdict: verdict + doubts.join('') }
}

const find = (cells: readonly Cell[], contestant: string, like: Pick<Cell, 'case' | 'callers' | 'age'>) =>
  cells.find(
    (cell) =>
      cell.contestant === contestant &&
      cell.case === like.case &&
      cell.callers === like.callers &&
      cell.age === like.age,
  )
/** The faster of the rivals in the same case, at the same age. */
export const rivalOf = (cells: readonly Cell[], our: Cell): Cell | undefined =>
  RIVALS.flatMap((name) => find(cells, name, our) ?? []).toSorted((a, b) => b.rate - a.rate)[0]

const whereOf = (cell: Cell) => `${cell.case}, ${cell.callers}, ${cell.age}`
export const oursIn = (
  cells: readonly Cell[],
  names: readonly CaseName[] | null,
  callers: readonly number[],
) =>
  cells.filter(
    (cell) =>
      cell.contestant === OURS &&
      (names === null || names.includes(cell.case)) &&
      callers.includes(cell.callers),
  )

const againstRival = (
  cells: readonly Cell[],
  names: readonly CaseName[],
  callers: readonly number[],
): Ratio[] =>
  oursIn(cells, names, callers).flatMap((our) => {
    const rival = rivalOf(cells, our)
    return rival === undefined
      ? []
      : [{ value: our.rate / rival.rate, where: `${whereOf(our)}, ${rival.contestant}` }]
  })

const againstFloor = (cells: readonly Cell[], names: readonly CaseName[], callers: number): Ratio[] =>
  oursIn(cells, names, [callers]).flatMap((our) => {
    const floor = find(cells, 'floor', our)
    return our.cpuUs && floor?.cpuUs ? [{ value: floor.cpuUs / our.cpuUs, where: whereOf(our) }] : []
  })

const againstPgbench = (
  cells: readonly Cell[],
  names: readonly CaseName[],
  callers: readonly number[],
): Ratio[] =>
  oursIn(cells, names, callers).flatMap((our) => {
    // It has no age.
    const floor = find(cells, 'pgbench', { ...our, age: 'fresh' })
    return floor === undefined ? [] : [{ value: our.rate / floor.rate, where: whereOf(our) }]
  })

const againstBare = (
  cells: readonly Cell[],
  contestant: string,
  names: readonly CaseName[] | null,
): Ratio[] =>
  cells
    .filter((cell) => cell.contestant === contestant && (names === null || names.includes(cell.case)))
    .flatMap((cell) => {
      const bare = find(cells, BARE_OF[contestant] ?? '', cell)
      return bare === undefined ? [] : [{ value: cell.rate / bare.rate, where: cell.case }]
    })

const batchAgainstSingle = (cells: readonly Cell[]): Ratio[] =>
  oursIn(cells, ['batch-100'], [64]).flatMap((batch) => {
    const single = find(cells, OURS, { ...batch, case: 'log-known' })
    return single === undefined ? [] : [{ value: batch.rate / single.rate, where: whereOf(batch) }]
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

/** A case at one size on PostgreSQL, over another case or another size; at 1 caller and at 64. */
const growthRatios = (
  cells: readonly GrowthCell[],
  { step, case: name }: Pick<GrowthCell, 'step' | 'case'>,
  other: Partial<Pick<GrowthCell, 'step' | 'case'>>,
): Ratio[] =>
  cells
    .filter((cell) => cell.kind === 'postgres' && cell.step === step && cell.case === name)
    .flatMap((cell) => {
      const than = likeIn(cells, cell, other)
      return than === undefined
        ? []
        : [{ value: dearer(cell, than), where: `${name}, ${cell.callers}, ${step}` }]
    })

const endAgainstStart = ({ start, end, failures }: HourFound): Ratio[] => [
  ...end.cells.flatMap((last) => {
    const first = find(start.cells, last.contestant, last)
    if (first === undefined) return []
    const cpu = first.cpuUs && last.cpuUs ? `, processor time ${times(last.cpuUs / first.cpuUs)}` : ''
    return [{ value: first.rate / last.rate, where: `${last.case}${cpu}` }]
  }),
  ...(start.residentMib && end.residentMib
    ? [{ value: end.residentMib / start.residentMib, where: 'memory' }]
    : []),
  ...failures.map((where) => ({ value: Number.POSITIVE_INFINITY, where })),
]
