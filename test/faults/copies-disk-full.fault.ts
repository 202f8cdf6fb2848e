import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { runChild } from '../support/children.ts'
import { runCommand } from '../support/program.ts'
import {
  copyDatabase,
  countMigrations,
  MIGRATE_EMBEDDED,
  MIGRATIONS,
  makeKilledDatabase,
  TENANTS,
  tenantsIn,
} from './killed-database.ts'
import { mountSmallDisk, whyNoSmallDisk } from './small-disk.ts'

t.setTimeout(0)
const DISK_MEGABYTES = 4
const NEEDED_ROOM = /A copy of .* needs \d+ bytes, but .* has \d+\./

t.test(
  'without room for a copy nothing is migrated, backed up or restored, and the error says how much is needed',
  { skip: whyNoSmallDisk() ?? false },
  async (t) => {
    const copyKilled = await makeKilledDatabase(t)
    const original = copyKilled().path
    const disk = mountSmallDisk(t, DISK_MEGABYTES)
    if (disk === null) {
      t.comment('no small disk could be mounted here')
      return
    }
    const path = join(disk.folder, 'test.db')
    copyDatabase(original, path)
    const fails = async (...command: string[]) => {
      const { stderr } = await runCommand(command, { DATABASE_URL: `sqlite:${path}` })
      t.match(JSON.parse(stderr), { detail: NEEDED_ROOM, remedy: /df -h/ })
    }

    // The index of the journal needs room, too: an open connection keeps it.
    const connection = new DatabaseSync(path)
    connection.prepare('select 1 from tenants').get()
    disk.fill()
    await t.rejects(runChild(MIGRATE_EMBEDDED, path), NEEDED_ROOM)
    await fails('backup', join(disk.folder, 'copy.db'))
    // A database that is in use is not restored.
    connection.close()
    await fails('restore', original)

    disk.free()
    t.equal(tenantsIn(path), TENANTS, 'nothing is lost')
    await runChild(MIGRATE_EMBEDDED, path)
    t.equal(countMigrations(path), MIGRATIONS + 1, 'with room the database is migrated')
  },
)
