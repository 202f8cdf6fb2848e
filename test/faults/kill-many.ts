import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  BIN,
  caller,
  type DatabaseKind,
  databaseKinds,
  inherited,
  NODE,
  newFolder,
  type Program,
  runCommand,
  seed,
  startServer,
  type TestedDatabase,
  until,
} from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'
import { peakMemoryMb } from './verdict.ts'

const ROUNDS = timesOf(4)
const CALLERS = 8
const BATCH_ITEMS = 100
const FILE_LINES = 30_000
const PERSONS = 500
const SERVER_MEMORY_MB_MAX = 300
const IMPORT_MEMORY_MB_MAX = 150

/** Kills servers that store batches, and imports of a file, on a database of this kind. */
export const killMany = (name: DatabaseKind['name']): void => {
  const kind = databaseKinds().find((kind) => kind.name === name)
  if (kind === undefined) throw new Error(`there is no ${name}`)
  t.setTimeout(0)
  const skip = kind.skip ?? false

  t.test(`batches are stored once while ${ROUNDS} servers on ${name} are killed`, { skip }, (t) =>
    killServers(t, kind),
  )
  t.test(
    `a file is imported once by ${ROUNDS} imports on ${name} that are killed and a last one`,
    { skip },
    (t) => killImports(t, kind),
  )
}

/** The nth activity, whose idempotency key is its number. */
const activityOf = (number: number) => ({
  source: 'faults',
  email: `person-${number % PERSONS}@example.com`,
  payload: { n: number },
  idempotencyKey: String(number),
})

const killServers = async (t: Test, kind: DatabaseKind): Promise<void> => {
  const random = faultsRandom(t)
  const database = await kind.open(t)
  const batches = createBatches(t, (await seed(database.env)).apiKey)
  let memoryMb = 0
  let interrupted = 0
  // By chance a server may be killed while no batch is in flight: then there is another round.
  for (let round = 0; round < 2 * ROUNDS && interrupted < ROUNDS; round++) {
    const server = await startServer(t, database.env)
    const flow = batches.flow(server)
    await pause(200 + random.below(800))
    memoryMb = Math.max(memoryMb, peakMemoryMb(server.pid) ?? 0)
    flow.stop()
    await server.kill()
    const unacknowledged = await flow.unacknowledged()
    if (unacknowledged.length > 0) interrupted++

    const next = await startServer(t, database.env)
    for (const batch of unacknowledged) t.ok(await batches.send(next, batch), 'a batch can be repeated')
    t.equal(await next.stop(), 0)
  }
  t.equal(interrupted, ROUNDS, `${ROUNDS} servers were killed while batches were in flight`)
  await checkStored(t, database, batches.sentCount(), batches.acknowledged)
  t.ok(memoryMb < SERVER_MEMORY_MB_MAX, `${memoryMb} MB of memory`)
  t.comment(`${batches.sentCount()} items on ${kind.name}, peak MB: ${memoryMb}`)
}

/** The numbers of the activities that are sent together. */
type Batch = readonly number[]

const createBatches = (t: Test, apiKey: string) => {
  /** The ids of acknowledged activities, by their idempotency keys. */
  const acknowledged = new Map<string, string>()
  let sentCount = 0

  const newBatch = (): Batch => {
    const first = sentCount
    sentCount += BATCH_ITEMS
    return Array.from({ length: BATCH_ITEMS }, (_, i) => first + i)
  }
  /** Whether the batch was acknowledged. */
  const send = async ({ url }: Program, batch: Batch): Promise<boolean> => {
    const items = batch.map(activityOf)
    const call = caller(url, apiKey)('POST', '/v0/prospect_logs/batch', { items })
    const answer = await call.catch(() => null)
    for (const [i, { status, prospectLog }] of (answer?.body.items ?? []).entries())
      if (status === 201) acknowledge(String(batch[i]), prospectLog.prospectLogId)
    return answer?.status === 201
  }
  const acknowledge = (key: string, id: string): void => {
    const known = acknowledged.get(key)
    if (known !== undefined && known !== id) t.fail(`${key} was acknowledged as ${known}, and then as ${id}`)
    acknowledged.set(key, id)
  }
  return {
    acknowledged,
    sentCount: () => sentCount,
    send,
    /** Sends one batch after the other until it is stopped. */
    flow: (server: Program) => {
      let isStopped = false
      const unacknowledged: Batch[] = []
      const sendBatches = async () => {
        while (!isStopped) {
          const batch = newBatch()
          if (!(await send(server, batch))) unacknowledged.push(batch)
        }
      }
      const callers = Array.from({ length: CALLERS }, sendBatches)
      return {
        stop: (): void => {
          isStopped = true
        },
        /** The batches without an answer, once every call has ended. */
        unacknowledged: async (): Promise<readonly Batch[]> => {
          await Promise.all(callers)
          return unacknowledged
        },
      }
    },
  }
}

const killImports = async (t: Test, kind: DatabaseKind): Promise<void> => {
  t.teardown(kind.end)
  const random = faultsRandom(t)
  const database = await kind.open(t)
  const { tenantId } = await seed(database.env)
  const file = join(newFolder(t), 'lines.jsonl')
  const lines = Array.from({ length: FILE_LINES }, (_, i) => `${JSON.stringify(activityOf(i))}\n`)
  writeFileSync(file, lines.join(''))
  const args = ['prospect-logs', 'import', '--tenant', tenantId, '--file', file]

  const countStored = async (): Promise<number> => {
    const [row] = await database.rows<{ logs: number }>('select count(*) as logs from prospect_logs')
    return Number(row?.logs)
  }
  let memoryMb = 0
  let storedBefore = 0
  for (let round = 0; round < ROUNDS; round++) {
    const importing = spawn(NODE, [BIN, ...args], { env: { ...inherited(), ...database.env } })
    await until('the import stores lines', async () => (await countStored()) > storedBefore)
    await pause(random.below(100))
    memoryMb = Math.max(memoryMb, peakMemoryMb(importing.pid ?? 0) ?? 0)
    importing.kill('SIGKILL')
    await once(importing, 'close')
    storedBefore = await countStored()
  }

  const { code, stdout } = await runCommand(args, database.env)
  t.equal(code, 0, 'the last import succeeds')
  const { read, logged, replayed, refused } = JSON.parse(stdout)
  t.equal(read, FILE_LINES, 'it reads every line')
  t.equal(refused, 0, 'it refuses none')
  t.equal(logged + replayed, FILE_LINES, 'it logs a line, or finds it stored')
  t.ok(replayed > 0, `${replayed} were stored by the imports that were killed`)
  t.ok(logged > 0, `${logged} were left for the last import`)
  await checkStored(t, database, FILE_LINES, new Map())
  t.ok(memoryMb < IMPORT_MEMORY_MB_MAX, `${memoryMb} MB of memory`)
}

/** Checks that the first `sentCount` activities are stored, and nothing else. `acknowledged`: ids by idempotency keys. */
const checkStored = async (
  t: Test,
  { rows }: TestedDatabase,
  sentCount: number,
  acknowledged: ReadonlyMap<string, string>,
): Promise<void> => {
  const stored = await rows<{ key: string; id: string }>(
    'select idempotency_key as key, prospect_log_id as id from prospect_logs',
  )
  const ids = new Map(stored.map(({ key, id }) => [key, id]))
  let missing = 0
  for (let number = 0; number < sentCount; number++) if (!ids.has(String(number))) missing++
  let elsewhere = 0
  for (const [key, id] of acknowledged) if (ids.get(key) !== id) elsewhere++
  t.equal(missing, 0, 'every activity is stored')
  t.equal(elsewhere, 0, 'each under the id that was acknowledged')
  t.equal(stored.length, ids.size, 'each once')
  t.equal(stored.length, sentCount, 'and nothing else')

  const [people] = await rows<{ prospects: number; created: number }>(`
    select (select count(*) from prospects) as prospects,
      (select count(*) from prospect_logs where created_prospect) as created`)
  t.equal(Number(people?.prospects), PERSONS, 'each person is one prospect')
  t.equal(Number(people?.created), PERSONS, 'which one activity created')
}
