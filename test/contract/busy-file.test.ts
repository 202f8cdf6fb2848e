import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { startFresh } from '../../src/core/engine/decide-and-save.ts'
import { fillTenant, verbs } from '../store-contract/verbs.ts'
import { addTenant, at, someKey } from '../support/rows.ts'
import { passTime } from '../support/setting.ts'

/** A store with a tenant and a key, and another process that has begun to write to its file. */
const setting = async (t: { teardown: (end: () => unknown) => void }, busyMsMax: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  const path = join(folder, 'test.db')
  const store = sqliteStore({ path, busyMsMax }, readMigrations('sqlite'))
  await store.migrate()
  const { tenantId } = await addTenant(store)
  const key = someKey(tenantId)
  await store.apiKeys.add(key)
  const other = new DatabaseSync(path)
  other.exec('begin immediate')
  t.teardown(async () => {
    other.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { store, key, other }
}
/** So many turns of the event loop, as everything else that a process does has them. */
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test(
  'a write waits for another process that writes, reads do not, and the event loop goes on',
  async (t) => {
    const { store, key, other } = await setting(t, 60_000)
    let isDone = false
    const writes = Promise.all([
      store.apiKeys.end(key.apiKeyId, { revokedAt: at(1) }),
      store.apiKeys.markUsed(key.apiKeyId, at(2)),
      addTenant(store),
    ]).then(() => {
      isDone = true
    })
    await turns(100)
    t.equal((await store.apiKeys.find(key.apiKeyId))?.revokedAt, null)
    t.equal(isDone, false)
    other.exec('rollback')
    await writes
    t.match(await store.apiKeys.find(key.apiKeyId), { revokedAt: at(1), lastUsedAt: at(2) })
  },
)

t.test('a write that waited too long is refused, and nothing of it is kept', async (t) => {
  const { store, key, other } = await setting(t, 20)
  await t.rejects(store.apiKeys.end(key.apiKeyId, { revokedAt: at(1) }), {
    kind: 'unavailable',
    facts: { retryAfterS: 1 },
  } as never)
  other.exec('rollback')
  t.equal((await store.apiKeys.find(key.apiKeyId))?.revokedAt, null)
})

t.test(
  'a write that gets the lock after its process stood still is refused, and nothing is kept',
  async (t) => {
    const { store, key, other } = await setting(t, 1_000)
    const late = store.apiKeys.end(key.apiKeyId, { revokedAt: at(1) })
    const clocks = passTime(t, 12_000)
    other.exec('rollback')
    await t.rejects(late, { kind: 'unavailable', message: 'The write came too late; retry.' } as never)
    t.equal((await store.apiKeys.find(key.apiKeyId))?.revokedAt, null)
    clocks.restore()
    await store.apiKeys.end(key.apiKeyId, { revokedAt: at(2) })
    t.equal((await store.apiKeys.find(key.apiKeyId))?.revokedAt, at(2))
  },
)

t.test('a write that was decided before its process stood still is refused', async (t) => {
  const { store, key, other } = await setting(t, 1_000)
  other.exec('rollback')
  const end = async (revokedAt: string): Promise<void> =>
    void (await store.apiKeys.end(key.apiKeyId, { revokedAt }))
  const ago = passTime(t, -12_000)
  const late = startFresh(Number.POSITIVE_INFINITY, () => {
    ago.restore()
    return end(at(1))
  })
  await t.rejects(late ?? Promise.resolve(), { kind: 'unavailable' } as never)
  await end(at(2))
  t.equal((await store.apiKeys.find(key.apiKeyId))?.revokedAt, at(2))
})

t.test('every verb of a closed store is refused as unavailable', async (t) => {
  const { store, other } = await setting(t, 20)
  other.exec('rollback')
  const things = await fillTenant(store)
  await store.close()
  for (const { name, ask } of verbs)
    await t.rejects((async () => ask(store, things.tenant, things))(), { kind: 'unavailable' } as never, name)
})
