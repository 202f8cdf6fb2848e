import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startPostgres, type ThrowawayPostgres, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, type Environment, seed, startServer, until } from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { noteSettlements, settlementFaults } from './settlements.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf } from './verdict.ts'

const ROUNDS = timesOf(4)
const BURST_MS_MAX = 1_000
const ANSWER_MS_MAX = 15_000
/** A lease is the patience with the namer and this. */
const LEASE_MARGIN_MS = 20_000
const NAMER_PATIENCE_MS = 1_000

t.setTimeout(0)
t.jobs = 2
t.test('two servers with their publishers', { skip: whyNoPostgres() ?? false }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(postgres.stop)
  t.jobs = 2

  t.test('one of them is killed again and again', async (t) => {
    const { env, database, traffic, serve } = await setting(t, postgres, {})
    const random = faultsRandom(t)
    const steady = await serve(env)
    const flow = traffic.flow(steady.url, { callers: 4, kinds: ['page'] })
    for (let round = 0; round < ROUNDS; round++) {
      const killed = await serve(env)
      const more = traffic.flow(killed.url, { callers: 4, kinds: ['page'] })
      await pause(random.below(BURST_MS_MAX))
      await killed.kill()
      await more.stop()
    }
    await flow.stop()
    await traffic.repeat(steady.url)
    const faults = [
      ...(await keptFaults(traffic, database)),
      ...(await versionFaults(database, LEASE_MARGIN_MS * 2)),
      ...(await settlementFaults(database)),
    ]
    t.strictSame(faults, [], 'nothing is lost, doubled or published twice')
    t.strictSame(answerFaults(traffic.answers, { noAnswer: true, msMax: ANSWER_MS_MAX }), [])
    t.equal(await steady.stop(), 0)
    t.comment(`one of two killed: ${figuresOf(traffic, faults, { rounds: ROUNDS })}`)
  })

  t.test('one is frozen past its lease while it names pages, and continued', async (t) => {
    const namer = await startNamer(t)
    const naming = {
      NAMER_MODEL: 'any',
      NAMER_PATIENCE_MS: String(NAMER_PATIENCE_MS),
      NAMER_CALLS_MAX: '4',
    }
    const { env, database, traffic, serve } = await setting(t, postgres, naming)
    const frozen = await serve({ ...env, NAMER_URL: `${namer.url}/frozen` })
    namer.hold(() => process.kill(frozen.pid, 'SIGSTOP'))
    const first = traffic.flow(frozen.url, { callers: 4, writesMax: 4, kinds: ['page'] })
    await until('it is frozen with work in hand', () => namer.held.length > 0)
    const frozenAt = performance.now()

    const other = await serve({ ...env, NAMER_URL: `${namer.url}/other` })
    const flow = traffic.flow(other.url, { callers: 2, writesMax: 500, kinds: ['page'] })
    const HELD = `select p.page_id as id, p.computed_name as name, p.updated_at as at
      from pages p join page_versions v on v.tenant_id = p.tenant_id and v.page_id = p.page_id
      where v.supplementary_context like '% of caller %' and p.published_version_id is not null order by p.page_id`
    await versionFaults(database, LEASE_MARGIN_MS * 2)
    t.ok(performance.now() - frozenAt > LEASE_MARGIN_MS, 'what was in hand waited for the end of the lease')
    await flow.stop()
    const before = await database.rows(HELD)

    namer.letGo('Named too late')
    process.kill(frozen.pid, 'SIGCONT')
    await first.stop()
    await pause(NAMER_PATIENCE_MS * 2)
    t.equal((await fetch(`${frozen.url}/readyz`)).status, 200, 'the one that was frozen serves again')
    await traffic.repeat(frozen.url)
    const faults = [
      ...(await keptFaults(traffic, database)),
      ...(await versionFaults(database, LEASE_MARGIN_MS * 2)),
      ...(await settlementFaults(database)),
    ]
    t.strictSame(faults, [], 'nothing is published twice, and nothing late overwrites')
    const after = new Map((await database.rows<{ id: string }>(HELD)).map((page) => [page.id, page]))
    t.strictSame(
      before.map(({ id }) => after.get(String(id))),
      before,
      'what the other published is as it was',
    )
    t.strictSame(
      before.filter(({ name }) => name === 'Named too late'),
      [],
    )
    t.strictSame(answerFaults(traffic.answers, { msMax: LEASE_MARGIN_MS * 3 }), [])
    t.equal(await frozen.stop(), 0)
    t.equal(await other.stop(), 0)
    t.comment(`one of two frozen: ${figuresOf(traffic, faults, { rounds: 1 })}`)
  })
})

const setting = async (t: Test, postgres: ThrowawayPostgres, settings: Environment) => {
  const database = databaseAt(await postgres.newDatabase())
  const { apiKey, pageGroupId } = await seed(database.env)
  await noteSettlements(database)
  const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId] })
  t.teardown(traffic.close)
  const serve = async (env: Environment) => {
    const server = await startServer(t, env)
    return server
  }
  return { env: { ...database.env, ...settings }, database, traffic, serve }
}

/** A naming server; while it holds what the first asks, it tells of each call. The other is answered at once. */
const startNamer = async (t: Test) => {
  const held: ServerResponse[] = []
  let onHeld: (() => void) | null = null
  const server = createServer((request, response) => {
    request.resume()
    if (onHeld === null || request.url?.startsWith('/other')) return answer(response, 'Named in time')
    held.push(response)
    onHeld()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    hold: (told: () => void) => {
      onHeld = told
    },
    letGo: (content: string) => {
      onHeld = null
      for (const response of held) answer(response, content)
    },
  }
}

const answer = (response: ServerResponse, content: string): void => {
  response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }))
}
