import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  answerOf,
  caller,
  embeddedDatabase,
  newFolder,
  type Program,
  runCommand,
  seed,
  startProgram,
  until,
} from '../support/program.ts'
import { type Random, randomBy } from '../support/random.ts'
import { keptFaults, lostOf, versionFaults } from './kept.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

t.setTimeout(240_000)
const ANSWER_MS_MAX = 15_000
const SEED = 20_260_101

/** A new file, and traffic for the servers on it. */
const setting = async (t: Test) => {
  const path = join(newFolder(t), 'test.db')
  const database = embeddedDatabase(path)
  const seeded = await seed(database.env)
  const traffic = createTraffic({
    apiKey: seeded.apiKey,
    pageGroupIds: [seeded.pageGroupId],
    answerMsMax: 2 * ANSWER_MS_MAX,
  })
  t.teardown(async () => traffic.close())
  const start = async (): Promise<Program> => {
    const server = await startProgram(t, database.env)
    await server.ready()
    return server
  }
  return { ...seeded, path, database, traffic, start }
}

t.test('a file that is no database is refused at start, by commands too, and left as it is', async (t) => {
  const path = join(newFolder(t), 'test.db')
  const { env } = embeddedDatabase(path)
  const garbage = 'This is not a database, and somebody may want it back.\n'.repeat(1_000)
  writeFileSync(path, garbage)
  for (const args of [['serve'], ['migrate'], ['tenants', 'create', '--name', 'One']])
    t.match(await runCommand(args, { PORT: '0', ...env }), { code: 1, stdout: '', stderr: /not a database/ })
  t.equal(readFileSync(path, 'utf8'), garbage)
})

t.test(
  'a torn end of what was written last, as after a loss of power, loses nothing acknowledged',
  async (t) => {
    const { path, database, traffic, start } = await setting(t)
    const server = await start()
    const flow = traffic.flow(server.url)
    await until('it is under load', () => traffic.acknowledged.size >= 200)
    await server.kill()
    await flow.stop()
    const chance = randomBy(SEED)
    appendFileSync(`${path}-wal`, garbageOf(chance, 10_000))
    const again = await start()
    t.strictSame(await lostOf(traffic, database), [])
    await traffic.repeat(again.url)
    t.strictSame(await keptFaults(traffic, database), [])
    t.equal(await again.stop(), 0)
  },
)

t.test(
  'a damaged file: refused at start or answered with 503, and what is acknowledged is there',
  async (t) => {
    const { path, traffic, start, apiKey } = await setting(t)
    const first = await start()
    await traffic.flow(first.url, { writesMax: 400 }).done()
    t.equal(await first.stop(), 0)
    const whole = readFileSync(path)
    const chance = randomBy(SEED)
    for (const share of [2, 8, 32]) {
      writeFileSync(path, whole)
      damage(path, chance, share)
      const server = await startProgram(t, { ...embeddedDatabase(path).env }).catch(
        (error: Error) => error.message,
      )
      if (typeof server === 'string') {
        t.match(server, /ended with 1: .*(malformed|not a database)/, 'it says why')
        continue
      }
      const own = createTraffic({ apiKey, pageGroupIds: [], answerMsMax: 2 * ANSWER_MS_MAX })
      await own.flow(server.url, { writesMax: 100, kinds: ['activity'] }).done()
      t.strictSame(answerFaults(own.answers, { msMax: ANSWER_MS_MAX }), [], `1 of ${share} pages is damaged`)
      t.comment(figuresOf(own, [], { 'damaged pages': `1 of ${share}` }))
      own.close()
      await server.kill()
    }
  },
)

const PAGE_BYTES = 4_096

/** Overwrites about one of so many pages, but not the first, which tells that it is a database. */
const damage = (path: string, chance: Random, share: number): void => {
  const file = openSync(path, 'r+')
  for (let at = PAGE_BYTES; at < statSync(path).size; at += PAGE_BYTES)
    if (chance.onceIn(share)) writeSync(file, garbageOf(chance, PAGE_BYTES), 0, PAGE_BYTES, at)
  closeSync(file)
}

const garbageOf = (chance: Random, bytes: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, () => chance.below(256))

t.test(
  'two servers started on one new file both get it, and every key that is told works on both',
  async (t) => {
    const { env } = embeddedDatabase(join(newFolder(t), 'test.db'))
    const servers = await Promise.all([startProgram(t, env), startProgram(t, env)])
    for (const server of servers) await server.ready()
    const keys = await until('a key is told', () => {
      const told = servers.flatMap((server) => server.stdout().match(/pp_[0-9A-Za-z]{36}/g) ?? [])
      return told.length > 0 && new Set(told)
    })
    for (const key of keys)
      for (const { url } of servers) t.equal((await caller(url, key)('GET', '/v0/page_groups')).status, 200)
    for (const server of servers) t.equal(await server.stop(), 0)
  },
)

t.test('two servers on one file, one of them killed and started again, under load', async (t) => {
  const { database, traffic, start } = await setting(t)
  const [steady, shaky] = [await start(), await start()]
  let running = shaky
  const onSteady = traffic.flow(steady.url)
  const ROUNDS = 3
  for (let round = 0; round < ROUNDS; round++) {
    const onShaky = traffic.flow(running.url)
    const before = traffic.acknowledged.size
    await until('both are under load', () => traffic.acknowledged.size >= before + 200)
    await running.kill()
    await onShaky.stop()
    running = await start()
  }
  const onShaky = traffic.flow(running.url, { writesMax: 200 })
  await onShaky.done()
  await onSteady.stop()
  await traffic.repeat(steady.url)
  await database.rows(
    `update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0`,
  )
  const faults = [
    ...answerFaults(traffic.answers, { noAnswer: true, msMax: ANSWER_MS_MAX }),
    ...(await keptFaults(traffic, database)),
    ...(await versionFaults(database, 30_000)),
  ]
  t.strictSame(faults, [])
  t.comment(figuresOf(traffic, faults, { rounds: ROUNDS, 'peak MB': peakMemoryMb(steady.pid) }))
  t.equal(await steady.stop(), 0)
  t.equal(await running.stop(), 0)
})

t.test('the command line writes while the server serves: both get what they want', async (t) => {
  const { tenantId, database, traffic, start, apiKeyId } = await setting(t)
  const server = await start()
  const run = (...args: string[]) => answerOf(args, database.env)
  const flow = traffic.flow(server.url)
  await until('it is under load', () => traffic.acknowledged.size >= 50)

  const [{ apiKey, apiKeyId: secondId }, group] = await Promise.all([
    run('keys', 'create', '--tenant', tenantId),
    run('page-groups', 'create', '--tenant', tenantId, '--name', 'spring', '--title', 'Spring'),
  ])
  const call = caller(server.url, apiKey)
  const pagesPath = `/v0/page_groups/${group.pageGroupId}/pages`
  t.equal((await call('GET', pagesPath)).status, 200, 'a new key and a new group are known at once')
  await run('page-groups', 'archive', group.pageGroupId)
  t.equal((await call('POST', pagesPath, {})).status, 409, 'an archived group takes no more')
  await Promise.all([
    run('page-groups', 'delete', group.pageGroupId),
    run('tenants', 'create', '--name', 'Another'),
    run('keys', 'rotate', apiKeyId, '--overlap', '1h'),
    run('keys', 'revoke', secondId),
  ])
  await until(
    'the revoked key is refused within a second',
    async () => (await call('GET', '/v0/page_groups')).status === 401,
    { tries: 40 },
  )
  await flow.stop()
  await traffic.repeat(server.url)
  const faults = [
    ...answerFaults(traffic.answers, { msMax: ANSWER_MS_MAX }),
    ...(await keptFaults(traffic, database)),
    ...(await versionFaults(database, 30_000)),
  ]
  t.strictSame(faults, [])
  t.comment(figuresOf(traffic, faults, { 'peak MB': peakMemoryMb(server.pid) }))
  t.equal(await server.stop(), 0)
})
