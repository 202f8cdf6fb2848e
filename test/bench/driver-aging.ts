// Why a service on postgres.js grows slower with every statement, and what is done about it: processor time of one
// statement, in rounds, through a pool of ten connections and through ten pools of one. `node test/bench/driver-aging.ts`
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { startBenchPostgres } from './database.ts'
import { table, whole } from './table.ts'

const CONNECTIONS = 10
/** Fewer than there are connections, so that some are always free: as in a service that gathers. */
const UNDER_WAY = 2
const ROUNDS = 6
const STATEMENTS = 50_000

type Ask = () => PromiseLike<unknown>

const onePool = (url: string) => {
  const sql = openPostgres(url, { max: CONNECTIONS, onnotice: () => {} })
  const ask: Ask = () => sql`select 1 as one`
  return { name: `a pool of ${CONNECTIONS}`, ask, close: () => sql.end() }
}

const poolsOfOne = (url: string) => {
  const pools = Array.from({ length: CONNECTIONS }, () => openPostgres(url, { max: 1, onnotice: () => {} }))
  const free = [...pools]
  const ask: Ask = async () => {
    const sql = free.pop()
    if (sql === undefined) throw new Error('more under way than there are connections')
    await sql`select 1 as one`
    free.push(sql)
  }
  return { name: `${CONNECTIONS} pools of one`, ask, close: () => Promise.all(pools.map((sql) => sql.end())) }
}

/** Microseconds of processor time for one statement. */
const costOf = async (ask: Ask): Promise<number> => {
  const before = process.cpuUsage()
  const caller = async () => {
    for (let sent = 0; sent < STATEMENTS / UNDER_WAY; sent++) await ask()
  }
  await Promise.all(Array.from({ length: UNDER_WAY }, caller))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / STATEMENTS
}

const database = await startBenchPostgres()
try {
  const { url } = await database.newDatabase()
  const contestants = [onePool(url), poolsOfOne(url)]
  // All connections open.
  for (const { ask } of contestants) await Promise.all(Array.from({ length: CONNECTIONS }, ask))
  const rows = contestants.map(({ name }) => [name])
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, { ask }] of contestants.entries()) rows[i]?.push(whole(await costOf(ask)))
  const head = [
    'cpu µs a statement',
    ...Array.from({ length: ROUNDS }, (_, i) => `after ${(i * STATEMENTS) / 1_000} k`),
  ]
  process.stdout.write(`${table(head, rows)}\n`)
  for (const { close } of contestants) await close()
} finally {
  await database.stop()
}
