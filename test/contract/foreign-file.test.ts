import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { riskyFileSystem } from '../../src/adapters/sqlite/place.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { backUp } from '../../src/operations/backup.ts'
import { openReadOnly } from '../../src/operations/read-only.ts'
import { newFolder } from '../support/program.ts'

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
  t.not(idOf(file), idOf(path))
  for (const id of [0, 77]) {
    const older = new DatabaseSync(path)
    older.exec(`pragma application_id = ${id}`)
    older.close()
    await t.resolves(open(), `${id}`)
  }
})

t.test('the journal shrinks after a long reader', async (t) => {
  const path = join(newFolder(t), 'long.db')
  const store = sqliteStore({ path, busyMsMax: 1_000 }, readMigrations('sqlite'))
  t.teardown(store.close)
  await store.migrate()
  const reader = new DatabaseSync(path, { readOnly: true })
  reader.exec('begin; select * from tenants')
  const other = new DatabaseSync(path)
  other.exec('create table filler (text)')
  for (let i = 0; i < 60; i++) other.exec('insert into filler values (zeroblob(1000000))')
  other.close()
  t.ok(statSync(`${path}-wal`).size > 50_000_000)
  reader.exec('commit')
  reader.close()
  // The first write after a checkpoint begins the journal again, and cuts it.
  for (let i = 0; i < 3; i++)
    await store.erasures.saveClock({ servedAt: `2026-01-01T00:00:0${i}.000Z`, pausedAt: null })
  t.ok(statSync(`${path}-wal`).size <= 33_554_432)
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
