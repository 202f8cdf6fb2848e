import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { caller, type DatabaseKind, databaseKinds, seed, startServer, until } from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(4)
const SECOND_MERGE_ROUND = Math.floor(ROUNDS / 2)
const LOGS = 4_000
const CALLERS = 32
const PATIENT = { tries: 600, pauseMs: 50 }
const EMAILS = ['ada@x', 'grace@x', 'eve@x']
/** The first pass moves the logs that exist. The second moves those that writes in flight added meanwhile. */
const FIRST_PASSES = "select 1 from merges where status = 'processing' and pass = 1"
const SECOND_PASSES = 'select 1 from merges where pass = 2'
const UNFINISHED = "select 1 from merges where status = 'processing'"
type Scene = Awaited<ReturnType<typeof setUp>>
type People = { readonly ada: string; readonly grace: string; readonly eve: string }

/** A server on a new database, which can be killed and started again, and a record of acknowledged logs. */
const setUp = async (t: Test, kind: DatabaseKind) => {
  const random = faultsRandom(t)
  const { env: databaseEnv, rows } = await kind.open(t)
  const env = { ...databaseEnv, EVENTS: 'on' }
  const { apiKey } = await seed(env)
  let server = await startServer(t, env)
  const call = (method: string, path: string, body?: unknown) =>
    caller(server.url, apiKey)(method, path, body)
  const acknowledged = new Set<string>()
  let sent = 0
  return {
    t,
    random,
    rows,
    call,
    acknowledged,
    /** Logs an activity of the person with this email, and returns the prospect's id. */
    log: async (email: string): Promise<string> => {
      const activity = { source: 'crm', payload: {}, idempotencyKey: `${sent++}`, email }
      const { status, body } = await call('POST', '/v0/prospect_logs', activity)
      if (status === 201) acknowledged.add(body.prospectLogId)
      return body.prospectId
    },
    /** Returns the status, or null if there was no answer. */
    merge: async (prospectId: string, into: string): Promise<number | null> => {
      try {
        return (await call('POST', `/v0/prospects/${prospectId}/merge`, { into })).status
      } catch {
        return null
      }
    },
    /** Merges claimed by a killed process wait until their lease ends, so its end is moved up. */
    endLeases: () => rows('update merges set claimable_at = requested_at'),
    start: async () => {
      server = await startServer(t, env)
    },
    kill: () => server.kill(),
    stop: () => server.stop(),
  }
}

/** Logs for three people, most of it for the first. */
const logForPeople = async ({ log }: Scene): Promise<People> => {
  const ada = await log('ada@x')
  const grace = await log('grace@x')
  const eve = await log('eve@x')
  for (let i = 0; i < LOGS; i += CALLERS)
    await Promise.all(Array.from({ length: CALLERS }, () => log('ada@x')))
  return { ada, grace, eve }
}

/** Kills the server while it merges and logs. Returns how often that interrupted a first pass. */
const killWhileMerging = async (scene: Scene, { grace, eve }: People): Promise<number> => {
  const { random, rows, log, merge } = scene
  let interrupted = 0
  for (let round = 0; round < ROUNDS; round++) {
    let isAlive = true
    const logUntilKilled = async (email: string) => {
      while (isAlive) await log(email).catch(() => null)
    }
    const traffic = EMAILS.map(logUntilKilled)
    const merging = round === SECOND_MERGE_ROUND ? merge(grace, eve) : null
    await pause(random.below(60))
    await scene.kill()
    isAlive = false
    await Promise.all([...traffic, merging])
    if ((await rows(FIRST_PASSES)).length > 0) interrupted++
    await scene.endLeases()
    await scene.start()
  }
  return interrupted
}

/** Kills the server once more between the passes, and waits until both merges are completed. */
const finishMerges = async ({ t, rows, ...scene }: Scene, { grace, eve }: People): Promise<void> => {
  t.equal(await scene.merge(grace, eve), 200, 'the merge is requested now, if it was not before')
  await scene.log('ada@x')
  const areInSecondPass = async () => (await rows(SECOND_PASSES)).length === 2
  await until('the first passes are over', areInSecondPass, PATIENT)
  await scene.kill()
  await scene.endLeases()
  await scene.start()
  const areCompleted = async () => (await rows(UNFINISHED)).length === 0
  await until('both merges are completed', areCompleted, PATIENT)
}

/** The ids of a prospect's logs, read slice by slice. */
const allLogsOf = async ({ call }: Scene, prospectId: string): Promise<string[]> => {
  const path = `/v0/prospects/${prospectId}/prospect_logs?limit=100`
  const ids: string[] = []
  let cursor = ''
  let hasMore = true
  while (hasMore) {
    const { body } = await call('GET', `${path}${cursor}`)
    for (const { prospectLogId } of body.items) ids.push(prospectLogId)
    cursor = `&cursor=${body.nextCursor}`
    hasMore = body.hasMore
  }
  return ids
}

const checkNothingLost = async (scene: Scene, { ada, eve }: People): Promise<void> => {
  const { t, rows, acknowledged } = scene
  const logs = await rows<{ person: string; log: string }>(
    'select prospect_id as person, prospect_log_id as log from prospect_logs',
  )
  const owners = new Set(logs.map(({ person }) => person))
  t.strictSame([...owners], [eve], 'every log belongs to the last person')
  const kept = logs.map(({ log }) => log)
  const keptIds = new Set(kept)
  const lost = [...acknowledged].filter((id) => !keptIds.has(id))
  t.strictSame(lost, [], 'every acknowledged log is kept')
  const listed = await allLogsOf(scene, ada)
  t.strictSame(listed.toSorted(), kept.toSorted(), 'every log is listed once')
}

/** Each merged prospect has one event, which names it. */
const checkEvents = async ({ t, call }: Scene, { ada, grace }: People): Promise<void> => {
  const events = async () => (await call('GET', '/v0/events?types=prospect.merged&limit=100')).body.items
  await until('both events are numbered', async () => (await events()).length === 2, PATIENT)
  const merged = (await events()).map(({ data }: { data: { prospectId: string } }) => data.prospectId)
  t.strictSame(merged.toSorted(), [ada, grace].toSorted())
}

for (const kind of databaseKinds())
  t.test(
    `no log is lost when servers on ${kind.name} are killed while they merge prospects`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      const people = await logForPeople(scene)
      t.equal(await scene.merge(people.ada, people.grace), 200)
      const interrupted = await killWhileMerging(scene, people)
      t.comment(`${interrupted} of ${ROUNDS} kills interrupted a first pass`)
      await finishMerges(scene, people)
      await checkNothingLost(scene, people)
      await checkEvents(scene, people)
      t.equal(await scene.stop(), 0)
    },
  )
