import type { Test } from 'tap'
import type { ThrowawayPostgres } from '../support/postgres.ts'
import {
  databaseAt,
  type Environment,
  seed,
  startServer,
  type TestedDatabase,
  until,
} from '../support/program.ts'
import { watchHealth } from './health.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { noteSettlements, settlementFaults } from './settlements.ts'
import { createTraffic, type Traffic, type Write } from './traffic.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

/** The defaults of these limits in the program: see `compose.ts` and `postgres/connect.ts`. */
const GRACE_MS = 1_000
const GATE_MS_MAX = 2_000
/** The look-up of the key; two statements of the list that is waited for; two of the list that it is in. */
const STATEMENTS_OF_A_CALL = 5
/** How soon the service serves after its database does. */
export const BACK_MS_MAX = 2_000
const MEMORY_MB_MAX = 300
const CALLERS = 16

export type Scene = {
  readonly env: Environment
  readonly database: TestedDatabase
  readonly traffic: Traffic
  readonly callMsMax: number
}

type SceneOptions = {
  readonly statementMsMax?: number
  /** How long a call may take, where less than all limits together is right. */
  readonly callMsMax?: number
  readonly databaseOptions?: string
  /** The address of a new database, where it is not that of this PostgreSQL. */
  readonly addressOf?: (url: string) => string
}

/** A new database of this PostgreSQL with a tenant, a key and a page group, and traffic for it. */
export const openScene = async (
  t: Test,
  postgres: ThrowawayPostgres,
  { statementMsMax = 5_000, callMsMax, databaseOptions = '', addressOf = String }: SceneOptions = {},
): Promise<Scene> => {
  const database = databaseAt(addressOf(await postgres.newDatabase(databaseOptions)))
  const env = { ...database.env, STATEMENT_MS_MAX: String(statementMsMax) }
  const { apiKey, pageGroupId } = await seed(env)
  await noteSettlements(database)
  const limitMs = callMsMax ?? (statementMsMax + GRACE_MS) * STATEMENTS_OF_A_CALL + GATE_MS_MAX
  const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId] })
  t.teardown(traffic.close)
  return { env, database, traffic, callMsMax: limitMs }
}

/** Does something to the database; answers when it was itself again, by `performance.now()`. */
export type Harm = (scene: Scene) => Promise<number>

/**
 * A server under load, whose database is harmed: every answer is done or 503, none is late, the process lives; two
 * seconds after its database it serves again; and nothing is lost, doubled or left half done.
 */
export const underHarm = async (t: Test, name: string, scene: Scene, harm: Harm): Promise<void> => {
  const { env, traffic } = scene
  const server = await startServer(t, env)
  const health = watchHealth(t, server.url)
  const flow = traffic.flow(server.url, { callers: CALLERS })
  await served(scene, performance.now())
  const backAt = await harm(scene)
  const backMs = await served(scene, backAt)
  t.ok(backMs <= BACK_MS_MAX, `it served ${backMs} ms after its database`)
  await flow.stop()
  t.ok(
    traffic.answers.some(({ status }) => status === 503),
    'the harm was felt',
  )
  await traffic.repeat(server.url)
  t.strictSame(await health.stop(), [], 'it tells that it lives all along')
  const memoryMb = peakMemoryMb(server.pid) ?? 0
  t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
  const faults = await faultsAfterwards(scene)
  t.strictSame(faults, [], 'nothing is lost, doubled or left half done')
  t.strictSame(
    answerFaults(traffic.answers, { msMax: scene.callMsMax }),
    [],
    'every answer is one that may be',
  )
  t.equal(await server.stop(), 0, 'it is the process that it was')
  t.comment(`${name}: ${figuresOf(traffic, faults, { 'back after ms': backMs, 'peak MB': memoryMb })}`)
}

/** Milliseconds from then until writes of both kinds are done; waits for that. */
export const served = async ({ traffic }: Pick<Scene, 'traffic'>, since: number): Promise<number> => {
  const firstOf = (wanted: Write['kind']) =>
    until(`a new ${wanted} is acknowledged`, () =>
      traffic.answers.find(({ kind, status, at }) => kind === wanted && status === 201 && at >= since),
    )
  const [activity, page] = await Promise.all([firstOf('activity'), firstOf('page')])
  return Math.round(Math.max(activity.at, page.at) - since)
}

export const faultsAfterwards = async ({ database, traffic }: Scene): Promise<string[]> => {
  // Versions that a publisher had claimed when its statement failed stay claimed until the lease ends: that is put forward.
  await database.rows(
    "update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0",
  )
  return [
    ...(await keptFaults(traffic, database)),
    ...(await versionFaults(database, 20_000)),
    ...(await settlementFaults(database)),
  ]
}
