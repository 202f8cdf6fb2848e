// One caller and many, beside the rivals: `node test/bench/measure-callers.ts`. See README.md, "One caller and many".
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { CASES, type Case, type CaseName } from './cases.ts'
import { answerSizes, type Contestant, type ServiceContestant } from './contestants/contestant.ts'
import { pocketbaseContestant } from './contestants/pocketbase.ts'
import {
  bareContestant,
  fastifyAppContestant,
  floorContestant,
  launchFastifyApp,
  launchOurs,
  launchRival,
  ourContestant,
  ourCursor,
  rivalContestant,
} from './contestants/services.ts'
import { startBenchPostgres } from './database.ts'
import { CASES_SIZE } from './fill.ts'
import { fillPostgres } from './fill-postgres.ts'
import { fillSqlite } from './fill-sqlite.ts'
import { newFolder } from './folders.ts'
import type { Sample } from './load.ts'
import { median, rotated, warmUp } from './measure.ts'
import { prepare } from './program.ts'
import { ms, table, times, whole } from './table.ts'

const SINGLE: readonly CaseName[] = [
  'log-known',
  'log-new',
  'log-key',
  'groups',
  'pages-first',
  'page',
  'create-many',
]
const BATCHES: readonly CaseName[] = ['batch-100', 'batch-1000']
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    callers: { type: 'string', default: '1,64,256' },
    databases: { type: 'string', default: 'postgresql,sqlite' },
    rivals: { type: 'string', default: 'fastify,fastify-app,floor' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
  },
})
const rounds = values.quick ? 3 : Number(values.rounds)
const callersOf = values.callers.split(',').map(Number)
const rivals = values.rivals.split(',')
const names = values.only.startsWith('batch') ? BATCHES : SINGLE
const cases = CASES.filter(({ name }) => names.includes(name) && name.includes(values.only))
const tell = (line: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)

/** Processor time of a process so far, all threads, in milliseconds. The kernel counts it in nanoseconds. */
const cpuMsOf = (pid: number): number => {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const read = (thread: string) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
    return threads.reduce((ms, thread) => ms + Number(read(thread).split(' ')[0]) / 1e6, 0)
  } catch {
    return 0
  }
}
const childrenOf = (parent: number): number[] => {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    try {
      const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
      return Number(fields.split(' ')[1]) === parent
    } catch {
      return false
    }
  })
}

/** One sample, with the processor time of the database beside that of the service. */
type Measured = Sample & { readonly databaseUs: number | null }
type Group = {
  readonly title: string
  readonly contestants: readonly Contestant[]
  /** Processes of the database so far; null if it runs inside the service. */
  readonly databaseCpu: (() => Map<number, number>) | null
  readonly checkpoint: () => Promise<void>
  readonly rounds: number
}

const measured = async (
  group: Group,
  contestant: Contestant,
  one: Case,
  callers: number,
): Promise<Measured> => {
  const before = group.databaseCpu?.()
  const sample = await contestant.measure(one, { callers, seconds: 1 })
  const after = group.databaseCpu?.()
  const { items = 1 } = one
  const ofItems = { ...sample, rate: sample.rate * items, cpuUs: (sample.cpuUs ?? Number.NaN) / items }
  if (before === undefined || after === undefined) return { ...ofItems, databaseUs: null }
  let spentMs = 0
  for (const [pid, cpuMs] of after) spentMs += cpuMs - (before.get(pid) ?? 0)
  return { ...ofItems, databaseUs: (spentMs * 1e3) / sample.requests / items }
}

/** The ratio is the median of those of the rounds: what slows a second slows every contestant. */
const rowOf = (
  one: Case,
  callers: number,
  name: string,
  ours: readonly Measured[],
  all: readonly Measured[],
) => {
  const of = (figure: (sample: Measured) => number) => median(all.map(figure))
  const ratio = (figure: (sample: Measured) => number) =>
    times(median(all.map((sample, i) => figure(ours[i] ?? sample) / figure(sample))))
  return [
    one.name,
    `${callers}`,
    name,
    whole(of(({ rate }) => rate)),
    ms(of(({ p50Ms }) => p50Ms)),
    ms(of(({ p99Ms }) => p99Ms)),
    whole(of(({ cpuUs }) => cpuUs ?? Number.NaN)),
    all[0]?.databaseUs == null ? '-' : whole(of(({ databaseUs }) => databaseUs ?? 0)),
    all === ours ? '' : ratio(({ rate }) => rate),
    all === ours ? '' : ratio(({ p50Ms }) => 1 / p50Ms),
  ]
}
const HEAD = [
  'case',
  'callers',
  '',
  '/s',
  'p50',
  'p99',
  'cpu µs',
  'database µs',
  'ours: × its rate',
  '× as soon',
]

const measureGroup = async (group: Group): Promise<string[][]> => {
  const rows: string[][] = []
  for (const one of cases) {
    const contestants = group.contestants.filter(({ cases }) => cases?.includes(one.name) ?? true)
    for (const contestant of contestants) await contestant.start()
    try {
      await warmUp(one, contestants)
      for (const callers of callersOf) {
        const samples = contestants.map((): Measured[] => [])
        if (one.writes) await group.checkpoint()
        for (let round = 0; round < group.rounds; round++)
          for (const i of rotated([...contestants.keys()], round))
            samples[i]?.push(await measured(group, contestants[i] as Contestant, one, callers))
        for (const [i, all] of samples.entries())
          rows.push(rowOf(one, callers, contestants[i]?.name ?? '', samples[0] ?? [], all))
        tell(`${group.title}: ${one.name}, ${callers} callers`)
      }
    } finally {
      for (const contestant of contestants) await contestant.stop()
    }
  }
  return rows
}

/** The service as another checkout builds it, on the tables that it migrates and fills. */
type Base = {
  readonly name: string
  readonly bin: string
  readonly fillPostgres: typeof fillPostgres
  readonly fillSqlite: typeof fillSqlite
}
const baseIn = async (folder: string): Promise<Base> => ({
  name: basename(folder),
  bin: join(folder, 'dist/cli/bin.js'),
  fillPostgres: (await import(join(folder, 'test/bench/fill-postgres.ts'))).fillPostgres,
  fillSqlite: (await import(join(folder, 'test/bench/fill-sqlite.ts'))).fillSqlite,
})
const bases = await Promise.all((process.env['BENCH_BASES']?.split(':') ?? []).map(baseIn))

const sizesOf = async (ours: ServiceContestant, filled: Parameters<typeof answerSizes>[2]) => {
  await ours.start()
  const sizes = await answerSizes(ours, cases, filled, ourCursor)
  await ours.stop()
  return sizes
}

const onPostgres = async (folder: string) => {
  const database = await startBenchPostgres()
  const original = await database.newDatabase()
  const filled = await fillPostgres(original.url, CASES_SIZE)
  const copyFor = (name: string) => database.copyOf(original, `bench_${name}`)
  const ours = ourContestant('prospect-pages', launchOurs((await copyFor('ours')).url, folder), filled)
  const others = [
    rivalContestant('fastify', launchRival('fastify', await copyFor('fastify'), folder), filled),
    fastifyAppContestant(launchFastifyApp(await copyFor('fastify_app'), folder), filled),
    floorContestant(launchRival('floor', await copyFor('floor'), folder), filled),
  ]
  const earlier: ServiceContestant[] = []
  for (const { name, bin, fillPostgres } of bases) {
    const { url } = await database.newDatabase()
    const rows = await fillPostgres(url, CASES_SIZE)
    earlier.push(ourContestant(name, launchOurs(url, folder, { bin }), rows))
  }
  const contestants = [ours, ...earlier, ...others.filter(({ name }) => rivals.includes(name))]
  const [pid = ''] = readFileSync(join(original.folder, 'data/postmaster.pid'), 'utf8').split('\n')
  const databaseCpu = () => new Map(childrenOf(Number(pid)).map((child) => [child, cpuMsOf(child)]))
  const group = { title: 'PostgreSQL', contestants, databaseCpu, checkpoint: database.checkpoint, rounds }
  return measureGroup(group).finally(database.stop)
}

/** Half as many if nothing is compared but bare node:http, which differs by more than any noise. */
const sqliteRounds = bases.length > 0 ? rounds : Math.ceil(rounds / 2)
/** The program of PocketBase, if it is to be measured. */
const pocketbase = process.env['POCKETBASE']
const onSqlite = async (folder: string) => {
  const path = join(folder, 'callers.db')
  const filled = await fillSqlite(path, CASES_SIZE)
  const ours = ourContestant('prospect-pages', launchOurs(`sqlite:${path}`, folder), filled)
  const earlier: ServiceContestant[] = []
  for (const { name, bin, fillSqlite } of bases) {
    const basePath = join(folder, `${name}.db`)
    const rows = await fillSqlite(basePath, CASES_SIZE)
    earlier.push(ourContestant(name, launchOurs(`sqlite:${basePath}`, folder, { bin }), rows))
  }
  const bare = bareContestant(filled, await sizesOf(ours, filled), folder)
  const rival = pocketbase ? [await pocketbaseContestant(pocketbase, filled, CASES_SIZE, folder)] : []
  return measureGroup({
    title: 'SQLite',
    contestants: [ours, ...earlier, ...rival, bare],
    databaseCpu: null,
    checkpoint: async () => {},
    rounds: sqliteRounds,
  })
}

tell('installing and building')
await prepare()
const folder = newFolder('callers')
if (values.databases.includes('postgresql'))
  console.log(`PostgreSQL, ${rounds} rounds of a second\n${table(HEAD, await onPostgres(folder), 3)}\n`)
if (values.databases.includes('sqlite'))
  console.log(`SQLite, ${sqliteRounds} rounds of a second\n${table(HEAD, await onSqlite(folder), 3)}`)
process.exit()
