import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { databaseKinds, until } from '../support/program.ts'
import { emailOf, PEOPLE, type Scene, setUp, startTraffic } from './stopped-process-scene.ts'

t.setTimeout(0)
t.jobs = 2
/** How long the process stands still, at least. */
const STOPPED_MS = 110_000
/** A process that is stopped within a transaction keeps others from writing: then it goes on and is stopped again. */
const STOPS_MAX = 20
/** Time for statements that arrive late to do harm. */
const LATE_MS = 3_000
const PATIENT = { tries: 900, pauseMs: 500 }

for (const kind of databaseKinds())
  t.test(
    `a process on ${kind.name} that stands still while another one erases, merges and corrects is overtaken`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      const { frozen, proxy, people } = scene
      const traffic = startTraffic(scene)
      await until('prospects are in memory', () => traffic.acknowledged.size > 10 * PEOPLE, PATIENT)

      await freeze(scene)
      proxy?.hold()
      const frozenAt = performance.now()
      traffic.stop()
      await changeEveryone(scene)
      const logsOfCorrected = await countLogs(scene, isOneOf(people.corrected))
      await until('erasures and merges are completed', () => isCompleted(scene), PATIENT)
      const completedMs = Math.round(performance.now() - frozenAt)
      await pause(Math.max(0, STOPPED_MS - completedMs))

      process.kill(frozen.pid, 'SIGCONT')
      const heldBack = proxy?.letGo()
      await traffic.ended()
      await pause(LATE_MS)

      const { acknowledged, statuses, unavailable } = traffic
      await t.test('nothing of an erased person is left', (t) => checkErased(t, scene))
      await t.test('activities of a merged person are the survivor’s', (t) => checkMerged(t, scene))
      await t.test('no acknowledged activity of a living person is lost', async (t) => {
        const logs = await storedLogs(scene)
        const stored = new Set(logs.map(({ id }) => id))
        const ofLiving = [...acknowledged].filter(([, { group }]) => group !== 'erased')
        const lost = ofLiving.filter(([id]) => !stored.has(id))
        t.strictSame(lost, [])
      })
      await t.test('a corrected person gets no activities by the email that was given up', async (t) =>
        t.equal(await countLogs(scene, isOneOf(people.corrected)), logsOfCorrected),
      )
      await t.test('no write is refused because its process stood still', async (t) => {
        const refused = unavailable.filter(({ server }) => server === frozen.url)
        t.strictSame(refused, [])
      })
      await t.test('the processes that stood still serve again', (t) => checkServing(t, scene))

      t.comment(
        JSON.stringify({
          completedMs,
          heldBack,
          statuses,
          acknowledged: acknowledged.size,
          unavailable: [...new Set(unavailable.map(({ detail }) => detail))],
          webhooks: scene.receiver.received('/').length,
        }),
      )
      for (const server of scene.servers) t.equal(await server.stop(), 0)
    },
  )

/** Stops the process at a moment of chance at which it keeps nobody else from writing. */
const freeze = async (scene: Scene): Promise<void> => {
  const { frozen, random } = scene
  for (let stops = 0; stops < STOPS_MAX; stops++) {
    await pause(random.below(500))
    process.kill(frozen.pid, 'SIGSTOP')
    if (await isUnlocked(scene)) return
    process.kill(frozen.pid, 'SIGCONT')
  }
  throw new Error('the process was always stopped within a transaction')
}

const isUnlocked = async ({ kind, running, rows }: Scene): Promise<boolean> => {
  const { status } = await running.call('POST', '/v0/prospect_logs', { source: 'try', payload: {} })
  if (status !== 201) return false
  if (kind.name !== 'sqlite') return true
  const [checkpoint] = await rows<{ busy: number }>('pragma wal_checkpoint(truncate)')
  return checkpoint?.busy === 0
}

/** Erases, merges and corrects everyone, each by a call that is repeated until it is accepted. */
const changeEveryone = async ({ running, people }: Scene): Promise<void> => {
  const callUntil = (expectedStatus: number, method: string, path: string, body: object) => {
    const isAccepted = async () => (await running.call(method, path, body)).status === expectedStatus
    return until(`${method} ${path} is accepted`, isAccepted, { tries: 100, pauseMs: 200 })
  }
  const changes: Promise<unknown>[] = []
  for (const prospectId of people.erased) changes.push(callUntil(202, 'POST', '/v0/erasures', { prospectId }))
  for (const [i, prospectId] of people.merged.entries()) {
    const into = people.survivor[i]
    changes.push(callUntil(200, 'POST', `/v0/prospects/${prospectId}/merge`, { into }))
  }
  for (const [i, prospectId] of people.corrected.entries()) {
    const email = `corrected-now-${i}@x.org`
    changes.push(callUntil(200, 'PATCH', `/v0/prospects/${prospectId}`, { email }))
  }
  await Promise.all(changes)
}

const isCompleted = async ({ rows }: Scene): Promise<boolean> => {
  const processing = await rows(`
    select 1 as processing from erasures where status = 'processing'
    union all select 1 from merges where status = 'processing'`)
  return processing.length === 0
}

const checkErased = async (t: Test, scene: Scene): Promise<void> => {
  const isErased = isOneOf(scene.people.erased)
  t.equal(await countLogs(scene, isErased), 0, 'no activity')
  t.equal(await countLogs(scene, "email like 'erased-%'"), 0, 'no activity that names the person')
  const living = await scene.rows(`
    select prospect_id from prospects
    where (email like 'erased-%' or ${isErased}) and (name is not null or erased_at is null)`)
  t.strictSame(living, [], 'no prospect that is not erased or has a name')
}

const checkMerged = async (t: Test, scene: Scene): Promise<void> => {
  const { merged, survivor } = scene.people
  t.equal(await countLogs(scene, isOneOf(merged)), 0, 'none is left at the merged prospect')
  const survivors = new Map(survivor.map((prospectId, i) => [emailOf('merged', i), prospectId]))
  const logs = await storedLogs(scene)
  const strays = logs.filter(
    ({ email, prospectId }) => (survivors.get(email ?? '') ?? prospectId) !== prospectId,
  )
  t.strictSame(strays, [], 'each that names the merged person belongs to the survivor')
}

const checkServing = async (t: Test, { overtaken, people }: Scene): Promise<void> => {
  for (const { call } of overtaken) {
    const activity = { source: 's', payload: {}, email: emailOf('merged', 1) }
    const answer = await call('POST', '/v0/prospect_logs', activity)
    t.match(answer, { status: 201, body: { prospectId: people.survivor[1] } })
  }
}

type StoredLog = { readonly id: string; readonly prospectId: string; readonly email: string | null }
const storedLogs = ({ rows }: Scene): Promise<StoredLog[]> =>
  rows<StoredLog>('select prospect_log_id as id, prospect_id as "prospectId", email from prospect_logs')

const countLogs = async ({ rows }: Scene, condition: string): Promise<number> =>
  (await rows(`select 1 from prospect_logs where ${condition}`)).length

const isOneOf = (prospectIds: readonly string[]): string =>
  `prospect_id in (${prospectIds.map((id) => `'${id}'`).join()})`
