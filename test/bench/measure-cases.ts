import { CASES, type Case } from './cases.ts'
import { answerSizes, type Contestant } from './contestants/contestant.ts'
import { pgbench } from './contestants/pgbench.ts'
import {
  bareContestant,
  fastifyAppContestant,
  floorContestant,
  type Launch,
  launchFastifyApp,
  launchOurs,
  launchRival,
  ourContestant,
  ourCursor,
  rivalContestant,
} from './contestants/services.ts'
import { measureEmbedded } from './embedded.ts'
import { CASES_SIZE, type Filled } from './fill.ts'
import { fillPostgres } from './fill-postgres.ts'
import { type Footprint, footprintOf } from './footprint.ts'
import { type Cell, measureCase, warmUp } from './measure.ts'
import type { CasesFound, Setting } from './results.ts'

const AGED_CALLERS = 64
/** Enough to compile every path and fill every cache. */
const AGEING = { rounds: 1, seconds: 1 }

/** Everybody in every case, freshly started and aged; the embedded database; starts and memory. */
export const measureCases = async (setting: Setting): Promise<CasesFound> => {
  const { amount, folder, tell } = setting
  const cases = CASES.filter(({ name }) => name.includes(amount.only))
  if (cases.length === 0) throw new Error(`no case is called ${amount.only}`)
  tell('filling')
  const scene = await openScene(setting)
  const cells = [
    ...(await measureFresh(cases, scene, setting)),
    ...(await measureAged(cases, scene, setting)),
  ]
  const { cells: embedded, sqlite } = await measureEmbedded(cases, CASES_SIZE, { ...amount, folder, tell })
  const footprints: Footprint[] = []
  for (const { name, launch, filled } of [
    ...scene.footed,
    { name: 'on sqlite', launch: launchOurs(`sqlite:${sqlite.path}`, folder), filled: sqlite.filled },
    { name: 'on memory, empty', launch: launchOurs('memory:', folder), filled: null },
  ]) {
    tell(`footprint ${name}`)
    const { quick, seconds } = amount
    footprints.push(await footprintOf({ name, launch, filled }, { starts: quick ? 3 : 7, seconds }))
  }
  return { cells, embedded, footprints }
}

type Scene = {
  /** The three that are compared; they age. */
  readonly services: readonly Contestant[]
  /** The rival that is written by the book, the floor of the work, the ceiling of the runtime, and the floor of the database. */
  readonly bounds: (cases: readonly Case[]) => Promise<Contestant[]>
  readonly footed: readonly { readonly name: string; readonly launch: Launch; readonly filled: Filled }[]
}

/** Each contestant has a separate copy of the database, so that none works on rows of another. */
const openScene = async ({ database, folder }: Setting): Promise<Scene> => {
  const original = await database.newDatabase()
  const filled = await fillPostgres(original.url, CASES_SIZE)
  const launches = {
    'prospect-pages': launchOurs((await database.copyOf(original, 'bench_ours')).url, folder),
    fastify: launchRival('fastify', await database.copyOf(original, 'bench_fastify'), folder),
    express: launchRival('express', await database.copyOf(original, 'bench_express'), folder),
  }
  const program = ourContestant('prospect-pages', launches['prospect-pages'], filled)
  const statements = pgbench(await database.copyOf(original, 'bench_pgbench'), filled, CASES_SIZE)
  const app = launchFastifyApp(await database.copyOf(original, 'bench_fastify_app'), folder)
  const work = launchRival('floor', await database.copyOf(original, 'bench_floor'), folder)
  return {
    services: [
      program,
      rivalContestant('fastify', launches.fastify, filled),
      rivalContestant('express', launches.express, filled),
    ],
    bounds: async (cases) => {
      await program.start()
      const sizes = await answerSizes(program, cases, filled, ourCursor)
      await program.stop()
      return [
        fastifyAppContestant(app, filled),
        floorContestant(work, filled),
        bareContestant(filled, sizes, folder),
        ...(statements === null ? [] : [statements]),
      ]
    },
    footed: Object.entries(launches).map(([name, launch]) => ({ name, launch, filled })),
  }
}

/** Each case with processes that have done nothing else. */
const measureFresh = async (
  cases: readonly Case[],
  { services, bounds }: Scene,
  { amount, database: { checkpoint }, tell }: Setting,
): Promise<Cell[]> => {
  const all = [...services, ...(await bounds(cases))]
  const plan = { ...amount, age: 'fresh', checkpoint, tell } as const
  const cells: Cell[] = []
  for (const one of cases) {
    const contestants = all.filter(({ cases }) => cases?.includes(one.name) ?? true)
    await whileRunning(contestants, async () => {
      await warmUp(one, services)
      // Longer than a round until all of so many large batches are answered.
      const callers = amount.callers.filter((count) => count * (one.items ?? 1) <= ITEMS_AT_ONCE_MAX)
      cells.push(...(await measureCase(one, contestants, { ...plan, callers })))
    })
  }
  return cells
}

const ITEMS_AT_ONCE_MAX = 64_000

/** Each case with processes that have been through all of them. */
const measureAged = async (
  cases: readonly Case[],
  { services }: Scene,
  { amount, database: { checkpoint }, tell }: Setting,
): Promise<Cell[]> => {
  const cells: Cell[] = []
  // A disk that is worn out by then is too slow for so many large batches: they would be refused.
  const aged = cases.filter(({ items = 1 }) => items < 1_000)
  const plan = { ...amount, age: 'aged', callers: [AGED_CALLERS], checkpoint, tell } as const
  await whileRunning(services, async () => {
    for (const one of aged) await measureCase(one, services, { ...plan, ...AGEING, tell: () => {} })
    for (const one of aged) cells.push(...(await measureCase(one, services, plan)))
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
