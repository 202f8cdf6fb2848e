import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startPostgres, type ThrowawayPostgres, whyNoPostgres } from '../support/postgres.ts'
import { type Harm, openScene, underHarm } from './postgres-scene.ts'

const RESTARTS = 3
const BETWEEN_MS = 700
const AWAY_MS = 10_000
const FROZEN_MS = 8_000

t.setTimeout(0)
t.test('a PostgreSQL that goes away under load', { skip: whyNoPostgres() ?? false }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(postgres.stop)

  const harms: Readonly<Record<string, Harm>> = {
    'restarted at once': () => restarts(postgres, 'SIGINT'),
    'restarted after a crash': () => restarts(postgres, 'SIGQUIT'),
    'stopped for ten seconds': async () => {
      await postgres.halt()
      await pause(AWAY_MS)
      await postgres.start()
      return performance.now()
    },
  }
  for (const [name, harm] of Object.entries(harms))
    t.test(name, async (t) => underHarm(t, name, await openScene(t, postgres), harm))

  t.test('frozen, and continued', async (t) => {
    const scene = await openScene(t, postgres, { statementMsMax: 1_000 })
    await underHarm(t, 'frozen, and continued', scene, async () => {
      const goOn = postgres.freeze()
      await pause(FROZEN_MS)
      goOn()
      return performance.now()
    })
  })
})

const restarts = async (postgres: ThrowawayPostgres, signal: 'SIGINT' | 'SIGQUIT'): Promise<number> => {
  for (let restart = 0; restart < RESTARTS; restart++) {
    if (restart > 0) await pause(BETWEEN_MS)
    await postgres.halt(signal)
    await postgres.start()
  }
  return performance.now()
}
