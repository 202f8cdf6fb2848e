// The benchmark: `npm run bench`. See README.md beside this file.
import { writeFileSync } from 'node:fs'
import { CASES, type Case } from './cases.ts'
import { answerSizes, type Contestant } from './contestants/contestant.ts'
import { pgbench } from './contestants/pgbench.ts'
import { bare, type Launch, launchOurs, launchRival, ourCursor, ours, rival } from './contestants/services.ts'
import { type BenchPostgres, startBenchPostgres } from './database.ts'
import { measureEmbedded } from './embedded.ts'
import type { Filled, Size } from './fill.ts'
import { fillPostgres } from './fill-postgres.ts'
import { newFolder, removeFolder } from './folders.ts'
import { type Footprint, footprintOf } from './footprint.ts'
import { describeMachine } from './machine.ts'
import { type Cell, measureCase, warmUp } from './measure.ts'
import { type Options, readOptions } from './options.ts'
import { prepare } from './program.ts'
import { type Result, reportOf } from './report.ts'
import { verdictsOf } from './verdicts.ts'

const SIZE: Size = {
  groups: 200,
  bigGroupPages: 150_000,
  pagesOfOthers: 10,
  prospects: 50_000,
  logs: 100_000,
}
const AGED_CALLERS = 64

const tell = (line: string) => {
  process.stderr.write(`${line}\n`)
}

const main = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2))
  const cases = CASES.filter(({ name }) => name.includes(options.only))
  if (cases.length === 0) throw new Error(`no case is called ${options.only}`)
  tell('installing and building')
  await prepare()
  const folder = newFolder('bench')
  const database = await startBenchPostgres()
  try {
    const result = await measureAll(options, cases, database, folder)
    const verdicts = verdictsOf(result)
    process.stdout.write(`${reportOf(result, verdicts)}\n`)
    const file = new URL('result.json', import.meta.url)
    writeFileSync(file, `${JSON.stringify({ ...result, verdicts }, null, 2)}\n`)
  } finally {
    await database.stop()
    removeFolder(folder)
  }
}

const measureAll = async (
  options: Options,
  cases: readonly Case[],
  database: BenchPostgres,
  folder: string,
): Promise<Result> => {
  const { rounds, seconds } = options
  const machine = await describeMachine(database)
  tell('filling')
  const scene = await openScene(database, folder)
  const cells = [
    ...(await measureFresh(options, cases, scene, database)),
    ...(await measureAged(options, cases, scene, database)),
  ]
  const { cells: embedded, sqlite } = await measureEmbedded(cases, SIZE, { rounds, seconds, folder, tell })
  const footprints: Footprint[] = []
  for (const { name, launch, filled } of [
    ...scene.footed,
    { name: 'on sqlite', launch: launchOurs(`sqlite:${sqlite.path}`, folder), filled: sqlite.filled },
    { name: 'on memory, empty', launch: launchOurs('memory:', folder), filled: null },
  ]) {
    tell(`footprint ${name}`)
    footprints.push(await footprintOf({ name, launch, filled }, { starts: options.quick ? 3 : 7, seconds }))
  }
  return { machine, rounds, seconds, cells, embedded, footprints }
}

type Scene = {
  /** The three that are compared; they age. */
  readonly services: readonly Contestant[]
  /** The ceiling of the runtime and the floor of the database. */
  readonly bounds: (cases: readonly Case[]) => Promise<Contestant[]>
  readonly footed: readonly { readonly name: string; readonly launch: Launch; readonly filled: Filled }[]
}

/** Everybody has a copy of the database alone, so that nobody works on what another one wrote. */
const openScene = async (database: BenchPostgres, folder: string): Promise<Scene> => {
  const original = await database.newDatabase()
  const filled = await fillPostgres(original.url, SIZE)
  const launches = {
    'prospect-pages': launchOurs((await database.copyOf(original, 'bench_ours')).url, folder),
    fastify: launchRival('fastify', await database.copyOf(original, 'bench_fastify'), folder),
    express: launchRival('express', await database.copyOf(original, 'bench_express'), folder),
  }
  const program = ours('prospect-pages', launches['prospect-pages'], filled)
  const floor = pgbench(await database.copyOf(original, 'bench_pgbench'), filled, SIZE)
  return {
    services: [
      program,
      rival('fastify', launches.fastify, filled),
      rival('express', launches.express, filled),
    ],
    bounds: async (cases) => {
      await program.start()
      const sizes = await answerSizes(program, cases, filled, ourCursor)
      await program.stop()
      return [bare(filled, sizes, folder), ...(floor === null ? [] : [floor])]
    },
    footed: Object.entries(launches).map(([name, launch]) => ({ name, launch, filled })),
  }
}

/** Each case with processes that have done nothing else. */
const measureFresh = async (
  { callers, rounds, seconds }: Options,
  cases: readonly Case[],
  { services, bounds }: Scene,
  { checkpoint }: BenchPostgres,
): Promise<Cell[]> => {
  const contestants = [...services, ...(await bounds(cases))]
  const plan = { age: 'fresh', callers, rounds, seconds, checkpoint, tell } as const
  const cells: Cell[] = []
  for (const one of cases)
    await whileRunning(contestants, async () => {
      await warmUp(one, services)
      cells.push(...(await measureCase(one, contestants, plan)))
    })
  return cells
}

/** Each case with processes that have been through all of them. */
const measureAged = async (
  { rounds, seconds }: Options,
  cases: readonly Case[],
  { services }: Scene,
  { checkpoint }: BenchPostgres,
): Promise<Cell[]> => {
  const cells: Cell[] = []
  const plan = { age: 'aged', callers: [AGED_CALLERS], rounds, seconds, checkpoint } as const
  await whileRunning(services, async () => {
    for (const one of cases) await measureCase(one, services, { ...plan, tell: () => {} })
    for (const one of cases) cells.push(...(await measureCase(one, services, { ...plan, tell })))
  })
  return cells
}

const whileRunning = async (contestants: readonly Contestant[], work: () => Promise<void>): Promise<void> => {
  try {
    for (const contestant of contestants) await contestant.start()
    await work()
  } finally {
    for (const contestant of contestants) await contestant.stop()
  }
}

await main()
