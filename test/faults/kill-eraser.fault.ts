import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { postgresRows } from '../support/moving.ts'
import { caller, type DatabaseKind, databaseKinds, seed, startServer, until } from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(5)
const LOGS = 6_000
const CALLERS = 64
const ADA = 'ada.lovelace@example.com'
const SECRETS = [ADA, 'Ada Lovelace', 'engine of Ada']

const PATIENT = { tries: 600, pauseMs: 50 }
/** An activity of the person who is erased. */
const ACTIVITY_OF_ADA = { email: ADA, name: 'Ada Lovelace', payload: { of: 'engine of Ada '.repeat(40) } }
type Scene = Awaited<ReturnType<typeof setUp>>

/** A server on a new database, which can be killed and started again. */
const setUp = async (t: Test, kind: DatabaseKind) => {
  const random = faultsRandom(t)
  const { env, rows } = await kind.open(t)
  const { apiKey } = await seed(env)
  let server = await startServer(t, env)
  const call = (method: string, path: string, body?: unknown) =>
    caller(server.url, apiKey)(method, path, body)
  return {
    t,
    random,
    rows,
    databaseUrl: String(env['DATABASE_URL']),
    call,
    log: (fields: object) => call('POST', '/v0/prospect_logs', { source: 'crm', payload: {}, ...fields }),
    countLogs: async (): Promise<number> => {
      const [counted] = await rows<{ logs: number }>('select count(*) as logs from prospect_logs')
      return Number(counted?.logs)
    },
    /** Erasures claimed by a killed eraser wait until their lease ends, so its end is moved up. */
    endLeases: () => rows('update erasures set claimable_at = requested_at'),
    start: async () => {
      server = await startServer(t, env)
    },
    kill: () => server.kill(),
    stop: () => server.stop(),
    stderr: () => server.stderr(),
  }
}

/** Logs two activities of a prospect who stays, the second with Ada's email, and many of Ada. */
const logActivities = async ({ t, log }: Scene): Promise<void> => {
  const { prospectId } = (await log({ email: 'bob@example.com', name: 'Bob' })).body
  t.equal((await log({ prospectId, email: ADA, name: 'Ada Lovelace' })).status, 201)
  for (let sent = 0; sent < LOGS; sent += CALLERS)
    await Promise.all(Array.from({ length: CALLERS }, () => log(ACTIVITY_OF_ADA)))
}

/** Kills the server while it erases. Returns how often it was killed between two batches. */
const killWhileErasing = async (scene: Scene, erasureId: string, logsBefore: number): Promise<number> => {
  const { t, random, rows } = scene
  let interrupted = 0
  for (let round = 0; round < ROUNDS; round++) {
    await pause(random.below(60))
    await scene.kill()
    // One query, because PostgreSQL may still commit the last statement of the killed server.
    const [counted] = await rows<{ logs: number; erased: number }>(`
      select (select count(*) from prospect_logs) as logs, logs_erased as erased
      from erasures where erasure_id = '${erasureId}'`)
    const logs = Number(counted?.logs)
    const erased = Number(counted?.erased)
    t.equal(logs + erased, logsBefore, 'every deleted log is counted once')
    if (erased > 0 && logs > 2) interrupted++
    await scene.endLeases()
    await scene.start()
  }
  return interrupted
}

/** Kills the server once more after the first pass, and waits until the erasure is completed. */
const finishErasure = async (scene: Scene, erasureId: string, logsBefore: number): Promise<void> => {
  const { t, rows, call } = scene
  const isInLaterPass = async () => (await rows('select 1 from erasures where pass > 1')).length === 1
  await until('the first pass is over', isInLaterPass, PATIENT)
  await scene.kill()
  await scene.endLeases()
  await scene.start()
  const read = async () => (await call('GET', `/v0/erasures/${erasureId}`)).body
  await until('the erasure is completed', async () => (await read()).status === 'completed', PATIENT)
  t.match(await read(), { logsErased: logsBefore - 2 })
}

/** Everything that a database holds, as text: the files of an embedded one, or all rows of PostgreSQL. */
const contentOf = async (databaseUrl: string): Promise<string> => {
  const [, path] = /^sqlite:(.*)$/.exec(databaseUrl) ?? []
  if (path === undefined) return JSON.stringify(await postgresRows(databaseUrl))
  const folder = dirname(path)
  return readdirSync(folder)
    .filter((name) => name.startsWith(basename(path)))
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join()
}

const secretsIn = (text: string): string[] => SECRETS.filter((secret) => text.includes(secret))

for (const kind of databaseKinds())
  t.test(
    `a person is erased completely when servers on ${kind.name} are killed meanwhile`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      await logActivities(scene)
      const logsBefore = await scene.countLogs()
      const { erasureId } = (await scene.call('POST', '/v0/erasures', { email: ADA })).body
      const interrupted = await killWhileErasing(scene, erasureId, logsBefore)
      t.comment(`${interrupted} of ${ROUNDS} kills came between two batches`)
      await finishErasure(scene, erasureId, logsBefore)
      t.equal((await scene.log(ACTIVITY_OF_ADA)).status, 410)
      t.strictSame(secretsIn(await contentOf(scene.databaseUrl)), [], 'the database holds no trace')
      t.strictSame(secretsIn(scene.stderr()), [], 'the log holds no trace')
      t.equal(await scene.stop(), 0)
    },
  )
