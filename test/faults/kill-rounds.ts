import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { type DatabaseKind, databaseKinds, seed, startServer, until } from '../support/program.ts'
import { randomBy, timesOf } from '../support/random.ts'
import { keptFaults, lostWrites, versionFaults } from './kept.ts'
import { noteSettlements, settlementFaults } from './settlements.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

const ROUNDS = timesOf(8)
const BURST_MS_MAX = 400
const ANSWER_MS_MAX = 10_000
const MEMORY_MB_MAX = 300
/** Versions claimed by a killed publisher wait for their lease to end. */
const LEASE_MS = 20_000

/**
 * Kills the server again and again, each time at a moment of chance while it writes, and starts it again on the same
 * database. `FAULTS_SEED` repeats the moments of another run.
 */
export const killRounds = (name: DatabaseKind['name']): void => {
  t.setTimeout(0)
  const [kind] = databaseKinds().filter((kind) => kind.name === name)
  if (kind === undefined) throw new Error(`there is no ${name}`)

  t.test(`${ROUNDS} killed servers on ${name}`, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)
    const seedOfChance = Number(process.env['FAULTS_SEED'] ?? Date.now() % 1_000_000)
    t.comment(`FAULTS_SEED=${seedOfChance}`)
    const random = randomBy(seedOfChance)
    const database = await kind.open(t)
    const { env } = database
    const { apiKey, pageGroupId } = await seed(env)
    await noteSettlements(database)
    const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId] })
    t.teardown(traffic.close)

    const faults: string[] = []
    let memoryMb = 0
    let cutRounds = 0
    const start = async () => {
      const server = await startServer(t, env)
      return server
    }
    let server = await start()
    for (let round = 0; round < ROUNDS; round++) {
      const before = traffic.answers.length
      const flow = traffic.flow(server.url)
      // Now and then before it has answered anything.
      if (!random.onceIn(4)) await until('it answers', () => traffic.answers.length > before)
      await pause(random.below(BURST_MS_MAX))
      memoryMb = Math.max(memoryMb, peakMemoryMb(server.pid) ?? 0)
      await server.kill()
      await flow.stop()
      if (traffic.answers.slice(before).some(({ status }) => status === 201)) cutRounds++
      faults.push(...(await lostWrites(traffic, database)))
      server = await start()
      await traffic.repeat(server.url)
    }
    t.ok(cutRounds > ROUNDS / 2, 'most were killed in the middle of the stream')
    faults.push(...(await keptFaults(traffic, database)))
    faults.push(...(await versionFaults(database, LEASE_MS * 2)))
    faults.push(...(await settlementFaults(database)))
    t.strictSame(faults, [], 'nothing is lost, doubled, miscounted or published twice')
    t.strictSame(answerFaults(traffic.answers, { noAnswer: true, msMax: ANSWER_MS_MAX }), [])
    t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
    t.equal(await server.stop(), 0)
    t.comment(`killed on ${name}: ${figuresOf(traffic, faults, { rounds: ROUNDS, 'peak MB': memoryMb })}`)
  })
}
