import { join } from 'node:path'
import { CASES, type Case } from './cases.ts'
import type { ServiceContestant } from './contestants/contestant.ts'
import { launchOurs, ourContestant } from './contestants/services.ts'
import { DEPTH, type Size } from './fill.ts'
import { fillPostgres } from './fill-postgres.ts'
import { fillSqlite } from './fill-sqlite.ts'
import { freeGib } from './folders.ts'
import { EMPTY, MILLION, TEN_MILLION } from './growth-cells.ts'
import { measureCase, warmUp } from './measure.ts'
import type { GrowthCell, GrowthFound, Kind, Setting } from './results.ts'

type Step = { readonly name: string; readonly size: Size }
/** As many logs as pages in the largest group, and nearly as many people: some are needed where nothing else is. */
const step = (name: string, count: number): Step => ({
  name,
  size: {
    groups: 200,
    pagesOfOthers: 10,
    bigGroupPages: Math.max(10, count),
    logs: count,
    prospects: Math.max(5_000, count),
  },
})
const STEPS = [
  step(EMPTY, 0),
  step('10 thousand', 10_000),
  step(MILLION, 1_000_000),
  step(TEN_MILLION, 10_000_000),
]
/** With the log of PostgreSQL and what is written while it is measured. */
const TEN_MILLION_GIB = 40
const CALLERS = [1, 64]

/** The cost of each operation as the tables grow. */
export const measureGrowth = async (setting: Setting): Promise<GrowthFound> => {
  const withoutLast = STEPS.slice(0, -1)
  const steps = setting.amount.quick || !hasRoom(setting.tell) ? withoutLast : STEPS
  const cells = [
    ...(await measureKind('postgres', steps, setting)),
    // The embedded database is for less.
    ...(await measureKind('sqlite', withoutLast, setting)),
  ]
  return { cells, fullest: steps.at(-1)?.name ?? EMPTY }
}

const hasRoom = (tell: Setting['tell']): boolean => {
  const has = freeGib() >= TEN_MILLION_GIB
  if (!has) tell(`10 million rows are left out: they need ${TEN_MILLION_GIB} GiB`)
  return has
}

/** One service on a database of each size, all measured in turn, round by round. */
const measureKind = async (kind: Kind, steps: readonly Step[], setting: Setting): Promise<GrowthCell[]> => {
  const { amount, database, tell } = setting
  const services = new Map<Step, ServiceContestant>()
  for (const one of steps) {
    tell(`filling ${kind}, ${one.name}`)
    services.set(one, await filledService(kind, one, setting))
  }
  const cells: GrowthCell[] = []
  const checkpoint = kind === 'postgres' ? database.checkpoint : async () => {}
  const plan = { ...amount, age: 'fresh', callers: CALLERS, checkpoint, tell } as const
  try {
    for (const service of services.values()) await service.start()
    for (const one of CASES.filter(({ name, items }) => items === undefined && name.includes(amount.only))) {
      const measured = [...services].filter(([{ size }]) => isPossible(one, size))
      const contestants = measured.map(([, service]) => service)
      await warmUp(one, contestants)
      for (const cell of await measureCase(one, contestants, plan))
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
  { database, folder }: Setting,
): Promise<ServiceContestant> => {
  if (kind === 'postgres') {
    const { url } = await database.newDatabase()
    const filled = await fillPostgres(url, size)
    return ourContestant(name, launchOurs(url, folder), filled)
  }
  const path = join(folder, `${name.replace(' ', '-')}.db`)
  const filled = await fillSqlite(path, size)
  return ourContestant(name, launchOurs(`sqlite:${path}`, folder), filled)
}
