import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { endPool, openPostgres } from '../../src/adapters/postgres/open.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { until } from '../support/program.ts'
import { type Harm, openScene, type Scene, underHarm } from './postgres-scene.ts'

const CONNECTIONS_MAX = 20
const TERMINATIONS = 30
const BETWEEN_MS = 150
const HELD_MS = 5_000
/** Less than any limit that something would have to wait for. */
const NOTHING_HANGS_MS = 2_500
const OURS = "application_name = 'prospect-pages' and pid <> pg_backend_pid()"
const END_OURS = `select pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`

t.setTimeout(0)
t.test('a PostgreSQL that refuses, under load', { skip: whyNoPostgres() ?? false }, async (t) => {
  const postgres = await startPostgres({ connectionsMax: CONNECTIONS_MAX })
  t.teardown(postgres.stop)

  t.test('its backends are terminated again and again', async (t) => {
    const scene = await openScene(t, postgres, { callMsMax: NOTHING_HANGS_MS })
    await underHarm(t, 'backends terminated', scene, async ({ database }) => {
      for (let times = 0; times < TERMINATIONS; times++) {
        await database.rows(END_OURS)
        await pause(BETWEEN_MS)
      }
      return performance.now()
    })
  })

  t.test('others have used its connections up', async (t) => {
    const scene = await openScene(t, postgres)
    await underHarm(t, 'connections used up', scene, async () => {
      const first = await hogConnection(scene)
      if (first === null) throw new Error('there is no connection at all')
      const hogs = [first]
      await until('the service has no connection left', async () => {
        await first.unsafe(END_OURS)
        for (let hog = await hogConnection(scene); hog !== null; hog = await hogConnection(scene))
          hogs.push(hog)
        return (await first.unsafe(`select pid from pg_stat_activity where ${OURS}`)).length === 0
      })
      const since = performance.now()
      await pause(HELD_MS)
      t.strictSame(doneBetween(scene, since, performance.now()), 0, 'nothing is done without a connection')
      await Promise.all(hogs.map((hog) => endPool(hog, 1)))
      return performance.now()
    })
  })

  const lockFaults: Readonly<Record<string, { lock: string; statementMsMax: number }>> = {
    'a table is locked for longer than a lock is waited for': {
      lock: 'lock table prospect_logs in access exclusive mode',
      statementMsMax: 2_500,
    },
    'a row is locked for longer than a statement may take': {
      lock: 'select from page_counts for update',
      statementMsMax: 1_000,
    },
  }
  for (const [name, { lock, statementMsMax }] of Object.entries(lockFaults))
    t.test(name, async (t) => {
      const scene = await openScene(t, postgres, { statementMsMax })
      await underHarm(t, name, scene, async (scene) => {
        const since = performance.now()
        const freeAt = await whileLocked(lock)(scene)
        t.ok(doneBetween(scene, since + 1_000, freeAt) > 0, 'what does not need the lock goes on')
        return freeAt
      })
    })
})

/** A connection that others have; null where there is none left. */
const hogConnection = async ({ env }: Scene) => {
  const sql = openPostgres(String(env['DATABASE_URL']), {
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    onnotice: () => {},
    connection: { application_name: 'others' },
  })
  try {
    await sql`select 1`
    return sql
  } catch {
    await endPool(sql, 0)
    return null
  }
}

const whileLocked =
  (lock: string): Harm =>
  async (scene) => {
    const sql = await hogConnection(scene)
    if (sql === null) throw new Error('there is no connection left')
    const connection = await sql.reserve()
    await connection`begin`
    await connection.unsafe(lock)
    await pause(HELD_MS)
    await connection`rollback`
    const freeAt = performance.now()
    await endPool(sql, 1)
    return freeAt
  }

const doneBetween = ({ traffic }: Scene, from: number, to: number): number =>
  traffic.answers.filter(({ status, at }) => status === 201 && at > from && at < to).length
