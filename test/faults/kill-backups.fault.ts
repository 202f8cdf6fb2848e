import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { readConfig } from '../../src/config/config.ts'
import { backUpIntoFolder } from '../../src/maintenance/backup-folder.ts'
import { restore } from '../../src/maintenance/restore.ts'
import { sourceUrl } from '../support/children.ts'
import { killAtEachStep } from './kill-at-each-step.ts'
import { addTenant, makeKilledDatabase, TENANTS, tenantsIn, unfinishedIn } from './killed-database.ts'

t.setTimeout(0)

const BACK_UP = `
  const { backUpIntoFolder } = await import('${sourceUrl('maintenance/backup-folder.ts')}')
  const { readConfig } = await import('${sourceUrl('config/config.ts')}')
  const [path, folder] = process.argv.slice(1)
  const config = readConfig({ DATABASE_URL: 'sqlite:' + path, BACKUP_DIR: folder, BACKUPS_KEPT: '1' })
  backUpIntoFolder(config, folder, false)`

t.test('a backup that is killed never counts, and the next one removes what is left of it', async (t) => {
  const copyKilled = await makeKilledDatabase(t)
  const outcomes = await killAtEachStep({
    script: BACK_UP,
    prepare: () => {
      const { folder, path } = copyKilled()
      const backups = join(folder, 'backups')
      mkdirSync(backups)
      return { args: [path, backups], path, backups }
    },
    judge: ({ path, backups }) => {
      const finishedBackups = () => readdirSync(backups).filter((name) => name.endsWith('Z'))
      const finished = finishedBackups()
      for (const name of finished) t.equal(tenantsIn(join(backups, name)), TENANTS, 'a backup is whole')
      t.equal(tenantsIn(path), TENANTS, 'the database is unchanged')

      const config = readConfig({ DATABASE_URL: `sqlite:${path}`, BACKUP_DIR: backups, BACKUPS_KEPT: '1' })
      backUpIntoFolder(config, backups, false)
      t.equal(finishedBackups().length, 1, 'the next backup is kept')
      t.strictSame(unfinishedIn(backups), [], 'and nothing is left of the one that was killed')
      return finished.length === 0 ? 'no backup' : 'a whole backup'
    },
  })
  t.comment(JSON.stringify(outcomes))
  t.ok(outcomes['no backup'])
  t.ok(outcomes['a whole backup'])
})

const RESTORE = `
  const { restore } = await import('${sourceUrl('maintenance/restore.ts')}')
  const [path, backup] = process.argv.slice(1)
  restore({ kind: 'sqlite', path }, backup)`

t.test('a restore that is killed leaves the old database or the new one, and can be repeated', async (t) => {
  const copyKilled = await makeKilledDatabase(t)
  const backup = copyKilled().path
  const restoredTenants = `${TENANTS},Unharmed`
  const database = new DatabaseSync(backup)
  addTenant(database, 'Unharmed')
  database.close()

  const outcomes = await killAtEachStep({
    script: RESTORE,
    prepare: () => {
      const { folder, path } = copyKilled()
      return { args: [path, backup], folder, path }
    },
    judge: ({ folder, path }, wasKilled) => {
      const tenants = tenantsIn(path)
      t.ok(tenants === TENANTS || tenants === restoredTenants, tenants)
      const replaced = readdirSync(folder).filter((name) => name.includes('.before-restore-'))
      for (const name of replaced) t.equal(tenantsIn(join(folder, name)), TENANTS, 'the old database is kept')
      if (tenants === restoredTenants) t.equal(replaced.length, 1, 'once')

      if (wasKilled) restore({ kind: 'sqlite', path }, backup)
      t.equal(tenantsIn(path), restoredTenants, 'a restore completes')
      t.strictSame(unfinishedIn(folder), [], 'and leaves nothing unfinished')
      return tenants === TENANTS ? 'old' : 'new'
    },
  })
  t.comment(JSON.stringify(outcomes))
  t.ok(outcomes['old'])
  t.ok(outcomes['new'])
})
