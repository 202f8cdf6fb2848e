import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { fillTenant } from '../store-contract/filled-tenant.ts'
import { verbs } from '../store-contract/verbs.ts'
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
  'a write that gets the lock after its process stood still is stored: no clock refuses it',
  async (t) => {
    const { store, key, other } = await setting(t, 600_000)
    const late = store.apiKeys.end(key.apiKeyId, { revokedAt: at(1) })
    passTime(t, 110_000)
    other.exec('rollback')
    await late
    t.equal((await store.apiKeys.find(key.apiKeyId))?.revokedAt, at(1))
  },
)

t.test('every verb of a closed store is refused as unavailable', async (t) => {
  const { store, other } = await setting(t, 20)
  other.exec('rollback')
  const things = await fillTenant(store)
  await store.close()
  // Nothing is asked for a moment: a write of this store has ended when it returns.
  for (const { name, ask } of verbs.filter(({ name }) => !name.startsWith('moments.')))
    await t.rejects((async () => ask(store, things.tenant, things))(), { kind: 'unavailable' } as never, name)
})
