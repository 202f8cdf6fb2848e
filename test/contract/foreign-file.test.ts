import { spawnSync } from 'node:child_process'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { riskyFileSystem } from '../../src/adapters/sqlite/file-systems.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { backUp } from '../../src/maintenance/backup.ts'
import { openReadOnly } from '../../src/maintenance/read-only.ts'
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts'
import { mountFuse, whyNoFuse } from '../support/fuse.ts'
import { newFolder, runProcess } from '../support/program.ts'

const OURS = 0x5050

t.test('a SQLite file of another program is refused and stays as it is', async (t) => {
  const folder = newFolder(t)
  for (const [name, content] of [
    ['notes', 'create table notes (id integer)'],
    ['rails', 'create table schema_migrations (version text)'],
    ['empty of a format', 'pragma application_id = 1196444487'],
  ] as const) {
    const path = join(folder, `${name}.db`)
    const other = new DatabaseSync(path)
    other.exec(content)
    other.close()
    const { mtimeMs, size } = statSync(path)
    const open = () => sqliteStore({ path, busyMsMax: 1_000 }, readMigrations('sqlite'))
    t.throws(open, /is a SQLite file of another program/, name)
    t.throws(() => openReadOnly(path, () => {}), /another program/, name)
    t.match(statSync(path), { mtimeMs, size }, name)
  }
})

t.test('our files and their backups carry our number; older files without one are taken', async (t) => {
  const folder = newFolder(t)
  const path = join(folder, 'ours.db')
  const open = async () => {
    const store = sqliteStore({ path, busyMsMax: 1_000 }, readMigrations('sqlite'))
    await store.migrate()
    await store.ready()
    await store.close()
  }
  const idOf = (path: string) =>
    openReadOnly(path, (file) => Number(file.prepare('pragma application_id').get()?.['application_id']))
  await open()
  t.equal(idOf(path) >> 16, OURS)
  const { file } = backUp({ kind: 'sqlite', path }, join(folder, 'copy.db'))
  t.equal(idOf(file) >> 16, OURS)
  for (const id of [0, 77]) {
    const older = new DatabaseSync(path)
    older.exec(`pragma application_id = ${id}`)
    older.close()
    await t.resolves(open(), `${id}`)
  }
})

t.test('the journal shrinks after a long reader', async (t) => {
  for (const [rows, bytes] of [
    [60, 1_000_000],
    [3, 20_000_000],
    [600, 100_000],
  ] as const) {
    const path = join(newFolder(t), 'long.db')
    const store = sqliteStore({ path, busyMsMax: 1_000 }, readMigrations('sqlite'))
    t.teardown(store.close)
    await store.migrate()
    const reader = new DatabaseSync(path, { readOnly: true })
    reader.exec('begin; select * from tenants')
    const other = new DatabaseSync(path)
    other.exec('create table filler (text)')
    for (let i = 0; i < rows; i++) other.exec(`insert into filler values (zeroblob(${bytes}))`)
    other.close()
    t.ok(statSync(`${path}-wal`).size > 50_000_000)
    reader.exec('commit')
    reader.close()
    // The first write after a checkpoint begins the journal again, and cuts it.
    for (let i = 0; i < 3; i++)
      await store.erasures.saveClock({ servedAt: `2026-01-01T00:00:0${i}.000Z`, pausedAt: null })
    t.ok(statSync(`${path}-wal`).size <= 33_554_432, `${rows} rows of ${bytes} bytes`)
  }
})

t.test('a network file system is named', async (t) => {
  for (const [type, name] of [
    [0x6969, 'NFS'],
    [0xff534d42, 'SMB'],
    [-11317950, 'SMB'],
    [0xfe534d42, 'SMB'],
    [0x01021997, '9p'],
    [0x65735546, 'FUSE'],
    [0xef53, null],
    [0x01021994, null],
  ] as const)
    t.equal(
      riskyFileSystem('/srv', () => ({ type })),
      name,
    )
  t.equal(riskyFileSystem('/proc'), null)
})

const onDisk = { skip: whyNoSmallDisk() ?? false }
t.test('a memory disk and an overlay are local, mounted as they are', onDisk, async (t) => {
  const disk = mountSmallDisk(t, 8)?.folder ?? ''
  t.equal(riskyFileSystem(disk), null, 'tmpfs')
  for (const name of ['changes', 'work', 'root']) mkdirSync(join(disk, name))
  const layers = `lowerdir=/usr,upperdir=${disk}/changes,workdir=${disk}/work`
  t.equal(spawnSync('mount', ['-t', 'overlay', '-o', layers, 'overlay', `${disk}/root`]).status, 0)
  t.teardown(() => void spawnSync('umount', ['--lazy', `${disk}/root`]))
  t.equal(riskyFileSystem(`${disk}/root`), null, 'overlay')
})

t.test('doctor and the start warn about a real FUSE mount', { skip: whyNoFuse() }, async (t) => {
  const folder = await mountFuse(t)
  for (const path of ['x.db', 'new/folder/x.db']) {
    const env = { DATABASE_URL: `sqlite:${join(folder, path)}`, PORT: '0' }
    const { stdout } = await runProcess(['doctor'], env)
    t.match(stdout, `{"name":"file system","state":"warning","detail":"${folder} is on FUSE"`)
    t.match(await runProcess(['serve'], env), { code: 1, stderr: /The database is on FUSE: move it/ })
  }
})
