import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { sqlFiles } from '../../src/adapters/stores/sql-files.ts'
import { VERSION } from '../../src/config/version.ts'
import { backUp } from '../../src/maintenance/backup.ts'
import { restore } from '../../src/maintenance/restore.ts'
import { runChild } from '../support/children.ts'
import { fillSource, sqliteRows } from '../support/moving.ts'
import {
  answerOf,
  caller,
  embeddedDatabase,
  linesOf,
  newFolder,
  openServer,
  runCommand,
  startProgram,
  startServer,
  until,
} from '../support/program.ts'

t.setTimeout(0)
const root = fileURLToPath(new URL('../../', import.meta.url))
const LAST_MIGRATION = sqlFiles('sqlite').length
/** The migration that only the next release has. */
const NEXT_MIGRATION = LAST_MIGRATION + 1
const NEXT_SQL = 'alter table tenants add column note text;\n'

/** Makes a later release of the program in a folder, 0.2.0, which has one more migration. Returns the folder. */
const makeNextRelease = (folder: string): string => {
  mkdirSync(folder, { recursive: true })
  for (const part of ['src', 'sql', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const migrationName = `${String(NEXT_MIGRATION).padStart(4, '0')}_next.sql`
  for (const kind of ['sqlite', 'postgres']) writeFileSync(join(folder, 'sql', kind, migrationName), NEXT_SQL)
  const version = join(folder, 'src/config/version.ts')
  writeFileSync(version, readFileSync(version, 'utf8').replace(/'[\d.]+'/, "'0.2.0'"))
  return folder
}

const urlOf = (path: string) => ({ DATABASE_URL: `sqlite:${path}` })
const refusal = async (file: string, env: Record<string, string>, command = 'backup') => {
  const { code, stdout, stderr } = await runCommand([command, file], env)
  return { code, stdout, detail: linesOf<{ detail?: string }>(stderr).at(-1)?.detail }
}
/** The names in a folder of copies that are not complete, in order. */
const unfinishedIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.includes('unfinished'))
    .sort()

/** A database with rows in every table, and the name of a backup to make. */
const filled = async (t: Test) => {
  const folder = newFolder(t)
  const path = join(folder, 'test.db')
  await fillSource(path)
  return { folder, path, file: join(folder, 'backup.db') }
}

/** Sixteen callers that log activities and create pages until `stop`, and what was acknowledged so far. */
const startWriting = (call: ReturnType<typeof caller>, pagesPath: string) => {
  const CALLERS = 16
  const logIds: string[] = []
  const pageIds: string[] = []
  const refusedStatuses: number[] = []
  let isOver = false
  const writeUntilStopped = async (caller: number) => {
    for (let n = 0; !isOver; n++) {
      const payload = { text: `${caller}.${n} `.repeat(200) }
      const logged = await call('POST', '/v0/prospect_logs', { source: 'crm', payload })
      if (logged.status === 201) logIds.push(logged.body.prospectLogId)
      else refusedStatuses.push(logged.status)
      if (n % 10 === 0) pageIds.push((await call('POST', pagesPath, {})).body.pageId)
    }
  }
  const writing = Array.from({ length: CALLERS }, (_, caller) => writeUntilStopped(caller))
  const stop = async () => {
    isOver = true
    await Promise.all(writing)
  }
  return { logIds, pageIds, refusedStatuses, stop }
}

t.test('backups under load', async (t) => {
  const folder = newFolder(t)
  const env = urlOf(join(folder, 'test.db'))
  const { apiKey, pagesPath, call, server } = await openServer(t, { env })
  const files = ['backup-0.db', 'backup-1.db', 'backup-2.db'].map((name) => join(folder, name))
  const backups: { file: string; acknowledgedIds: string[]; answer: unknown }[] = []

  await t.test('refuse no write meanwhile', async (t) => {
    const writing = startWriting(call, pagesPath)
    for (const file of files) {
      const before = writing.logIds.length
      await until('more is logged', () => writing.logIds.length >= before + 300)
      const acknowledgedIds = [...writing.logIds, ...writing.pageIds]
      backups.push({ file, acknowledgedIds, answer: await answerOf(['backup', file], env) })
    }
    await writing.stop()
    t.strictSame(writing.refusedStatuses, [])
    t.equal(await server.stop(), 0)
  })

  await t.test('contain every write that was acknowledged before', async (t) => {
    for (const { file, acknowledgedIds, answer } of backups) {
      t.strictSame(answer, { file, bytes: statSync(file).size, migration: LAST_MIGRATION })
      const { rows } = embeddedDatabase(file)
      t.same(await rows('pragma integrity_check'), [{ integrity_check: 'ok' }])
      const stored = await rows<{ id: string }>(
        'select prospect_log_id as id from prospect_logs union all select page_id from pages',
      )
      const storedIds = new Set(stored.map(({ id }) => id))
      const missing = acknowledgedIds.filter((id) => !storedIds.has(id))
      t.strictSame(missing, [], `all ${acknowledgedIds.length}`)
    }
  })

  await t.test('are files that only their owner reads, and leave no others', async (t) => {
    for (const file of files) t.equal(statSync(file).mode & 0o777, 0o600)
    const names = readdirSync(folder).filter((name) => name.startsWith('backup'))
    t.strictSame(
      names.sort(),
      files.map((file) => basename(file)),
    )
  })

  await t.test('can be restored, and a server goes on with what was pending', async (t) => {
    const restored = urlOf(join(newFolder(t), 'test.db'))
    await answerOf(['restore', String(files[0])], restored)
    const restoredServer = await startServer(t, restored)
    const callRestored = caller(restoredServer.url, apiKey)
    const [newestPage] = (await callRestored('GET', pagesPath)).body.items
    const read = () => callRestored('GET', `${pagesPath}/${newestPage.pageId}`)
    t.equal((await read()).status, 200)
    // It was created last, so it is published after all others that were pending in the backup.
    const published = async () => (await read()).body.publishedVersion
    t.match(await until('the newest page is published', published), { versionNumber: 1 })
    const logged = await callRestored('POST', '/v0/prospect_logs', { source: 'crm', payload: {} })
    t.equal(logged.status, 201)
    t.equal(await restoredServer.stop(), 0)
  })
})

t.test('rows that are only in the journal are copied too', async (t) => {
  const { path, file } = await filled(t)
  // While it is open, SQLite does not move rows from the journal to the file.
  const opened = new DatabaseSync(path)
  opened.exec(
    "insert into tenants (tenant_id, name, created_at) values ('tenant_late', 'Late', '2026-01-01T00:00:00.000Z')",
  )
  t.notOk(readFileSync(path).includes('tenant_late'))
  await answerOf(['backup', file], urlOf(path))
  opened.close()
  t.strictSame(await sqliteRows(file), await sqliteRows(path))
})

t.test('a backup removes copies that a killed one left, but none that may be in progress', async (t) => {
  const { folder, path, file } = await filled(t)
  const overAnHourAgo = Date.now() / 1_000 - 3_601
  const oldCopy = `older.db.unfinished-${randomUUID()}`
  const newCopy = `other.db.unfinished-${randomUUID()}`
  const fileOfAnotherProgram = 'mine.unfinished-2'
  for (const name of [oldCopy, newCopy, fileOfAnotherProgram])
    writeFileSync(join(folder, name), 'half a copy')
  for (const name of [oldCopy, fileOfAnotherProgram])
    utimesSync(join(folder, name), overAnHourAgo, overAnHourAgo)

  await answerOf(['backup', file], urlOf(path))

  t.strictSame(unfinishedIn(folder), [fileOfAnotherProgram, newCopy])
})

t.test('a backup does not overwrite a file', async (t) => {
  const { folder, path, file } = await filled(t)
  writeFileSync(file, 'somebody else’s')
  t.match(await refusal(file, urlOf(path)), { code: 1, stdout: '', detail: /already exists/ })
  t.equal(readFileSync(file, 'utf8'), 'somebody else’s')
  t.match(await refusal(path, urlOf(path)), { code: 1, detail: /already exists/ }, 'nor the database itself')
  t.strictSame(unfinishedIn(folder), [])
})

t.test('a source that is missing, damaged or not a database of ours is refused', async (t) => {
  const { folder, path } = await filled(t)
  const other = join(folder, 'other.db')
  const database = new DatabaseSync(other)
  database.exec('create table mine (id)')
  database.close()
  const garbage = join(folder, 'garbage.db')
  writeFileSync(garbage, 'This is not a database.\n'.repeat(1_000))
  const damaged = join(folder, 'damaged.db')
  writeFileSync(damaged, damage(readFileSync(path)))
  const refusals = [
    [join(folder, 'missing.db'), /does not exist/],
    [other, /is a SQLite file of another program/],
    [garbage, /not a database/],
    [damaged, /damaged|malformed/],
  ] as const
  for (const [from, detail] of refusals) {
    const file = join(newFolder(t), 'backup.db')
    t.match(await refusal(file, urlOf(from)), { code: 1, stdout: '', detail }, from)
    t.strictSame(readdirSync(dirname(file)), [])
  }
  t.notOk(existsSync(join(folder, 'missing.db')), 'and is not made')
})

/** Overwrites all but the first eight pages of a file of SQLite. */
const damage = (whole: Buffer): Buffer => {
  const damaged = Buffer.from(whole)
  damaged.fill(0xa5, 8 * 4_096)
  return damaged
}

t.test('PostgreSQL and memory are refused with a reason', async (t) => {
  const file = join(newFolder(t), 'backup.db')
  const url = 'postgres://somebody:secret@localhost/db'
  const refused = await refusal(file, { DATABASE_URL: url })
  t.match(refused, { code: 1, stdout: '', detail: /pg_dump/ })
  t.notMatch(refused.detail, /secret/)
  t.match(await refusal(file, { DATABASE_URL: 'memory:' }), { code: 1, detail: /memory/ })
  for (const args of [['backup'], ['backup', '']])
    t.equal((await runCommand(args)).code, 2, 'and no name of a file is wrong use')
  t.match(await refusal(file, { DATABASE_URL: url }, 'restore'), { code: 1, detail: /pg_restore/ })
  const served = await runCommand(['serve'], { DATABASE_URL: 'memory:', BACKUP_DIR: newFolder(t) })
  t.match(served, { code: 1, stderr: /BACKUP_DIR.*only for the embedded database/ })
})

const addTenant = (path: string, name: string) => {
  const file = new DatabaseSync(path)
  file
    .prepare("insert into tenants (tenant_id, name, created_at) values (?, ?, '2026-01-01T00:00:00.000Z')")
    .run(name, name)
  file.close()
}
const tenantsIn = async (path: string) => {
  const rows = await embeddedDatabase(path).rows<{ name: string }>('select name from tenants order by name')
  return rows.map(({ name }) => name)
}
/** A database with one tenant, in a folder whose name has a space, and its backup. */
const backedUp = async (t: Test) => {
  const folder = join(newFolder(t), 'my files')
  const path = join(folder, 'test.db')
  const file = join(folder, 'backup.db')
  const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
  await store.migrate()
  await store.close()
  addTenant(path, 'Early')
  backUp({ kind: 'sqlite', path }, file)
  return { folder, path, file }
}

t.test('restore brings a backup back and keeps the old file beside it', async (t) => {
  const { path, file } = await backedUp(t)
  addTenant(path, 'Late')
  const before = readFileSync(file)
  const { kept, ...answer } = await answerOf(['restore', file], urlOf(path))
  t.match(answer, { file: path, migration: LAST_MIGRATION })
  t.strictSame(await tenantsIn(path), ['Early'])
  t.ok(kept.startsWith(`${path}.before-restore-`))
  t.strictSame(await tenantsIn(kept), ['Early', 'Late'])
  t.ok(readFileSync(file).equals(before), 'the backup is not changed')
  t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('a name that SQLite would take for a URI is the name of a file', async (t) => {
  const { folder, path } = await backedUp(t)
  const before = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(before))
  renameSync(path, 'file:test.db')
  const database = { kind: 'sqlite', path: 'file:test.db' } as const
  const { bytes } = backUp(database, 'file:copy.db')
  t.match(statSync('file:copy.db'), { size: bytes, mode: 0o100600 })
  restore(database, 'file:copy.db')
  for (const name of ['file:copy.db', 'file:test.db'])
    t.strictSame(await tenantsIn(join(folder, name)), ['Early'])
  t.strictSame(unfinishedIn(folder), [])
})

t.test('%, # and ? in the name of a file are part of the name', async (t) => {
  const { folder, path } = await backedUp(t)
  // A path below the folder of the command may lie in a folder whose name has a #.
  const place = join(folder, 'C#?')
  mkdirSync(place)
  renameSync(path, join(place, 'my%20data%23 100%.db'))
  const before = process.cwd()
  process.chdir(place)
  t.teardown(() => process.chdir(before))
  const env = urlOf('my%20data%23 100%.db')
  const copy = 'copy#1.db?mode=ro%20'
  await answerOf(['backup', copy], env)
  t.strictSame(await tenantsIn(join(place, copy)), ['Early'])
  await answerOf(['restore', copy], env)
  t.match(await answerOf(['migrate'], env), { applied: [] })
  t.match(JSON.parse((await runCommand(['doctor'], env)).stdout), { ok: true })
  const server = await startServer(t, env, place)
  t.equal(await server.stop(), 0)
  t.strictSame(
    readdirSync(place)
      .filter((name) => !/before|-wal$|-shm$/.test(name))
      .sort(),
    [copy, 'my%20data%23 100%.db'],
  )
})

t.test('an address that another program would cut off is refused by every command', async (t) => {
  const folder = newFolder(t)
  for (const name of ['data#1.db', 'data.db?mode=ro', 'file:data.db']) {
    const address = `sqlite:${join(folder, name).replace(`${folder}/file:`, 'file:')}`
    const env = { DATABASE_URL: address }
    for (const command of [
      ['serve'],
      ['migrate'],
      ['backup', join(folder, 'copy.db')],
      ['restore', 'copy.db'],
    ]) {
      const { code, stderr } = await runCommand(command, env)
      t.equal(code, 1)
      t.match(JSON.parse(stderr).errors, [
        { parameter: 'DATABASE_URL', detail: /^must be sqlite:PATH, such as/ },
      ])
    }
    t.match(JSON.parse((await runCommand(['doctor'], env)).stdout).checks, [
      { name: 'settings', state: 'failed', detail: /^DATABASE_URL must be sqlite:PATH, such as/ },
    ])
    const move = await runCommand(['move', '--from', address, '--to', 'postgres://a/b'])
    t.match(move, { code: 2, stderr: /--from must be sqlite:PATH, such as/ })
  }
  t.strictSame(readdirSync(folder), [])
})

t.test('restore refuses while a server has the database open, and works once it has stopped', async (t) => {
  const { path, file } = await backedUp(t)
  const server = await startServer(t, urlOf(path))
  t.match(await refusal(file, urlOf(path), 'restore'), { code: 1, detail: /Another process has .* open/ })
  await server.kill()
  await answerOf(['restore', file], urlOf(path))
  t.strictSame(await tenantsIn(path), ['Early'])
})

t.test('restore replaces a damaged database, and keeps it with its journal', async (t) => {
  const { path, file } = await backedUp(t)
  writeFileSync(path, 'no database'.repeat(1_000))
  writeFileSync(`${path}-wal`, 'no journal')
  const { kept } = await answerOf(['restore', file], urlOf(path))
  t.strictSame(await tenantsIn(path), ['Early'])
  t.match(readFileSync(kept, 'utf8'), /^no database/)
})

t.test('restore refuses what is no backup of this program, and leaves the database alone', async (t) => {
  const { folder, path, file } = await backedUp(t)
  const garbage = join(folder, 'garbage.db')
  writeFileSync(garbage, 'This is not a database.\n'.repeat(1_000))
  const damaged = join(folder, 'damaged.db')
  writeFileSync(damaged, damage(readFileSync(file)))
  const newer = join(folder, 'newer.db')
  copyFileSync(file, newer)
  await embeddedDatabase(newer).rows(
    `insert into schema_migrations values (${NEXT_MIGRATION}, 'x', 'now', 'x', '9.8.7') returning 1`,
  )
  const empty = join(folder, 'empty.db')
  writeFileSync(empty, '')
  for (const [backup, detail] of [
    [garbage, /not a database/],
    [damaged, /damaged/],
    [newer, /newer than this program: prospect-pages 9\.8\.7/],
    [empty, /is not a database of prospect-pages/],
    [join(folder, 'missing.db'), /does not exist/],
    [path, /is the database itself/],
  ] as const)
    t.throws(() => restore({ kind: 'sqlite', path }, backup), detail, backup)
  for (const backup of [empty, path, join(folder, 'missing.db')])
    t.match(linesOf((await runCommand(['restore', backup], urlOf(path))).stderr), [
      { detail: /was not restored/, remedy: 'Choose another backup.' },
    ])
  t.strictSame(await tenantsIn(path), ['Early'])
  t.strictSame(
    readdirSync(folder).filter((name) => name.startsWith('test.db.')),
    [],
  )
})

/** Locks a file until another process has it open, then replaces the file. */
const REPLACE_OPENED = `
  const { readdirSync, readlinkSync, renameSync, writeFileSync } = await import('node:fs')
  const { DatabaseSync } = await import('node:sqlite')
  const [path, other] = process.argv.slice(1)
  const file = new DatabaseSync(path)
  file.exec('pragma journal_mode = delete; begin exclusive')
  writeFileSync(path + '.locked', '')
  const opened = () => readdirSync('/proc/' + process.ppid + '/fd').some((fd) => {
    try { return readlinkSync('/proc/' + process.ppid + '/fd/' + fd) === path } catch { return false }
  })
  while (!opened());
  renameSync(other, path)
  file.close()`

t.test(
  'a process that waits for a file while it is replaced does not use the old one',
  { skip: process.platform === 'linux' ? false : 'needs /proc' },
  async (t) => {
    const { path, file } = await backedUp(t)
    const replaced = runChild(REPLACE_OPENED, path, file)
    await until('the file is locked', () => existsSync(`${path}.locked`))
    // SQLite sees to it, because the process must write to leave the mode in which it found the file.
    t.throws(() => openDatabase(path, 60_000), /readonly/)
    await replaced
    t.strictSame(await tenantsIn(path), ['Early'])
  },
)
t.test(
  'servers with BACKUP_DIR make one backup when it is due, and again only when the next is',
  async (t) => {
    const { folder, path } = await backedUp(t)
    const dir = join(folder, 'dir')
    const script = join(folder, 'copy it.sh')
    const seen = join(folder, 'seen')
    mkdirSync(dir)
    writeFileSync(script, `#!/bin/sh\necho "$# $1" >> '${seen}'\n`)
    chmodSync(script, 0o700)
    writeFileSync(join(dir, 'test.db.2026-01-01T00-00-00.000Z.unfinished-x'), 'half a copy')
    const env = { ...urlOf(path), BACKUP_DIR: dir, BACKUPS_KEPT: '2', BACKUP_COMMAND: script }
    const backups = () =>
      readdirSync(dir)
        .filter((name) => /Z$/.test(name))
        .map((name) => join(dir, name))
    const made = ({ logs }: { logs: () => { msg: string }[] }) =>
      logs().filter(({ msg }) => msg === 'backed up')

    const servers = await Promise.all([startProgram(t, env), startProgram(t, env)])
    await until('a backup is made', () => servers.some((server) => made(server).length > 0))
    const [first = ''] = backups()
    t.ok((await tenantsIn(first)).includes('Early'))
    t.equal(readFileSync(seen, 'utf8'), `1 ${first}\n`, 'the command got the file')
    const { url } = servers[0]
    const at = Date.parse(first.slice(-24).replace(/T(\d\d)-(\d\d)-/, 'T$1:$2:')) / 1_000
    const metric = `prospect_pages_last_backup_timestamp_seconds ${at}`
    t.ok((await (await fetch(`${url}/metrics`)).text()).includes(metric))
    t.strictSame(await answerOf(['backup', '--if-due'], env), { skipped: 'no backup is due' })
    for (const server of servers) await server.stop()
    t.strictSame(backups(), [first], 'only one, and what a kill had left is removed')
    t.notOk(readdirSync(dir).some((name) => name.includes('unfinished')))

    const old = join(dir, 'test.db.2026-01-02T00-00-00.000Z')
    renameSync(first, old)
    t.match((await runCommand(['doctor'], env)).stdout, /newest is from 2026-01-02/)
    const again = await startProgram(t, env)
    await until('the next is made after a restart', () => made(again).length > 0)
    await again.stop()
    const [, second = ''] = backups()
    t.strictSame(backups(), [old, second])
    await answerOf(['backup'], env)
    t.notOk(existsSync(old), 'the oldest beyond BACKUPS_KEPT is deleted')
    t.equal(backups().length, 2)
    t.match(await answerOf(['doctor'], env), { ok: true })

    writeFileSync(script, '#!/bin/sh\necho no room there >&2\nexit 3\n')
    const failed = await runCommand(['backup'], env)
    t.match(failed, { code: 1, stderr: /is complete, but BACKUP_COMMAND failed: .*no room there/ })
    t.match((await runCommand(['doctor'], env)).stdout, /BACKUP_COMMAND failed: .*no room there/)
  },
)

t.test('BACKUP_COMMAND may write as much as it likes about its progress', async (t) => {
  const { folder, path } = await backedUp(t)
  const dir = join(folder, 'dir')
  const script = join(folder, 'copy.sh')
  mkdirSync(dir)
  const env = { ...urlOf(path), BACKUP_DIR: dir, BACKUP_COMMAND: script }
  const writes = '#!/bin/sh\nhead -c 3000000 /dev/zero | tr "\\0" "." >&2\n'
  writeFileSync(script, writes, { mode: 0o700 })
  t.match(await runCommand(['backup'], env), { code: 0, stderr: '' })
  t.match(await answerOf(['doctor'], env), { ok: true })
  writeFileSync(script, `${writes}echo no room there >&2\nexit 3\n`)
  const failed = await runCommand(['backup'], env)
  t.match(failed, { code: 1, stderr: /BACKUP_COMMAND failed: …\.+no room there/ })
  t.ok(failed.stderr.length < 3_000)
})

t.test('a backup that BACKUP_COMMAND could not take is passed to it again', async (t) => {
  const { folder, path } = await backedUp(t)
  const dir = join(folder, 'dir')
  const script = join(folder, 'copy.sh')
  const seen = join(folder, 'seen')
  mkdirSync(dir)
  const env = { ...urlOf(path), BACKUP_DIR: dir, BACKUP_COMMAND: script }
  writeFileSync(script, '#!/bin/sh\nexit 3\n', { mode: 0o700 })
  for (let time = 0; time < 2; time++) t.equal((await runCommand(['backup', '--if-due'], env)).code, 1)
  writeFileSync(script, `#!/bin/sh\necho "$1" >> '${seen}'\n`)
  const { file } = await answerOf(['backup', '--if-due'], env)
  t.equal(readFileSync(seen, 'utf8'), `${file}\n`)
  t.strictSame(
    readdirSync(dir).filter((name) => /Z$/.test(name)),
    [basename(file)],
    'only one was made',
  )
  t.strictSame(await answerOf(['backup', '--if-due'], env), { skipped: 'no backup is due' })
  t.match(await answerOf(['doctor'], env), { ok: true })
})

t.test('backups that a wrong clock named are the first to be deleted', async (t) => {
  const { folder, path } = await backedUp(t)
  const dir = join(folder, 'dir')
  mkdirSync(dir)
  for (const day of ['01', '02'])
    writeFileSync(join(dir, `test.db.2999-01-${day}T00-00-00.000Z`), 'of a clock that was ahead')
  const env = { ...urlOf(path), BACKUP_DIR: dir, BACKUPS_KEPT: '2' }
  const { file: first } = await answerOf(['backup'], env)
  const { file: second } = await answerOf(['backup'], env)
  const kept = readdirSync(dir).filter((name) => /Z$/.test(name))
  t.strictSame(
    kept.map((name) => join(dir, name)),
    [first, second],
  )
})

t.test('an embedded database is backed up before its first pending migration', async (t) => {
  const { folder, path } = await backedUp(t)
  const next = join(makeNextRelease(join(folder, 'next')), 'src/cli/bin.ts')
  const line = [process.execPath, next, 'serve']
  const before = `${path}.before-0.2.0`
  writeFileSync(`${path}.before-0.0.9`, 'from an earlier migration')
  writeFileSync(`${before}.unfinished-x`, 'half a copy')
  const server = await startServer(t, urlOf(path), undefined, line)
  await server.stop()
  t.match(server.stderr(), `"file":"${before}"`)
  t.strictSame(await tenantsIn(before), ['Early'])
  t.strictSame(
    readdirSync(folder).filter((name) => name.startsWith('test.db.')),
    ['test.db.before-0.2.0'],
  )

  const { stderr } = await runCommand(['migrate'], urlOf(path))
  t.match(stderr, `prospect-pages 0.2.0 applied migration ${NEXT_MIGRATION}, this is ${VERSION}`)
  t.match(stderr, `The backup made before that is ${before}.`)
  await answerOf(['restore', before], urlOf(path))
  t.match(await answerOf(['migrate'], urlOf(path)), { applied: [] }, 'the old release works again')

  const again = await startServer(t, { ...urlOf(path), BACKUP_BEFORE_MIGRATION: 'off' }, undefined, line)
  t.notMatch(again.stderr(), /backed up/)
  await again.stop()
})

t.test('migrate --dry-run lists what is pending and changes nothing', async (t) => {
  const { folder, path } = await backedUp(t)
  const missing = join(folder, 'missing.db')
  const pendingIn = async (path: string) => (await answerOf(['migrate', '--dry-run'], urlOf(path))).pending
  t.strictSame(await pendingIn(missing), ['0001_init.sql'])
  t.notOk(existsSync(missing))
  t.strictSame(await pendingIn(path), [])
})
