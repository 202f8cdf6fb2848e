import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { backupBefore, readMigrations } from '../../src/adapters/stores/migrations.ts'
import { readConfig } from '../../src/config/config.ts'
import { backUpIntoFolder } from '../../src/maintenance/backup-folder.ts'
import { restore } from '../../src/maintenance/restore.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, newFolder, runCommand, seed } from '../support/program.ts'
import { mountSmallDisk, whyNoSmallDisk } from './small-disk.ts'

/** Counts the process's calls to files, SQLite and sockets, and kills it right after the nth. */
const preload = (nth: number): string => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  import net from 'node:net'
  import { DatabaseSync, StatementSync } from 'node:sqlite'
  let left = ${nth}
  const count = (owner, names) => {
    for (const name of names) {
      const real = owner[name]
      owner[name] = function (...args) {
        const answer = real.apply(this, args)
        if (--left === 0) process.kill(process.pid, 'SIGKILL')
        return answer
      }
    }
  }
  count(fs, ['fsyncSync', 'linkSync', 'renameSync', 'rmSync'])
  count(DatabaseSync.prototype, ['exec'])
  count(StatementSync.prototype, ['run'])
  count(net.Socket.prototype, ['write'])
  syncBuiltinESMExports()`

const POINTS_MAX = 100

/**
 * Runs a module again and again, each time killed one step later, until it completes. Each run gets what `prepare`
 * makes; `judge` names what is left of it. Answers how often each outcome occurred.
 */
const killAtEachStep = async <World extends { readonly args: readonly string[] }>(
  script: string,
  prepare: (nth: number) => Promise<World> | World,
  judge: (world: World, wasKilled: boolean) => Promise<string> | string,
): Promise<Readonly<Record<string, number>>> => {
  const outcomes: Record<string, number> = {}
  for (let nth = 1; nth <= POINTS_MAX; nth++) {
    const world = await prepare(nth)
    const code = `data:text/javascript,${encodeURIComponent(preload(nth))}`
    const { signal, status, stderr } = spawnSync(
      process.execPath,
      ['--import', code, '--input-type=module', '--eval', script, ...world.args],
      { encoding: 'utf8' },
    )
    if (signal === null && status !== 0) throw new Error(stderr)
    const outcome = await judge(world, signal !== null)
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    if (signal === null) return outcomes
  }
  throw new Error(`still running after ${POINTS_MAX} steps`)
}

t.setTimeout(0)

const add = (file: DatabaseSync, name: string) =>
  file
    .prepare("insert into tenants (tenant_id, name, created_at) values (?, ?, '2026-01-01T00:00:00.000Z')")
    .run(name, name)
/** The names of the tenants in a sound database. */
const namesIn = (path: string): string => {
  const file = new DatabaseSync(path)
  try {
    if (file.prepare('pragma integrity_check').get()?.['integrity_check'] !== 'ok') return 'damaged'
    const rows = file.prepare('select name from tenants order by name').all()
    return rows.map(({ name }) => name).join()
  } finally {
    file.close()
  }
}

/** A database as a server leaves it that is killed: its last row is only in the journal. */
const makeKilled = async (t: Test) => {
  const original = join(newFolder(t), 'test.db')
  await seed({ DATABASE_URL: `sqlite:${original}` })
  const file = new DatabaseSync(original)
  add(file, 'Checkpointed')
  file.exec('pragma wal_checkpoint(truncate)')
  add(file, 'Journaled')
  const root = newFolder(t)
  let copies = 0
  t.teardown(() => file.close())
  return () => {
    const folder = join(root, `copy ${++copies}`)
    mkdirSync(folder)
    const path = join(folder, 'test.db')
    for (const suffix of ['', '-wal']) copyFileSync(original + suffix, path + suffix)
    return { folder, path }
  }
}
const KEPT = 'Checkpointed,Journaled,Tenant'
const settings = (path: string, dir: string) =>
  readConfig({ DATABASE_URL: `sqlite:${path}`, BACKUP_DIR: dir, BACKUPS_KEPT: '1' })

const BACK_UP = `
  const { backUpIntoFolder } = await import('${sourceUrl('maintenance/backup-folder.ts')}')
  const { readConfig } = await import('${sourceUrl('config/config.ts')}')
  const [path, dir] = process.argv.slice(1)
  backUpIntoFolder(readConfig({ DATABASE_URL: 'sqlite:' + path, BACKUP_DIR: dir, BACKUPS_KEPT: '1' }), dir, false)`

t.test('a backup that is killed never counts, and the next one removes what is left of it', async (t) => {
  const copy = await makeKilled(t)
  const outcomes = await killAtEachStep(
    BACK_UP,
    () => {
      const { folder, path } = copy()
      const dir = join(folder, 'backups')
      mkdirSync(dir)
      return { args: [path, dir], dir, path }
    },
    ({ dir, path }) => {
      const finished = () => readdirSync(dir).filter((name) => name.endsWith('Z'))
      const whole = finished()
      for (const name of whole) t.equal(namesIn(join(dir, name)), KEPT)
      t.equal(namesIn(path), KEPT)
      backUpIntoFolder(settings(path, dir), dir, false)
      t.equal(finished().length, 1)
      t.strictSame(
        readdirSync(dir).filter((name) => /unfinished/.test(name)),
        [],
      )
      return whole.length === 0 ? 'no backup' : 'a whole backup'
    },
  )
  t.comment(JSON.stringify(outcomes))
  t.ok(outcomes['no backup'] && outcomes['a whole backup'])
})

const RESTORE = `
  const { restore } = await import('${sourceUrl('maintenance/restore.ts')}')
  const [path, backup] = process.argv.slice(1)
  restore({ kind: 'sqlite', path }, backup)`

t.test('a restore that is killed leaves the old database or the new one, and can be repeated', async (t) => {
  const copy = await makeKilled(t)
  const backup = copy().path
  const changed = new DatabaseSync(backup)
  add(changed, 'Unharmed')
  changed.close()
  const outcomes = await killAtEachStep(
    RESTORE,
    () => {
      const { folder, path } = copy()
      return { args: [path, backup], folder, path }
    },
    ({ folder, path }, wasKilled) => {
      const names = namesIn(path)
      t.ok(names === KEPT || names === `${KEPT},Unharmed`, names)
      const kept = () => readdirSync(folder).filter((name) => name.includes('.before-restore-'))
      for (const name of kept()) t.equal(namesIn(join(folder, name)), KEPT)
      if (names !== KEPT) t.equal(kept().length, 1)
      if (wasKilled) restore({ kind: 'sqlite', path }, backup)
      t.equal(namesIn(path), `${KEPT},Unharmed`)
      t.strictSame(
        readdirSync(folder).filter((name) => /unfinished/.test(name)),
        [],
      )
      return names === KEPT ? 'old' : 'new'
    },
  )
  t.comment(JSON.stringify(outcomes))
  t.ok(outcomes['old'] && outcomes['new'])
})

const NEXT = 'alter table tenants add column note text'
const OURS = readMigrations('sqlite').length
const OURS_ON_POSTGRES = readMigrations('postgres').length
const MIGRATE = `
  const { sqliteStore } = await import('${sourceUrl('adapters/sqlite/store.ts')}')
  const { readMigrations } = await import('${sourceUrl('adapters/stores/migrations.ts')}')
  const { backUpBeforeMigration } = await import('${sourceUrl('maintenance/backup.ts')}')
  const [path] = process.argv.slice(1)
  const ours = readMigrations('sqlite')
  const migrations = [...ours, { number: ours.length + 1, name: 'next.sql', sql: '${NEXT}' }]
  const beforeMigrating = () => backUpBeforeMigration(path)
  const store = sqliteStore({ path, busyMsMax: 5_000, beforeMigrating }, migrations)
  await store.migrate()
  await store.close()`
const migrateAgain = (path: string): Promise<string> => runChild(MIGRATE, path)

t.test(
  'an embedded database whose migration is killed is backed up and migrated by the next start',
  async (t) => {
    const copy = await makeKilled(t)
    const outcomes = await killAtEachStep(
      MIGRATE,
      () => {
        const { folder, path } = copy()
        return { args: [path], folder, path }
      },
      async ({ folder, path }, wasKilled) => {
        const before = backupBefore(path)
        const isBackedUp = existsSync(before)
        if (isBackedUp) t.equal(namesIn(before), KEPT)
        const isMigrated = migrationsIn(path) > OURS
        t.ok(isBackedUp || !isMigrated, 'never migrated without a backup')
        if (wasKilled) await migrateAgain(path)
        t.equal(migrationsIn(path), OURS + 1)
        t.equal(migrationsIn(before), OURS)
        for (const file of [path, before]) t.equal(namesIn(file), KEPT)
        t.strictSame(
          readdirSync(folder).filter((name) => /unfinished/.test(name)),
          [],
        )
        return isMigrated ? 'migrated' : isBackedUp ? 'backed up' : 'not backed up'
      },
    )
    t.comment(JSON.stringify(outcomes))
    t.ok(outcomes['migrated'] && outcomes['backed up'] && outcomes['not backed up'])
  },
)
const migrationsIn = (path: string): number => {
  const file = new DatabaseSync(path)
  const rows = file.prepare('select 1 from schema_migrations').all()
  file.close()
  return rows.length
}

const MIGRATE_POSTGRES = `
  const { migratePostgres } = await import('${sourceUrl('adapters/postgres/migrate.ts')}')
  const { readMigrations } = await import('${sourceUrl('adapters/stores/migrations.ts')}')
  const ours = readMigrations('postgres')
  const migrations = [...ours, { number: ours.length + 1, name: 'next.sql', sql: '${NEXT}' }]
  await migratePostgres(process.argv[1], migrations, () => {})
  process.exit()`
const FOUND = `
  select (select count(*)::int from schema_migrations) as migrations,
    (select count(*)::int from pg_attribute where attrelid = 'tenants'::regclass and attname = 'note') as columns,
    (select count(*)::int from tenants) as tenants`

t.test(
  'a migration of PostgreSQL that is killed is undone, and done by the next start',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const server = await startPostgres()
    t.teardown(server.stop)
    const template = await server.newDatabase()
    await seed({ DATABASE_URL: template })
    const outcomes = await killAtEachStep(
      MIGRATE_POSTGRES,
      async () => {
        const name = new URL(template).pathname.slice(1)
        const url = await server.newDatabase(`template ${name}`)
        return { args: [url], url }
      },
      async ({ url }, wasKilled) => {
        const { rows } = databaseAt(url)
        const found = async () => (await rows<{ migrations: number; columns: number }>(FOUND))[0]
        const { migrations = 0, columns } = (await found()) ?? {}
        t.equal(migrations - OURS_ON_POSTGRES, columns, 'all of it or nothing')
        if (wasKilled) await runChild(MIGRATE_POSTGRES, url)
        t.strictSame(await found(), { migrations: OURS_ON_POSTGRES + 1, columns: 1, tenants: 1 })
        return columns === 1 ? 'migrated' : 'not migrated'
      },
    )
    t.comment(JSON.stringify(outcomes))
    t.ok(outcomes['migrated'] && outcomes['not migrated'])
  },
)

t.test(
  'without room for a copy nothing is migrated, backed up or restored, and it says what is needed',
  { skip: whyNoSmallDisk() ?? false },
  async (t) => {
    const { path } = (await makeKilled(t))()
    const disk = mountSmallDisk(t, 4)
    if (disk === null) return void t.comment('no small disk here')
    const small = join(disk.folder, 'test.db')
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, small + suffix)
    const env = { DATABASE_URL: `sqlite:${small}` }
    // The index of the journal needs room, too.
    const open = new DatabaseSync(small)
    open.prepare('select 1 from tenants').get()
    disk.fill()
    const needs = /A copy of .* needs \d+ bytes, but .* has \d+\./
    await t.rejects(migrateAgain(small), needs)
    for (const command of [
      ['backup', join(disk.folder, 'copy.db')],
      ['restore', path],
    ]) {
      if (command[0] === 'restore') open.close()
      t.match(JSON.parse((await runCommand(command, env)).stderr), { detail: needs, remedy: /df -h/ })
    }
    disk.free()
    t.equal(namesIn(small), KEPT)
    await migrateAgain(small)
    t.equal(migrationsIn(small), OURS + 1)
  },
)
