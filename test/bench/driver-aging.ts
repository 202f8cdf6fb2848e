// Shows why a service on postgres.js grows slower with every statement, and what prevents it: processor time of one
// statement, in rounds, through a pool of ten connections and through ten pools of one. `node test/bench/driver-aging.ts`
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { startBenchPostgres } from './database.ts'
import { table, whole } from './table.ts'

const CONNECTIONS = 10
/** Fewer than the connections, so that some are always free, as in a service that gathers. */
const IN_FLIGHT = 2
const ROUNDS = 6
const STATEMENTS = 50_000

type RunStatement = () => PromiseLike<unknown>

const onePool = (url: string) => {
  const sql = openPostgres(url, { max: CONNECTIONS, onnotice: () => {} })
  const runStatement: RunStatement = () => sql`select 1 as one`
  return { name: `a pool of ${CONNECTIONS}`, runStatement, close: () => sql.end() }
}

const poolsOfOne = (url: string) => {
  const pools = Array.from({ length: CONNECTIONS }, () => openPostgres(url, { max: 1, onnotice: () => {} }))
  const free = [...pools]
  const runStatement: RunStatement = async () => {
    const sql = free.pop()
    if (sql === undefined) throw new Error('more statements in flight than connections')
    await sql`select 1 as one`
    free.push(sql)
  }
  return {
    name: `${CONNECTIONS} pools of one`,
    runStatement,
    close: () => Promise.all(pools.map((sql) => sql.end())),
  }
}

const cpuMicrosPerStatement = async (runStatement: RunStatement): Promise<number> => {
  const before = process.cpuUsage()
  const caller = async () => {
    for (let sent = 0; sent < STATEMENTS / IN_FLIGHT; sent++) await runStatement()
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / STATEMENTS
}

const database = await startBenchPostgres()
try {
  const { url } = await database.newDatabase()
  const contestants = [onePool(url), poolsOfOne(url)]
  // Open all connections before measuring.
  for (const { runStatement } of contestants) {
    await Promise.all(Array.from({ length: CONNECTIONS }, runStatement))
  }
  const rows = contestants.map(({ name }) => [name])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, { runStatement }] of contestants.entries()) {
      rows[i]?.push(whole(await cpuMicrosPerStatement(runStatement)))
    }
  }
  const head = [
    'cpu µs a statement',
    ...Array.from({ length: ROUNDS }, (_, i) => `after ${(i * STATEMENTS) / 1_000} k`),
  ]
  process.stdout.write(`${table(head, rows)}\n`)
  for (const { close } of contestants) await close()
} finally {
  await database.stop()
}
