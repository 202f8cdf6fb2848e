import { type Case, get, type ReadName } from './cases.ts'
import type { ServiceContestant } from './contestants/contestant.ts'
import { launchOurs, ourContestant } from './contestants/services.ts'
import { idOf, type Size } from './fill.ts'
import { fillPostgres } from './fill-postgres.ts'
import { measureCase, warmUp } from './measure.ts'
import type { ReadsFound, Setting } from './results.ts'

/** A tenth of the logs is of one prospect. */
const sizeOf = (logs: number): Size => ({
  groups: 200,
  pagesOfOthers: 10,
  bigGroupPages: 10,
  logs,
  prospects: logs / 10,
  skewed: true,
})
const SIZES: readonly (readonly [string, number])[] = [
  ['100 thousand', 100_000],
  ['10 million', 10_000_000],
]

const timeline = `/v0/prospects/${idOf('prospect', 1)}/prospect_logs`
const read = (name: ReadName, title: string, path: string): Case => ({
  name,
  title,
  writes: false,
  creates: false,
  requests: () => [get(path)],
})
/** The logs happened one second after the other from 2026 on: a day of them is in every size. */
const READS: readonly Case[] = [
  read('timeline', 'timeline of a prospect with a tenth of all logs', timeline),
  read('timeline-deep', 'the same, near its end', `${timeline}?until=2026-01-01T12:00:00Z`),
  read('timeline-rare', 'the same, with a type that it never had', `${timeline}?type=rare`),
  read('logs', 'logs of the tenant', '/v0/prospect_logs'),
  read('logs-rare', 'the same, with a type that one in a million has', '/v0/prospect_logs?type=rare'),
  read('log', 'one log', `/v0/prospect_logs/${idOf('prospectlog', 1)}`),
]

/** The cost of reading logs back as they grow. */
export const measureReads = async ({ amount, database, folder, tell }: Setting): Promise<ReadsFound> => {
  const services: ServiceContestant[] = []
  for (const [name, logs] of amount.quick ? SIZES.slice(0, 1) : SIZES) {
    tell(`filling ${name}`)
    const { url } = await database.newDatabase()
    services.push(ourContestant(name, launchOurs(url, folder), await fillPostgres(url, sizeOf(logs))))
  }
  const plan = { ...amount, age: 'fresh', callers: [1, 64], checkpoint: database.checkpoint, tell } as const
  try {
    for (const service of services) await service.start()
    const reads = []
    for (const one of READS.filter(({ name }) => name.includes(amount.only))) {
      await warmUp(one, services)
      reads.push(...(await measureCase(one, services, plan)))
    }
    return { reads }
  } finally {
    for (const service of services) await service.stop()
  }
}
