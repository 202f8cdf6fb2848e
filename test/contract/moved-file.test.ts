import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { backUp } from '../../src/maintenance/backup.ts'
import { sqliteSource } from '../../src/maintenance/move-from-sqlite.ts'
import { restore } from '../../src/maintenance/restore.ts'
import { until } from '../support/program.ts'
import { addTenant, someClaim } from '../support/rows.ts'

const setting = (t: Test) => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'test.db')
  const elsewhere = join(folder, 'elsewhere.db')
  const openStore = async (place = path) => {
    const store = sqliteStore({ path: place, busyMsMax: 5_000 }, readMigrations('sqlite'))
    t.teardown(() => store.close())
    await store.migrate()
    return store
  }
  return { path, elsewhere, openStore }
}
/** How many tenants a file has. It is not migrated: it may have none of the tables. */
const tenantsIn = (path: string) => {
  const database = openDatabase(path, 0)
  const found = database.get<{ tenants: number }>('select count(*) as tenants from tenants')
  database.close()
  return found?.tenants
}
/** Callers get no word of the path; the log does. */
const refuses = async (t: Test, store: Store) => {
  const no = {
    kind: 'unavailable',
    message: 'The database cannot answer now.',
    cause: { message: /test\.db was moved, deleted or replaced\. .*restore a backup, and restart/ },
  } as never
  await t.rejects(store.ready(), no)
  await t.rejects(addTenant(store), no)
}

t.test('once the file was missed, nothing is written to it or read from it until a restart', async (t) => {
  const { path, elsewhere, openStore } = setting(t)
  const store = await openStore()
  await addTenant(store)
  renameSync(path, elsewhere)
  await refuses(t, store)
  await t.rejects(store.tenants.list('', 1), { kind: 'unavailable' } as never)
  renameSync(elsewhere, path)
  await refuses(t, store)
  await store.close()
  t.equal(tenantsIn(path), 1, 'nothing of what was refused')
  const next = await openStore()
  await addTenant(next)
  t.equal(tenantsIn(path), 2)
})

t.test('a move is noticed within ten seconds, even if readiness is never checked', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { path, elsewhere, openStore } = setting(t)
  const store = await openStore()
  await addTenant(store)
  renameSync(path, elsewhere)
  mock.timers.tick(10_000)
  t.equal(tenantsIn(elsewhere), 1, 'it has what was only in the journal')
  await refuses(t, store)
})

t.test('what is written before a move is noticed is in the moved file', async (t) => {
  const { path, elsewhere, openStore } = setting(t)
  const store = await openStore()
  renameSync(path, elsewhere)
  await addTenant(store)
  await refuses(t, store)
  await store.close()
  t.equal(tenantsIn(elsewhere), 1)
})

t.test('a file that was moved away has every write that was acknowledged', async (t) => {
  const { path, elsewhere, openStore } = setting(t)
  const store = await openStore()
  await addTenant(store)
  renameSync(path, elsewhere)
  await store.close()
  t.equal(tenantsIn(elsewhere), 1)
})

t.test('a store that only watches calls its listeners after a move', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { path, elsewhere, openStore } = setting(t)
  const store = await openStore()
  let isNoticed = false
  store.watch(() => {
    isNoticed = true
  })
  renameSync(path, elsewhere)
  mock.timers.tick(10_200)
  await until('it is noticed', () => isNoticed)
  t.ok(isNoticed)
})

t.test(
  'a file put in its place is not touched: the journal of the old one is not applied to it',
  async (t) => {
    const { path, elsewhere, openStore } = setting(t)
    const other = await openStore(elsewhere)
    for (let n = 0; n < 2; n++) await addTenant(other)
    await other.close()
    const store = await openStore()
    await addTenant(store)
    renameSync(elsewhere, path)
    await refuses(t, store)
    const next = await openStore()
    await addTenant(next)
    await refuses(t, store)
    await store.close()
    await next.close()
    t.equal(tenantsIn(path), 3)
  },
)

t.test(
  'a journal whose file is missing is neither applied nor deleted, until the file is back',
  async (t) => {
    const { path, elsewhere, openStore } = setting(t)
    await addTenant(await openStore())
    const journal = readFileSync(`${path}-wal`)
    cpSync(`${path}-wal`, `${elsewhere}-wal`)
    const detail = /elsewhere\.db is missing, but its journal .*-wal is there: put the file back, or move/
    await t.rejects(openStore(elsewhere), detail)
    t.throws(() => sqliteSource(elsewhere, readMigrations('sqlite')), detail)
    t.notOk(existsSync(elsewhere))
    t.ok(journal.equals(readFileSync(`${elsewhere}-wal`)))
    cpSync(path, elsewhere)
    t.equal(tenantsIn(elsewhere), 1)
  },
)

/** A store behind a link, with a tenant and a backup. */
const linked = async (t: Test, targetOf = basename) => {
  const scene = setting(t)
  const link = join(dirname(scene.path), 'link.db')
  symlinkSync(targetOf(scene.path), link)
  const store = await scene.openStore(link)
  await addTenant(store)
  backUp({ kind: 'sqlite', path: link }, scene.elsewhere)
  return { ...scene, link, store }
}

t.test('behind a link too, a file is missed and its journal is kept', async (t) => {
  const { path, elsewhere, openStore, link, store } = await linked(t)
  const journal = readFileSync(`${path}-wal`)
  await store.close()
  rmSync(path)
  writeFileSync(`${path}-wal`, journal)
  const detail = /test\.db is missing, but its journal .*test\.db-wal is there: put the file back, or move/
  await t.rejects(openStore(link), detail)
  t.throws(() => sqliteSource(link, readMigrations('sqlite')), detail)
  t.notOk(existsSync(path))
  t.ok(journal.equals(readFileSync(`${path}-wal`)))
  restore({ kind: 'sqlite', path: link }, elsewhere)
  t.equal(tenantsIn(path), 1, 'it is restored where the link leads')
})

t.test('a link that leads to another file is noticed', async (t) => {
  const { link, store } = await linked(t)
  unlinkSync(link)
  symlinkSync('elsewhere.db', link)
  await t.rejects(store.ready(), { kind: 'unavailable' } as never)
  await t.rejects(addTenant(store), { kind: 'unavailable' } as never)
})

t.test('a deleted journal is noticed, and nothing that was acknowledged is lost', async (t) => {
  const { path, openStore } = setting(t)
  const store = await openStore()
  await addTenant(store)
  rmSync(`${path}-wal`)
  await refuses(t, store)
  await store.close()
  t.equal(tenantsIn(path), 1)
})

t.test('a new file is readable by its owner alone, and so is its journal, whatever the umask', async (t) => {
  const { path, openStore } = setting(t)
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  await addTenant(await openStore())
  for (const end of ['', '-wal', '-shm']) t.equal(statSync(path + end).mode & 0o777, 0o600, end)
})

t.test('a database in memory has no file that could move', async (t) => {
  const database = openDatabase(':memory:', 0)
  await database.write(() => database.exec('create table written (id)'))
  database.refuseMoved()
  database.close()
  t.notOk(existsSync(':memory:'))
})

t.test('a closed store says so, whatever it is asked', async (t) => {
  const { path, openStore } = setting(t)
  for (const place of [path, ':memory:']) {
    const store = await openStore(place)
    await addTenant(store)
    await store.close()
    const no = { kind: 'unavailable', message: 'The store is closed.' } as never
    await t.rejects(addTenant(store), no)
    await t.rejects(store.tenants.list('', 1), no)
    await t.rejects(store.apiKeys.isEmpty(), no)
    await t.rejects(store.ready(), no)
    await store.close()
  }
})

t.test('a store that is not migrated says what to do, whatever it is asked', async (t) => {
  const store = sqliteStore({ path: ':memory:', busyMsMax: 0 }, readMigrations('sqlite'))
  t.teardown(() => store.close())
  const no = {
    kind: 'unavailable',
    message: 'The database is not migrated.',
    cause: { message: /run migrate\(\)/ },
  }
  await t.rejects(addTenant(store), no as never)
  await t.rejects(store.tenants.list('', 1), no as never)
  await t.rejects(store.versions.claim(someClaim()), no as never)
  await store.migrate()
  await t.resolves(addTenant(store))
})
