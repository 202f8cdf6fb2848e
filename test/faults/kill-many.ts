import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import {
  BIN,
  caller,
  databaseKinds,
  inherited,
  NODE,
  newFolder,
  runCommand,
  seed,
  startServer,
  type TestedDatabase,
  until,
} from '../support/program.ts'
import { randomBy, timesOf } from '../support/random.ts'
import { peakMemoryMb } from './verdict.ts'

const ROUNDS = timesOf(4)
const CALLERS = 8
const ITEMS = 100
const LINES = 30_000
const PERSONS = 500
const MEMORY_MB_MAX = 300
const IMPORT_MEMORY_MB_MAX = 150

const activityOf = (key: string, n: number) => ({
  source: 'faults',
  email: `person-${n % PERSONS}@example.com`,
  payload: { n },
  idempotencyKey: key,
})

/** Faults of the rows stored under these keys; acknowledged ones have their ids. */
const faultsIn = async (
  { rows }: TestedDatabase,
  sent: readonly string[],
  told: ReadonlyMap<string, string>,
) => {
  type Row = { key: string; id: string }
  const kept = await rows<Row>('select idempotency_key as key, prospect_log_id as id from prospect_logs')
  const ids = new Map(kept.map(({ key, id }) => [key, id]))
  const [created] = await rows<{ logs: number; prospects: number }>(`
    select (select count(*) from prospect_logs where created_prospect) as logs,
      (select count(*) from prospects) as prospects`)
  return {
    lost:
      sent.filter((key) => !ids.has(key)).length +
      [...told].filter(([key, id]) => ids.get(key) !== id).length,
    doubled: kept.length - ids.size,
    unknown: kept.length - sent.length,
    prospects: Number(created?.prospects) - PERSONS,
    created: Number(created?.logs) - PERSONS,
  }
}
const NO_FAULTS = { lost: 0, doubled: 0, unknown: 0, prospects: 0, created: 0 }

/** Kills a server in the midst of batches, and an import in the midst of its file, again and again. */
export const killMany = (name: 'sqlite' | 'postgres'): void => {
  const kind = databaseKinds().find((kind) => kind.name === name)
  if (kind === undefined) throw new Error(`there is no ${name}`)
  t.setTimeout(0)
  const random = randomBy(Number(process.env['FAULTS_SEED'] ?? Date.now() % 1_000_000))

  t.test(`${ROUNDS} servers killed in batches on ${name}`, { skip: kind.skip ?? false }, async (t) => {
    const database = await kind.open(t)
    const { apiKey } = await seed(database.env)
    const told = new Map<string, string>()
    const sent: string[] = []
    let changed = 0
    let memoryMb = 0
    const batch = async (url: string, keys: readonly string[]): Promise<boolean> => {
      const items = keys.map((key) => activityOf(key, Number(key)))
      const call = caller(url, apiKey)('POST', '/v0/prospect_logs/batch', { items })
      const answer = await call.catch(() => null)
      for (const [i, { status, prospectLog }] of (answer?.body.items ?? []).entries()) {
        const key = keys[i] as string
        if (status !== 201) continue
        if (told.has(key) && told.get(key) !== prospectLog.prospectLogId) changed++
        told.set(key, prospectLog.prospectLogId)
      }
      return answer?.status === 201
    }
    // A kill may by chance come between two batches of every caller: then there is another round.
    let cutOff = 0
    for (let round = 0; round < 2 * ROUNDS && cutOff < ROUNDS; round++) {
      const server = await startServer(t, database.env)
      const unsure: string[][] = []
      let isKilled = false
      const callers = Array.from({ length: CALLERS }, async () => {
        while (!isKilled) {
          const keys = Array.from({ length: ITEMS }, (_, i) => String(sent.length + i))
          sent.push(...keys)
          if (!(await batch(server.url, keys))) unsure.push(keys)
        }
      })
      await pause(200 + random.below(800))
      memoryMb = Math.max(memoryMb, peakMemoryMb(server.pid) ?? 0)
      isKilled = true
      await server.kill()
      await Promise.all(callers)
      if (unsure.length > 0) cutOff++
      const again = await startServer(t, database.env)
      for (const keys of unsure) t.ok(await batch(again.url, keys), 'what was unsure can be repeated')
      t.equal(await again.stop(), 0)
    }
    t.equal(cutOff, ROUNDS, 'so often it was killed in the midst of batches')
    t.strictSame({ ...(await faultsIn(database, sent, told)), changed }, { ...NO_FAULTS, changed: 0 })
    t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
    t.comment(`${sent.length} items on ${name}, peak MB: ${memoryMb}`)
  })

  t.test(`${ROUNDS} killed imports on ${name}`, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)
    const database = await kind.open(t)
    const { tenantId } = await seed(database.env)
    const file = join(newFolder(t), 'lines.jsonl')
    const keys = Array.from({ length: LINES }, (_, n) => String(n))
    writeFileSync(file, keys.map((key, n) => `${JSON.stringify(activityOf(key, n))}\n`).join(''))
    const args = ['prospect-logs', 'import', '--tenant', tenantId, '--file', file]
    let memoryMb = 0
    let stored = 0
    const count = async () => {
      const [row] = await database.rows<{ logs: number }>('select count(*) as logs from prospect_logs')
      return Number(row?.logs)
    }
    for (let round = 0; round < ROUNDS; round++) {
      const child = spawn(NODE, [BIN, ...args], { env: { ...inherited(), ...database.env } })
      await until('it goes on', async () => (await count()) > stored)
      await pause(random.below(100))
      memoryMb = Math.max(memoryMb, peakMemoryMb(child.pid ?? 0) ?? 0)
      child.kill('SIGKILL')
      await once(child, 'close')
      stored = await count()
    }
    const { code, stdout } = await runCommand(args, database.env)
    const { read, logged, replayed, refused } = JSON.parse(stdout)
    t.strictSame(
      { code, read, sum: logged + replayed, refused },
      { code: 0, read: LINES, sum: LINES, refused: 0 },
    )
    t.ok(replayed > 0 && logged > 0, `${logged} were left for the last import`)
    t.strictSame(await faultsIn(database, keys, new Map()), NO_FAULTS)
    t.ok(memoryMb < IMPORT_MEMORY_MB_MAX, `${memoryMb} MB of memory`)
  })
}
