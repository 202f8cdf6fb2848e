import type { CaseName } from './cases.ts'
import { dearer, EMPTY, likeIn, MILLION } from './growth-cells.ts'
import type { Cell } from './measure.ts'
import type { Amount, PartName } from './options.ts'
import type { GrowthCell, HourFound, Results } from './results.ts'
import { times } from './table.ts'

export type Verdict = { readonly row: string; readonly verdict: string; readonly reached: boolean | null }
/** A ratio that a goal is judged by, and the measurement that it was seen in. */
type Ratio = { readonly value: number; readonly where: string }
/** The least or the most that each ratio of a goal may be. */
type Bound = { readonly least: number } | { readonly most: number }
type Goal = {
  readonly part: PartName
  readonly row: string
  readonly bound: Bound
  readonly ratios: readonly Ratio[]
  /** Why this measurement proves less than the goal asks for. */
  readonly doubt?: string | null
}

const OURS = 'prospect-pages'
const RIVALS = ['fastify', 'fastify-app', 'express']
/** For each embedded contestant the bare server that returns the same answers without doing the work. */
export const BARE_OF: Readonly<Record<string, string>> = {
  'on sqlite': 'bare as sqlite',
  'on memory': 'bare as memory',
}

const LOG_KNOWN: readonly CaseName[] = ['log-known', 'log-key']
const LOG_NEW: readonly CaseName[] = ['log-new']
const LOGS: readonly CaseName[] = ['log-known', 'log-new', 'log-key']
const BATCHES: readonly CaseName[] = ['batch-100', 'batch-1000']
const CREATES: readonly CaseName[] = ['create-one', 'create-many']
const LISTS: readonly CaseName[] = ['groups', 'pages-first', 'pages-deep']

const ONE_CALLER = [1]
const CALLERS_64 = [64]
const MANY_CALLERS = [64, 256]

/** The table of the goals, each with what was measured for it. A goal is judged by its worst ratio. */
export const verdictsOf = (results: Results): Verdict[] => {
  const goals = [
    ...rateGoals(results),
    ...growthGoals(results),
    ...waitingGoals(results),
    ...hourGoals(results),
  ]
  return goals.map((goal) => verdictOf(goal, results[goal.part]?.amount))
}

const rateGoals = ({ cases }: Results): Goal[] => {
  const cells = cases?.cells ?? []
  const embedded = cases?.embedded ?? []
  const atLeast = (least: number, row: string, ratios: readonly Ratio[]): Goal => ({
    part: 'cases',
    row,
    bound: { least },
    ratios,
  })
  return [
    atLeast(
      2,
      'log an activity of a known email, 64 and 256 callers: × the rival',
      againstRival(cells, LOG_KNOWN, MANY_CALLERS),
    ),
    atLeast(
      1.8,
      'log an activity of a new email, 64 and 256 callers: × the rival',
      againstRival(cells, LOG_NEW, MANY_CALLERS),
    ),
    atLeast(
      2,
      'log activities in batches, 64 callers: × the rival',
      againstRival(cells, BATCHES, CALLERS_64),
    ),
    atLeast(5, 'log activities in batches of 100, 64 callers: × one by one', batchAgainstSingle(cells)),
    atLeast(1.3, 'log an activity, 64 and 256 callers: × pgbench', againstPgbench(cells, LOGS, MANY_CALLERS)),
    atLeast(0.4, 'log an activity, 64 callers, embedded: × bare', againstBare(embedded, 'on sqlite', LOGS)),
    atLeast(
      0.72,
      'log an activity of a known email, 64 callers: × the floor, by processor time',
      againstFloor(cells, 'log-known', CALLERS_64),
    ),
    atLeast(
      0.7,
      'log an activity of a known email, 1 caller: × the floor, by processor time',
      againstFloor(cells, 'log-known', ONE_CALLER),
    ),
    atLeast(
      1,
      'log an activity of a known email, 1 caller: × the rival',
      againstRival(cells, LOG_KNOWN, ONE_CALLER),
    ),
    atLeast(
      0.9,
      'log an activity of a new email, 1 caller: × the rival',
      againstRival(cells, LOG_NEW, ONE_CALLER),
    ),
    atLeast(
      2.5,
      'create pages in one group and over many, 64 callers: × the rival',
      againstRival(cells, CREATES, CALLERS_64),
    ),
    atLeast(2, 'read a page, 64 callers: × the rival', againstRival(cells, ['page'], CALLERS_64)),
    atLeast(3, 'list groups, list pages, 64 callers: × the rival', againstRival(cells, LISTS, CALLERS_64)),
    atLeast(0.6, 'any operation on memory, 64 callers: × bare', againstBare(embedded, 'on memory', null)),
  ]
}

const growthGoals = ({ cases, growth }: Results): Goal[] => {
  const cells = growth?.cells ?? []
  const fullest = growth?.fullest ?? EMPTY
  return [
    {
      part: cases === undefined ? 'growth' : 'cases',
      row: 'slice at depth 100,000: time against the first',
      bound: { most: 1.2 },
      ratios: [
        ...deepAgainstFirst(cases?.cells ?? []),
        ...growthRatios(cells, 'pages-deep', MILLION, { case: 'pages-first' }),
      ],
    },
    {
      part: 'growth',
      row: 'log an activity into 10 million rows: time against an empty table',
      bound: { most: 1.3 },
      ratios: LOGS.flatMap((name) => growthRatios(cells, name, fullest, { step: EMPTY })),
      doubt: fullest === MILLION ? '1 million rows instead of 10 million' : null,
    },
    {
      part: 'growth',
      row: 'list groups when one holds 1 million pages: time against ten',
      bound: { most: 1.1 },
      ratios: growthRatios(cells, 'groups', MILLION, { step: EMPTY }),
    },
  ]
}

const waitingGoals = ({ cases }: Results): Goal[] => [
  {
    part: 'cases',
    row: "p99 at 64 callers, any operation: × the rival's",
    bound: { most: 1 },
    ratios: p99AgainstRival(cases?.cells ?? []),
  },
]

const hourGoals = ({ hour }: Results): Goal[] => [
  {
    part: 'hour',
    row: "the end of an hour's mixed run: time and memory against its start",
    bound: { most: 1.1 },
    ratios: hour === undefined ? [] : endAgainstStart(hour),
    doubt: hour === undefined ? null : doubtOfLength(hour.amount.minutes),
  },
]

const doubtOfLength = (minutes: number): string | null => {
  if (minutes === 60) return null
  return minutes === 1 ? 'one minute instead of an hour' : `${minutes} minutes instead of an hour`
}

const verdictOf = ({ part, row, bound, ratios, doubt }: Goal, amount: Amount | undefined): Verdict => {
  if (amount === undefined) return { row, reached: null, verdict: `not measured yet: --part ${part}` }
  const worst = worstOf(ratios, bound)
  if (worst === undefined)
    return { row, reached: null, verdict: 'not measured: there was nothing to compare with' }

  const reached = 'least' in bound ? worst.value >= bound.least : worst.value <= bound.most
  const boundText = 'least' in bound ? `at least ${bound.least}` : `at most ${bound.most}`
  let verdict = `${reached ? 'reached' : 'missed'} ${times(worst.value)} (${boundText}; worst: ${worst.where})`
  if (doubt) verdict += `; ${doubt}`
  if (amount.quick) verdict += `; quick: ${amount.rounds} round of ${amount.seconds} s`
  return { row, reached, verdict }
}

const worstOf = (ratios: readonly Ratio[], bound: Bound): Ratio | undefined => {
  const isWorse = (one: Ratio, other: Ratio) =>
    'least' in bound ? one.value < other.value : one.value > other.value
  let worst: Ratio | undefined
  for (const ratio of ratios) if (worst === undefined || isWorse(ratio, worst)) worst = ratio
  return worst
}

/** The measurement of a contestant in the same case, with as many callers, on a database of the same age. */
const counterpartOf = (cells: readonly Cell[], cell: Cell, contestant: string): Cell | undefined =>
  cells.find(
    (other) =>
      other.contestant === contestant &&
      other.case === cell.case &&
      other.callers === cell.callers &&
      other.age === cell.age,
  )

/** The faster one of the rivals in the same case. */
export const rivalOf = (cells: readonly Cell[], our: Cell): Cell | undefined => {
  let fastest: Cell | undefined
  for (const name of RIVALS) {
    const rival = counterpartOf(cells, our, name)
    if (rival === undefined) continue
    if (fastest === undefined || rival.rate > fastest.rate) fastest = rival
  }
  return fastest
}

/** Our measurements in these cases, or in all, with these numbers of callers. */
export const oursIn = (
  cells: readonly Cell[],
  cases: readonly CaseName[] | null,
  callers: readonly number[],
): Cell[] =>
  cells.filter(
    (cell) =>
      cell.contestant === OURS &&
      (cases === null || cases.includes(cell.case)) &&
      callers.includes(cell.callers),
  )

const whereOf = (cell: Cell) => `${cell.case}, ${cell.callers}, ${cell.age}`

/** The ratio of each cell, but for those that have nothing to be compared with. */
const ratiosOf = <SomeCell extends Cell>(
  cells: readonly SomeCell[],
  ratioOf: (cell: SomeCell) => Ratio | null,
): Ratio[] => cells.map(ratioOf).filter((ratio) => ratio !== null)

const againstRival = (
  cells: readonly Cell[],
  cases: readonly CaseName[],
  callers: readonly number[],
): Ratio[] =>
  ratiosOf(oursIn(cells, cases, callers), (our) => {
    const rival = rivalOf(cells, our)
    if (rival === undefined) return null
    return { value: our.rate / rival.rate, where: `${whereOf(our)}, ${rival.contestant}` }
  })

const p99AgainstRival = (cells: readonly Cell[]): Ratio[] =>
  ratiosOf(oursIn(cells, null, CALLERS_64), (our) => {
    const rival = rivalOf(cells, our)
    if (rival === undefined) return null
    return { value: our.p99Ms / rival.p99Ms, where: `${whereOf(our)}, ${rival.contestant}` }
  })

const againstFloor = (cells: readonly Cell[], name: CaseName, callers: readonly number[]): Ratio[] =>
  ratiosOf(oursIn(cells, [name], callers), (our) => {
    const floor = counterpartOf(cells, our, 'floor')
    if (!our.cpuUs || !floor?.cpuUs) return null
    return { value: floor.cpuUs / our.cpuUs, where: whereOf(our) }
  })

const againstPgbench = (
  cells: readonly Cell[],
  cases: readonly CaseName[],
  callers: readonly number[],
): Ratio[] =>
  ratiosOf(oursIn(cells, cases, callers), (our) => {
    // pgbench is measured on a fresh database only.
    const pgbench = counterpartOf(cells, { ...our, age: 'fresh' }, 'pgbench')
    if (pgbench === undefined) return null
    return { value: our.rate / pgbench.rate, where: whereOf(our) }
  })

const againstBare = (
  cells: readonly Cell[],
  contestant: string,
  cases: readonly CaseName[] | null,
): Ratio[] => {
  const embedded = cells.filter(
    (cell) => cell.contestant === contestant && (cases === null || cases.includes(cell.case)),
  )
  return ratiosOf(embedded, (cell) => {
    const bare = counterpartOf(cells, cell, BARE_OF[contestant] ?? '')
    if (bare === undefined) return null
    return { value: cell.rate / bare.rate, where: cell.case }
  })
}

const batchAgainstSingle = (cells: readonly Cell[]): Ratio[] =>
  ratiosOf(oursIn(cells, ['batch-100'], CALLERS_64), (batch) => {
    const single = counterpartOf(cells, { ...batch, case: 'log-known' }, OURS)
    if (single === undefined) return null
    return { value: batch.rate / single.rate, where: whereOf(batch) }
  })

const deepAgainstFirst = (cells: readonly Cell[]): Ratio[] =>
  ratiosOf(oursIn(cells, ['pages-deep'], [1, 64]), (deep) => {
    const first = counterpartOf(cells, { ...deep, case: 'pages-first' }, OURS)
    if (first === undefined) return null
    return { value: deep.meanMs / first.meanMs, where: whereOf(deep) }
  })

/** A case on PostgreSQL at one size, against the measurement that differs from it in the given fields. */
const growthRatios = (
  cells: readonly GrowthCell[],
  name: CaseName,
  step: string,
  difference: Partial<Pick<GrowthCell, 'step' | 'case'>>,
): Ratio[] => {
  const grown = cells.filter((cell) => cell.kind === 'postgres' && cell.step === step && cell.case === name)
  return ratiosOf(grown, (cell) => {
    const base = likeIn(cells, cell, difference)
    if (base === undefined) return null
    return { value: dearer(cell, base), where: `${name}, ${cell.callers}, ${step}` }
  })
}

/** How much slower and larger the service is after the hour. A failure during the hour counts as infinitely bad. */
const endAgainstStart = ({ start, end, failures }: HourFound): Ratio[] => {
  const ratios = ratiosOf(end.cells, (last) => {
    const first = counterpartOf(start.cells, last, last.contestant)
    if (first === undefined) return null
    const cpu = first.cpuUs && last.cpuUs ? `, processor time ${times(last.cpuUs / first.cpuUs)}` : ''
    return { value: first.rate / last.rate, where: `${last.case}${cpu}` }
  })
  if (start.residentMib && end.residentMib)
    ratios.push({ value: end.residentMib / start.residentMib, where: 'memory' })
  for (const failure of failures) ratios.push({ value: Number.POSITIVE_INFINITY, where: failure })
  return ratios
}
