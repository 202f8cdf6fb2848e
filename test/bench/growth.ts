// What each operation costs as the tables grow: `node test/bench/growth.ts`. See README.md beside this file.
import { statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CASES, type Case } from './cases.ts'
import type { ServiceContestant } from './contestants/contestant.ts'
import { launchOurs, ours } from './contestants/services.ts'
import { type BenchPostgres, startBenchPostgres } from './database.ts'
import { DEPTH, type Size } from './fill.ts'
import { fillPostgres } from './fill-postgres.ts'
import { fillSqlite } from './fill-sqlite.ts'
import { newFolder, removeFolder } from './folders.ts'
import { describeMachine, type Machine } from './machine.ts'
import { type Cell, measureCase, warmUp } from './measure.ts'
import { type Options, readOptions } from './options.ts'
import { prepare } from './program.ts'
import { machineText, verdictText } from './report.ts'
import { ms, percent, table, times, whole } from './table.ts'
import { atMost, type Ratio, type Verdict } from './verdicts.ts'

type Step = { readonly name: string; readonly size: Size }
const step = (name: string, logs: number, bigGroupPages: number): Step => ({
  name,
  // One prospect has about ten logs; some are needed where there are none.
  size: { groups: 200, pagesOfOthers: 10, bigGroupPages, logs, prospects: Math.max(5_000, logs / 10) },
})
const EMPTY = step('empty', 0, 10)
const STEPS = [EMPTY, step('10 thousand', 10_000, 10_000), step('1 million', 1_000_000, 1_000_000)]
const TEN_MILLION = step('10 million', 10_000_000, 1_000_000)
/** Both kinds of database, with the log of PostgreSQL. */
const TEN_MILLION_BYTES = 30 * 2 ** 30
const CALLERS = [1, 64]

type Kind = 'postgres' | 'sqlite'
type GrowthCell = Cell & { readonly kind: Kind; readonly step: string }

const tell = (line: string) => {
  process.stderr.write(`${line}\n`)
}

const main = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2))
  const steps = options.tenMillion ? [...STEPS, TEN_MILLION] : STEPS
  const { bavail, bsize } = statfsSync(tmpdir())
  if (options.tenMillion && bavail * bsize < TEN_MILLION_BYTES)
    throw new Error(`10 million logs need ${TEN_MILLION_BYTES / 2 ** 30} GiB in ${tmpdir()}`)
  await prepare()
  const folder = newFolder('growth')
  const database = await startBenchPostgres()
  try {
    const machine = await describeMachine(database)
    const cells = [
      ...(await measureKind('postgres', options, steps, database, folder)),
      ...(await measureKind('sqlite', options, steps, database, folder)),
    ]
    const verdicts = verdictsOf(cells)
    process.stdout.write(`${reportOf(machine, options, cells, verdicts)}\n`)
    const file = new URL('growth.json', import.meta.url)
    writeFileSync(file, `${JSON.stringify({ machine, cells, verdicts }, null, 2)}\n`)
  } finally {
    await database.stop()
    removeFolder(folder)
  }
}

/** One service on a database of each size, all measured in turn, round by round. */
const measureKind = async (
  kind: Kind,
  { only, rounds, seconds }: Options,
  steps: readonly Step[],
  database: BenchPostgres,
  folder: string,
): Promise<GrowthCell[]> => {
  const services = new Map<Step, ServiceContestant>()
  for (const one of steps) {
    tell(`filling ${kind}, ${one.name}`)
    services.set(one, await filledService(kind, one, database, folder))
  }
  const cells: GrowthCell[] = []
  const plan = { age: 'fresh', callers: CALLERS, rounds, seconds, tell } as const
  const checkpoint = kind === 'postgres' ? database.checkpoint : async () => {}
  try {
    for (const service of services.values()) await service.start()
    for (const one of CASES.filter(({ name }) => name.includes(only))) {
      const measured = [...services].filter(([{ size }]) => isPossible(one, size))
      const contestants = measured.map(([, service]) => service)
      await warmUp(one, contestants)
      for (const cell of await measureCase(one, contestants, { ...plan, checkpoint }))
        cells.push({ ...cell, kind, step: cell.contestant })
    }
  } finally {
    for (const service of services.values()) await service.stop()
  }
  return cells
}

/** A slice of twenty is compared with slices of twenty. */
const isPossible = ({ name }: Case, { bigGroupPages }: Size): boolean => {
  if (name === 'pages-first') return bigGroupPages > 20
  if (name === 'pages-deep') return bigGroupPages > DEPTH + 20
  return true
}

const filledService = async (
  kind: Kind,
  { name, size }: Step,
  database: BenchPostgres,
  folder: string,
): Promise<ServiceContestant> => {
  if (kind === 'postgres') {
    const { url } = await database.newDatabase()
    const filled = await fillPostgres(url, size)
    return ours(name, launchOurs(url, folder), filled)
  }
  const path = join(folder, `${name.replace(' ', '-')}.db`)
  const filled = await fillSqlite(path, size)
  return ours(name, launchOurs(`sqlite:${path}`, folder), filled)
}

const reportOf = (
  machine: Machine,
  { rounds, seconds }: Options,
  cells: readonly GrowthCell[],
  verdicts: readonly Verdict[],
): string =>
  [
    machineText(machine),
    `${rounds} rounds of ${seconds} s; medians. × is the cost of the smallest size: time of one caller, time at 64 callers.`,
    growthTable(cells),
    verdictText(verdicts),
  ].join('\n\n')

const growthTable = (cells: readonly GrowthCell[]): string => {
  const rows = cells
    .filter((cell) => cell.callers === 64)
    .map((busy) => {
      const alone = like(cells, busy, { callers: 1 })
      const first = cells.find((cell) => cell.kind === busy.kind && cell.case === busy.case)
      const firstBusy = first && like(cells, first, { callers: 64 })
      return [
        busy.kind,
        busy.case,
        busy.step,
        ms(alone?.meanMs ?? null),
        alone && first ? times(alone.meanMs / first.meanMs) : '-',
        whole(busy.rate),
        percent(busy.spread),
        firstBusy ? times(firstBusy.rate / busy.rate) : '-',
        ms(busy.p99Ms),
        whole(busy.cpuUs),
      ]
    })
  const head = ['', 'case', 'size', '1 caller, ms', '', '64 callers, /s', '', '', 'p99', 'cpu µs']
  return table(head, rows, 3)
}

const like = (
  cells: readonly GrowthCell[],
  cell: GrowthCell,
  other: Partial<Pick<GrowthCell, 'callers' | 'case' | 'step'>>,
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

/** Times in a case, over the times in another case or at another size; at 1 caller and at 64. */
const ratiosOf = (
  cells: readonly GrowthCell[],
  numerator: Partial<Pick<GrowthCell, 'case' | 'step'>>,
  denominator: Partial<Pick<GrowthCell, 'case' | 'step'>>,
): Ratio[] =>
  cells
    .filter(
      (cell) =>
        cell.kind === 'postgres' &&
        Object.entries(numerator).every(([key, is]) => cell[key as 'case'] === is),
    )
    .flatMap((cell) => {
      const against = like(cells, cell, denominator)
      return against === undefined
        ? []
        : [{ value: cell.meanMs / against.meanMs, where: `${cell.case}, callers: ${cell.callers}` }]
    })

const verdictsOf = (cells: readonly GrowthCell[]): Verdict[] => [
  atMost(
    1.2,
    'slice at depth 100,000: time against the first',
    ratiosOf(cells, { case: 'pages-deep', step: '1 million' }, { case: 'pages-first' }),
  ),
  atMost(
    1.3,
    'log an activity into 10 million rows: time against empty',
    (['log-known', 'log-new', 'log-key'] as const).flatMap((name) =>
      ratiosOf(cells, { case: name, step: TEN_MILLION.name }, { step: EMPTY.name }),
    ),
  ),
  atMost(
    1.1,
    'list groups when one holds 1 million pages: time against ten',
    ratiosOf(cells, { case: 'groups', step: '1 million' }, { step: EMPTY.name }),
  ),
]

await main()
