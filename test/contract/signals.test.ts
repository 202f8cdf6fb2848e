import { openPostgres } from '../../src/adapters/postgres/connect.ts'
import type { Signal, Store } from '../../src/core/ports.ts'
import { addTenant, at, newId, someGroup, someKey, somePage } from '../support/rows.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

/** A signal that is never told fails the test after this; nothing waits for it otherwise. */
const LOST_MS = 15_000

overStores(async (t, kind) => {
  t.test('a key revoked through one store is told to another', async (t) => {
    const { store, another } = await opened(t, kind)
    const key = someKey((await addTenant(store)).tenantId)
    await store.apiKeys.add(key)
    const watcher = await watching(await another(), kind)
    const told = watcher.next('keys')
    await store.apiKeys.end(key.apiKeyId, { revokedAt: at(1) })
    await t.resolves(told)
  })

  t.test('a key given an end through one store is told to another', async (t) => {
    const { store, another } = await opened(t, kind)
    const { tenantId } = await addTenant(store)
    const watcher = await watching(await another(), kind)
    const told = watcher.next('keys')
    await endSomeKey(store, tenantId)
    await t.resolves(told)
  })

  t.test('pages created through one store wake another', async (t) => {
    const { store, another } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const watcher = await watching(await another(), kind)
    const told = watcher.next('versions')
    await store.pages.record([somePage(group)])
    await t.resolves(told)
  })

  t.test('a store tells of its own pages and keys too', async (t) => {
    const { store } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const watcher = await watching(store, kind)
    const woken = watcher.count('versions')
    await store.pages.record([somePage(group)])
    t.ok(watcher.count('versions') > woken, 'at once, so that nothing waits for the publisher')
    const told = watcher.next('keys')
    await endSomeKey(store, group.tenantId)
    await t.resolves(told)
  })

  t.test('pages that were overtaken wake nobody', async (t) => {
    const { store } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const fields = { idempotencyKey: 'one', requestHash: 'hash' }
    await store.pages.record([somePage(group, fields)])
    const watcher = await watching(store, kind)
    const before = watcher.count('versions')
    t.equal(await store.pages.record([somePage(group, fields)]), 'overtaken')
    t.equal(watcher.count('versions'), before)
  })

  t.test('a closed store tells nothing more', async (t) => {
    const { store, another } = await opened(t, kind)
    const { tenantId } = await addTenant(store)
    const other = await another()
    const watcher = await watching(other, kind)
    if (other === store) return
    await other.close()
    const witness = await watching(await another(), kind)
    const before = watcher.count('keys')
    const told = witness.next('keys')
    await endSomeKey(store, tenantId)
    await told
    t.equal(watcher.count('keys'), before)
  })

  t.test(
    'a store whose listening connection was ended hears again afterwards',
    { skip: kind.name !== 'postgres' && 'nothing listens' },
    async (t) => {
      const { store, another, address } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const sql = openPostgres(String(address), { max: 1, onnotice: () => {} })
      t.teardown(() => sql.end())
      const watcher = await watching(await another(), kind)

      for (let round = 0; round < 2; round++) {
        const assumed = watcher.next('keys')
        const ended = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and query ilike 'listen%'`
        t.equal(ended.length, 1)
        // Who cannot listen assumes that something was said.
        if (!(await t.resolves(assumed))) return
        // One of these may be the assumption on listening again; not all of them can.
        for (let revoked = 0; revoked < 3; revoked++) {
          const told = watcher.next('keys')
          await store.apiKeys.end(newId('apikey'), { revokedAt: at(1) })
          if (!(await t.resolves(told))) return
        }
      }
      const told = watcher.next('keys')
      await endSomeKey(store, tenantId)
      await t.resolves(told)
    },
  )
})

const endSomeKey = async ({ apiKeys }: Store, tenantId: string): Promise<void> => {
  const key = someKey(tenantId)
  await apiKeys.add(key)
  await apiKeys.end(key.apiKeyId, { expiresAt: at(1) })
}

/** Watches a store that listens already, counts what it is told, and waits for it. */
const watching = async (store: Store, { name }: StoreKind) => {
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
  // On PostgreSQL everything is told once when listening begins.
  if (name === 'postgres') await next('keys')
  return {
    next,
    count: (signal: Signal) => counts[signal],
  }
}
