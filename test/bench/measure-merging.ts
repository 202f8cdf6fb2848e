// How merging a person with 100,000 activities slows down logging for others: `node test/bench/measure-merging.ts`.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createLog } from '../../src/adapters/log.ts'
import { createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { caller, databaseKinds, newTenantIn, startServer } from '../support/program.ts'
import { logChangeOf, recordAll, someLog, someProspect } from '../support/rows.ts'

const LOGS = 100_000
const CALLERS = 32
const SAMPLE_MS = 1_000
const WARM_UP_MS = 10_000
const RESTING_MS = 10 * 60_000
const ends: (() => Promise<unknown>)[] = []
const owner = { teardown: (end: () => unknown) => void ends.unshift(async () => end()) } as never

for (const kind of databaseKinds().filter(({ name }) => name.includes(process.argv[2] ?? ''))) {
  const { env, rows } = await kind.open(owner)
  const world = await createRuntime(readConfig(env), createLog('silent'))
  await world.store.migrate()
  const { tenantId, apiKey } = await newTenantIn(world)
  const merged = someProspect(tenantId)
  const survivor = someProspect(tenantId)
  await recordAll(world.store.activities, [merged, survivor])
  const { record } = world.store.activities
  for (let made = 0; made < LOGS; made += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, () => record(logChangeOf(merged, someLog(merged)))))
  await world.store.close()

  const server = await startServer(owner, env)
  const call = caller(server.url, apiKey)
  let logged = 0
  let isOver = false
  const load = Array.from({ length: CALLERS }, async (_, i) => {
    for (let n = 0; !isOver; n++) {
      await call('POST', '/v0/prospect_logs', { source: 'crm', payload: {}, email: `p${i}-${n % 50}@x` })
      logged++
    }
  })
  const sample = async () => {
    const before = logged
    const beganMs = performance.now()
    await pause(SAMPLE_MS)
    return ((logged - before) / (performance.now() - beganMs)) * 1_000
  }
  const median = (all: number[]) => Math.round(all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0)
  /** Lets the merge rest and continue in turns, so that other programs on the machine disturb both rates alike. */
  const setClaimable = async (inMs: number) => {
    for (let i = 0; i < 3; i++) {
      const at = new Date(Date.now() + inMs).toISOString()
      await rows(
        `update merges set claimable_at = '${at}' where prospect_id = '${merged.prospectId}' and status = 'processing' and pass = 1`,
      )
      await pause(100)
    }
  }
  const newProspect = async (externalId: string) =>
    (await call('POST', '/v0/prospects', { externalId })).body.prospectId
  /** Merges two other prospects, because a new merge wakes the worker. */
  const wakeWorker = async () => {
    const duplicate = await newProspect(randomUUID())
    const into = await newProspect(randomUUID())
    await call('POST', `/v0/prospects/${duplicate}/merge`, { into })
  }
  await pause(WARM_UP_MS)
  await call('POST', `/v0/prospects/${merged.prospectId}/merge`, { into: survivor.prospectId })
  const ratesAtRest: number[] = []
  const ratesWhileMoving: number[] = []
  const isMoving = `select 1 from merges where prospect_id = '${merged.prospectId}' and pass = 1`
  while ((await rows(isMoving)).length > 0) {
    ratesWhileMoving.push(await sample())
    await setClaimable(RESTING_MS)
    ratesAtRest.push(await sample())
    await setClaimable(0)
    await wakeWorker()
  }
  isOver = true
  await Promise.all(load)
  await server.stop()
  const atRest = median(ratesAtRest)
  const whileMoving = median(ratesWhileMoving)
  const samples = ratesWhileMoving.length
  const ratio = (whileMoving / atRest).toFixed(2)
  console.log(
    `${kind.name}: ${atRest}/s, while logs move ${whileMoving}/s (${samples} samples each): ${ratio}`,
  )
  for (const end of ends.splice(0)) await end()
  await kind.end()
}
