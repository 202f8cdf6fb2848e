import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startPostgres, UNPRIVILEGED, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, until } from '../support/program.ts'
import { openScene, underHarm } from './postgres-scene.ts'
import { mountSmallDisk, whyNoSmallDisk } from './small-disk.ts'

const TABLES_MB = 32
const LOG_MB = 32
const FULL_MS = 5_000
const NOT_MOUNTED = 'NO SMALL DISK CAN BE MOUNTED HERE: a full one was not tested'

t.setTimeout(0)
t.test(
  'the disk of PostgreSQL is full',
  { skip: whyNoPostgres() ?? whyNoSmallDisk() ?? false },
  async (t) => {
    t.test('that of its tables: it refuses what needs room', async (t) => {
      const disk = mountSmallDisk(t, TABLES_MB)
      if (disk === null) {
        t.pass(NOT_MOUNTED, { skip: NOT_MOUNTED })
        return
      }
      const location = join(disk.folder, 'tables')
      mkdirSync(location)
      chownSync(location, UNPRIVILEGED, UNPRIVILEGED)
      const postgres = await startPostgres()
      t.teardown(postgres.stop)
      await databaseAt(await postgres.newDatabase()).rows(`create tablespace small location '${location}'`)
      const scene = await openScene(t, postgres, { databaseOptions: 'tablespace small' })
      await underHarm(t, 'tables on a full disk', scene, async () => {
        disk.fill()
        await pause(FULL_MS)
        disk.free()
        return performance.now()
      })
    })

    t.test('that of its log: it falls over, and is started again when there is room', async (t) => {
      const disk = mountSmallDisk(t, LOG_MB)
      if (disk === null) {
        t.pass(NOT_MOUNTED, { skip: NOT_MOUNTED })
        return
      }
      const postgres = await startPostgres({
        initdb: ['--wal-segsize=1', `--waldir=${join(disk.folder, 'log')}`],
      })
      t.teardown(postgres.stop)
      const scene = await openScene(t, postgres)
      await underHarm(t, 'log on a full disk', scene, async ({ database }) => {
        disk.fill()
        await until('it has fallen over', () => !postgres.isRunning())
        await pause(FULL_MS)
        disk.free()
        await postgres.start()
        await database.rows('select 1')
        return performance.now()
      })
    })
  },
)
