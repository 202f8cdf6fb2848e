import { join } from 'node:path'
import t from 'tap'
import {
  answerOf,
  caller,
  embeddedDatabase,
  newFolder,
  runCommand,
  startProgram,
  until,
} from '../support/program.ts'
import { ANSWER_MS_MAX, embeddedScene } from './embedded-scene.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

t.setTimeout(0)
const ROUNDS = 2

t.test(
  'two servers started on one new file both serve it, and each key that one of them prints works on both',
  async (t) => {
    const { env } = embeddedDatabase(join(newFolder(t), 'test.db'))
    const servers = await Promise.all([startProgram(t, env), startProgram(t, env)])
    for (const server of servers) await server.ready()
    const keys = await until('a key is printed', () => {
      const printed = servers.flatMap((server) => server.stdout().match(/pp_[0-9A-Za-z]{36}/g) ?? [])
      return printed.length > 0 && new Set(printed)
    })
    for (const key of keys)
      for (const { url } of servers) t.equal((await caller(url, key)('GET', '/v0/page_groups')).status, 200)
    for (const server of servers) t.equal(await server.stop(), 0)
  },
)

t.test(
  'two servers on one file lose nothing while one of them is killed and started again under load',
  async (t) => {
    const { database, traffic, start, endLeases } = await embeddedScene(t)
    const steady = await start()
    const shaky = await start()
    let running = shaky
    const onSteady = traffic.flow(steady.url)
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
    await endLeases()
    const faults = [
      ...answerFaults(traffic.answers, { noAnswer: true, msMax: ANSWER_MS_MAX }),
      ...(await keptFaults(traffic, database)),
      ...(await versionFaults(database, 30_000)),
    ]
    t.strictSame(faults, [])
    t.comment(figuresOf(traffic, faults, { rounds: ROUNDS, 'peak MB': peakMemoryMb(steady.pid) }))
    t.equal(await steady.stop(), 0)
    t.equal(await running.stop(), 0)
  },
)

t.test(
  'the command line can write while the server serves, and both keep what they acknowledged',
  async (t) => {
    const { tenantId, database, traffic, start, apiKeyId } = await embeddedScene(t)
    const server = await start()
    const run = (...args: string[]) => answerOf(args, database.env)
    const api = (...operation: string[]) => run('api', ...operation, '--tenant', tenantId)
    const flow = traffic.flow(server.url)
    await until('it is under load', () => traffic.acknowledged.size >= 50)

    const [{ apiKey, apiKeyId: secondId }, group] = await Promise.all([
      run('keys', 'create', '--tenant', tenantId),
      api('POST', '/v0/page_groups', '{"name":"spring","title":"Spring"}'),
    ])
    const call = caller(server.url, apiKey)
    const pagesPath = `/v0/page_groups/${group.pageGroupId}/pages`
    t.equal((await call('GET', pagesPath)).status, 200, 'a new key and a new group are known at once')
    await api('PATCH', `/v0/page_groups/${group.pageGroupId}`, '{"status":"archived"}')
    t.equal((await call('POST', pagesPath, {})).status, 409, 'an archived group takes no more')
    await Promise.all([
      runCommand(
        ['api', 'DELETE', `/v0/page_groups/${group.pageGroupId}`, '--tenant', tenantId],
        database.env,
      ),
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
  },
)
