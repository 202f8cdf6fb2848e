import { setTimeout as pause } from 'node:timers/promises'
import { CASES, type Case, newTag, type Request } from './cases.ts'
import { type ServiceContestant, settle } from './contestants/contestant.ts'
import { launchOurs, ourContestant, ourCursor } from './contestants/services.ts'
import { CASES_SIZE, type Filled } from './fill.ts'
import { fillPostgres } from './fill-postgres.ts'
import { freeGib } from './folders.ts'
import { load } from './load.ts'
import { measureInTurn } from './measure.ts'
import type { HourFound, Look, Minute, Setting } from './results.ts'

const CALLERS = 64
const MINUTE_S = 60
/** Rows, the log of PostgreSQL, and a line in the log of the service for each answer. */
const HOUR_GIB = 25
/** Requests of each case in the mix; it begins again at their end. */
const REQUESTS_OF_EACH = 1_000

/** One service under all the cases at once for an hour; each of them measured alone before it and after it. */
export const measureHour = async (setting: Setting): Promise<HourFound> => {
  const { amount, database, folder, tell } = setting
  const cases = CASES.filter(({ name, items }) => items === undefined && name.includes(amount.only))
  const neededGib = (HOUR_GIB * amount.minutes) / 60
  if (freeGib() < neededGib) throw new Error(`${amount.minutes} minutes need ${neededGib} GiB`)
  tell('filling')
  const { url } = await database.newDatabase()
  const filled = await fillPostgres(url, CASES_SIZE)
  const service = ourContestant('prospect-pages', launchOurs(url, folder), filled)
  await service.start()
  try {
    const warmUpS = amount.quick ? 5 : 30
    await underMix(cases, service, filled, warmUpS)
    const start = await look(cases, service, setting)
    const minutes: Minute[] = []
    const failures: string[] = []
    for (let number = 1; number <= amount.minutes; number++) {
      try {
        const minute = await underMix(cases, service, filled, MINUTE_S)
        tell(`minute ${number}: ${Math.round(minute.rate)}/s, ${Math.round(minute.residentMib ?? 0)} MiB`)
        minutes.push({ ...minute, number })
      } catch (why) {
        // The hour is too long to be thrown away for it; the verdict is not.
        failures.push(`minute ${number}: ${why instanceof Error ? why.message : why}`)
      }
    }
    return { start, minutes, failures, end: await look(cases, service, setting) }
  } finally {
    await service.stop()
  }
}

/** Its memory is taken after it, so at the start no less has been done than at the end. */
const look = async (
  cases: readonly Case[],
  service: ServiceContestant,
  { amount, database: { checkpoint }, tell }: Setting,
): Promise<Look> => {
  const { quick, rounds, seconds } = amount
  const plan = { age: 'aged', callers: CALLERS, rounds, seconds, checkpoint, tell } as const
  const cells = await measureInTurn(cases, service, plan)
  await pause(quick ? 2_000 : 15_000)
  return { cells, residentMib: service.service().memory().residentMib }
}

/** All cases at once, as many requests of each. */
const underMix = async (
  cases: readonly Case[],
  contestant: ServiceContestant,
  filled: Filled,
  seconds: number,
): Promise<Omit<Minute, 'number'>> => {
  const { url, cpuMs, memory } = contestant.service()
  const target = { url, apiKey: filled.apiKey }
  const tag = newTag()
  const requestsOf = (one: Case) => one.requests(filled, tag, ourCursor)
  const before = cpuMs()
  const { rate, requests, p99Ms } = await load(target, mixOf(cases.map(requestsOf)), {
    callers: CALLERS,
    seconds,
  })
  const after = cpuMs()
  const cpuUs = before === null || after === null ? null : ((after - before) * 1e3) / requests
  const { residentMib } = memory()
  const created = cases.filter(({ creates }) => creates).flatMap(requestsOf)
  return { rate, p99Ms, cpuUs, settleMs: await settle(target, created), residentMib }
}

const mixOf = (all: readonly (readonly Request[])[]): Request[] =>
  Array.from({ length: REQUESTS_OF_EACH }, (_, number) =>
    all.flatMap((requests) => requests[number % requests.length] ?? []),
  ).flat()
