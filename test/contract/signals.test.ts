import t from 'tap'
import { openPostgres } from '../../src/adapters/postgres/connect.ts'
import type { Signal, Store } from '../../src/core/ports.ts'
import { addTenant, someKey } from '../support/rows.ts'
import { storeKinds } from '../support/stores.ts'

/** Resolves when the store has told this signal from now on. A store that watches keeps no process alive; this does. */
const listener = (store: Store) => {
  const waiting = new Map<Signal, () => void>()
  store.watch((signal) => waiting.get(signal)?.())
  return (signal: Signal) =>
    new Promise<void>((resolve) => {
      const alive = setInterval(() => {}, 60_000)
      waiting.set(signal, () => {
        clearInterval(alive)
        resolve()
      })
    })
}

for (const kind of storeKinds())
  t.test(kind.name, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)

    t.test('a key that ends in one process is told to another', async (t) => {
      const { store, another, close } = await kind.open()
      t.teardown(close)
      const { tenantId } = await addTenant(store)
      const key = someKey(tenantId)
      await store.apiKeys.add(key)
      const heard = listener(await another())
      // PostgreSQL tells once it listens.
      if (kind.name === 'postgres') await heard('keys')
      const told = heard('keys')
      await store.apiKeys.end(key.apiKeyId, { revokedAt: key.createdAt })
      await told
      t.pass('it was told')
    })

    t.test('what this process did itself is told at once', async (t) => {
      const { store, close } = await kind.open()
      t.teardown(close)
      const heard = listener(store)
      const told = heard('keys')
      const { tenantId } = await addTenant(store)
      await store.apiKeys.add(someKey(tenantId))
      await told
      t.pass('it was told')
    })

    if (kind.name === 'postgres')
      t.test('who has lost the connection to listen on assumes that something was said', async (t) => {
        const { store, address, close } = await kind.open()
        t.teardown(close)
        const heard = listener(store)
        await heard('keys')
        const told = heard('keys')
        const sql = openPostgres(address ?? '', { max: 1 })
        await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where query ilike 'listen%' and datname = current_database()`
        await sql.end()
        await told
        t.pass('it was told')
      })
  })
