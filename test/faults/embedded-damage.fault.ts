import { appendFileSync, closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { embeddedDatabase, newFolder, runCommand, type TestedDatabase, until } from '../support/program.ts'
import { type Random, randomBy } from '../support/random.ts'
import { ANSWER_MS_MAX, embeddedScene, startOrRefusal } from './embedded-scene.ts'
import { keptFaults, lostWrites } from './kept.ts'
import type { Traffic } from './traffic.ts'
import { answerFaults, figuresOf } from './verdict.ts'

t.setTimeout(0)
const SEED = 20_260_101
const PAGE_BYTES = 4_096
/** Tables and indexes whose first page is overwritten, one after another. */
const DAMAGED = [
  'schema_migrations',
  'api_keys_of_tenant',
  'prospects',
  'prospect_logs_idempotency_key',
  'page_versions',
]

t.test('a file that is no database is refused at start, by commands too, and left as it is', async (t) => {
  const path = join(newFolder(t), 'test.db')
  const { env } = embeddedDatabase(path)
  const garbage = 'This is not a database, and somebody may want it back.\n'.repeat(1_000)
  writeFileSync(path, garbage)
  for (const args of [['serve'], ['migrate'], ['tenants', 'create', '--name', 'One']])
    t.match(await runCommand(args, { PORT: '0', ...env }), { code: 1, stdout: '', stderr: /not a database/ })
  t.equal(readFileSync(path, 'utf8'), garbage)
})

t.test('a torn end, as after a loss of power, loses nothing that was acknowledged', async (t) => {
  const { path, database, traffic, start } = await embeddedScene(t)
  const server = await start()
  const flow = traffic.flow(server.url)
  await until('it is under load', () => traffic.acknowledged.size >= 200)
  await server.kill()
  await flow.stop()
  appendFileSync(`${path}-wal`, garbageOf(randomBy(SEED), 10_000))
  const again = await start()
  t.strictSame(await lostWrites(traffic, database), [])
  await traffic.repeat(again.url)
  t.strictSame(await keptFaults(traffic, database), [])
  t.equal(await again.stop(), 0)
})

t.test('a damaged file: refused at start, or 503; what is acknowledged is there', async (t) => {
  const { path, database, traffic, start, newTraffic, tenantId } = await embeddedScene(t)
  const first = await start()
  await traffic.flow(first.url, { writesMax: 400 }).done()
  t.equal(await first.stop(), 0)
  const whole = readFileSync(path)
  const roots = await database.rows<{ name: string; page: number }>(
    `select name, rootpage as page from sqlite_schema where name in (${DAMAGED.map((name) => `'${name}'`)})`,
  )
  const chance = randomBy(SEED)
  const some = Array.from({ length: 30 }, () => 2 + chance.below(whole.length / PAGE_BYTES - 1))
  t.equal(roots.length, DAMAGED.length)
  const damages = [...roots.map(({ name, page }) => ({ name, pages: [page] })), { name: 'much', pages: some }]
  for (const { name, pages } of damages) {
    for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
    writeFileSync(path, whole)
    damage(path, chance, pages)
    const server = await startOrRefusal(t, database.env)
    if (typeof server === 'string') {
      t.match(server, /ended with 1: .*(malformed|not a database)/, `${name}: it says why`)
      continue
    }
    const onDamaged = newTraffic()
    const flow = onDamaged.flow(server.url, { kinds: ['activity'] })
    await until('it has answered', () => onDamaged.answers.length >= 100)
    t.equal((await fetch(`${server.url}/healthz`)).status, 200, 'it lives')
    await flow.stop()
    await server.kill()
    const faults = [
      ...answerFaults(onDamaged.answers, { msMax: ANSWER_MS_MAX }),
      ...(await missingOf(onDamaged, database, tenantId)),
    ]
    t.strictSame(faults, [], `${name} is damaged`)
    t.comment(figuresOf(onDamaged, faults, { damaged: name }))
  }
})

/** Acknowledged activities that cannot be found by their key; a look over the whole table may meet the damage. */
const missingOf = async (
  { acknowledged }: Traffic,
  { rows }: TestedDatabase,
  tenantId: string,
): Promise<string[]> => {
  const missing = async ([key, ids]: [string, Set<string>]) => {
    const found = await rows<{ id: string }>(
      `select prospect_log_id as id from prospect_logs where source = 'faults' and idempotency_key = '${key}'
         and tenant_id = '${tenantId}'`,
    )
    return found.length === 1 && ids.has(String(found[0]?.id)) ? [] : [`lost: ${key}`]
  }
  return (await Promise.all([...acknowledged].map(missing))).flat()
}

/** Overwrites pages, which are counted from 1; the first one tells that it is a database. */
const damage = (path: string, chance: Random, pages: readonly number[]): void => {
  const file = openSync(path, 'r+')
  for (const page of pages)
    writeSync(file, garbageOf(chance, PAGE_BYTES), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES)
  closeSync(file)
}

const garbageOf = (chance: Random, bytes: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, () => chance.below(256))
