import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import t from 'tap'
import { createLog } from '../../src/adapters/log.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { createBackups } from '../../src/compose/backups.ts'
import { readConfig } from '../../src/config/config.ts'
import { BIN, newFolder, seed, until } from '../support/program.ts'

const MINUTE_MS = 60_000
const YEAR_MS = 31_536_000_000

t.test('backups go on after a clock that was ahead is set right', async (t) => {
  const folder = newFolder(t)
  const dir = join(folder, 'backups')
  mkdirSync(dir)
  const env = { DATABASE_URL: `sqlite:${join(folder, 'test.db')}`, BACKUP_DIR: dir }
  await seed(env)
  const dateNow = Date.now
  const performanceNow = performance.now.bind(performance)
  let aheadMs = YEAR_MS
  let laterMs = 0
  t.intercept(Date, 'now', { value: () => dateNow() + aheadMs + laterMs })
  t.intercept(performance, 'now', { value: () => performanceNow() + laterMs })
  t.intercept(process, 'env', { value: { ...process.env, ...env } })
  t.intercept(process, 'argv', { value: [process.execPath, BIN] })
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const made = () => readdirSync(dir).filter((name) => /Z$/.test(name))

  const backups = createBackups(readConfig(env), { store: memoryStore(), log: createLog('silent') })
  t.teardown(backups.stop)
  backups.start()
  await until('one is made', () => made().length > 0)
  aheadMs = 0
  laterMs = 11 * MINUTE_MS
  for (const name of made()) rmSync(join(dir, name))
  await until('the next is made', () => {
    mock.timers.tick(MINUTE_MS)
    return made().length > 0
  })
  t.equal(made().length, 1)
})
