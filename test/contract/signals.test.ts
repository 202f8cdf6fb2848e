import { openPostgres } from '../../src/adapters/postgres/connect.ts'
import type { Signal, Store } from '../../src/core/ports.ts'
import { addTenant, at, newId, someGroup, someKey, somePage } from '../support/rows.ts'
import { opened, overStores } from '../support/stores.ts'

/** A signal that is never told fails the test after this; nothing waits for it otherwise. */
const LOST_MS = 20_000

overStores(async (t, kind) => {
  t.test('a key revoked through one store is told to another', async (t) => {
    const { store, another } = await opened(t, kind)
    const key = someKey((await addTenant(store)).tenantId)
    await store.apiKeys.add(key)
    const watcher = watching(await another())
    await watcher.settled()
    const told = watcher.next('keys')
    await store.apiKeys.end(key.apiKeyId, { revokedAt: at(1) })
    await t.resolves(told)
  })

  t.test('a key issued or given an end through one store is told to another', async (t) => {
    const { store, another } = await opened(t, kind)
    const key = someKey((await addTenant(store)).tenantId)
    const watcher = watching(await another())
    await watcher.settled()
    const issued = watcher.next('keys')
    await store.apiKeys.add(key)
    await t.resolves(issued)
    const ended = watcher.next('keys')
    await store.apiKeys.end(key.apiKeyId, { expiresAt: at(1) })
    await t.resolves(ended)
  })

  t.test('pages created through one store wake another', async (t) => {
    const { store, another } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const watcher = watching(await another())
    await watcher.settled()
    const told = watcher.next('versions')
    await store.pages.record([somePage(group)])
    await t.resolves(told)
  })

  t.test('a store tells of its own pages too, and at once', async (t) => {
    const { store } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const watcher = watching(store)
    await watcher.settled()
    const before = watcher.count('versions')
    await store.pages.record([somePage(group)])
    t.ok(watcher.count('versions') > before)
  })

  t.test('pages that were overtaken wake nobody', async (t) => {
    const { store } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const fields = { idempotencyKey: 'one', requestHash: 'hash' }
    await store.pages.record([somePage(group, fields)])
    const watcher = watching(store)
    await watcher.settled()
    const before = watcher.count('versions')
    t.equal(await store.pages.record([somePage(group, fields)]), 'overtaken')
    t.equal(watcher.count('versions'), before)
  })

  t.test('a closed store tells nothing more', async (t) => {
    const { store, another } = await opened(t, kind)
    const { tenantId } = await addTenant(store)
    const other = await another()
    const watcher = watching(other)
    await watcher.settled()
    if (other === store) return t.pass('there is only one')
    await other.close()
    const witness = watching(await another())
    await witness.settled()
    const before = watcher.count('keys')
    const told = witness.next('keys')
    await store.apiKeys.add(someKey(tenantId))
    await told
    t.equal(watcher.count('keys'), before)
  })
})

overStores(
  async (t, kind) => {
    t.test('a store whose listening connection was ended hears again afterwards', async (t) => {
      const { store, another, address } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const sql = openPostgres(String(address), { max: 1, onnotice: () => {} })
      t.teardown(() => sql.end())
      const watcher = watching(await another())
      await watcher.settled()

      for (let round = 0; round < 2; round++) {
        const assumed = watcher.next('keys')
        const ended = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and query ilike 'listen%'`
        t.equal(ended.length, 1)
        // Who cannot listen assumes that something was said.
        await t.resolves(assumed)
        // One of these may be the assumption on listening again; not all of them can.
        for (let revoked = 0; revoked < 3; revoked++) {
          const told = watcher.next('keys')
          await store.apiKeys.end(newId('apikey'), { revokedAt: at(1) })
          await t.resolves(told)
        }
      }
      const key = someKey(tenantId)
      const told = watcher.next('keys')
      await store.apiKeys.add(key)
      await t.resolves(told)
    })
  },
  ['postgres'],
)

/** Watches a store, counts what it is told, and waits for it. */
const watching = (store: Store) => {
  const counts: Record<Signal, number> = { keys: 0, versions: 0 }
  const waiting = new Set<{ readonly signal: Signal; readonly resolve: () => void }>()
  store.watch((signal) => {
    counts[signal]++
    for (const one of waiting)
      if (one.signal === signal) {
        waiting.delete(one)
        one.resolve()
      }
  })
  const next = (signal: Signal): Promise<void> =>
    new Promise((resolve, reject) => {
      const lost = setTimeout(() => reject(new Error(`nobody told of ${signal}`)), LOST_MS)
      waiting.add({
        signal,
        resolve: () => {
          clearTimeout(lost)
          resolve()
        },
      })
    })
  return {
    next,
    count: (signal: Signal) => counts[signal],
    /** Until it listens: PostgreSQL's store says everything once when it begins to. */
    settled: async () => {
      if (!('kept' in store) && counts.keys === 0) await next('keys')
    },
  }
}
