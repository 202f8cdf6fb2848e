import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { listEvents } from '../../src/core/events/list-events.ts'
import type { Signal, Store } from '../../src/core/ports/store.ts'
import { mergeProspect } from '../../src/core/prospects/merge-prospect.ts'
import { waitForEvents } from '../../src/service/wait-for-events.ts'
import { outboxOf } from '../store-contract/outbox.ts'
import { endSomeKey, watching as watchingAtOnce } from '../store-contract/signals.ts'
import { placeOf } from '../support/place.ts'
import { until } from '../support/program.ts'
import {
  addTenant,
  at,
  foundProspect,
  newId,
  recordAll,
  someErasure,
  someEvent,
  someGroup,
  someHook,
  someKey,
  somePage,
  someProspect,
} from '../support/rows.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, overStores, POSTGRES_SETTINGS, type StoreKind } from '../support/stores.ts'

/** Changes that concern which callers are let in. */
const testCallers = (t: Test, kind: StoreKind): void => {
  t.test('a key revoked through one store reaches another', async (t) => {
    const { store, another } = await opened(t, kind)
    const key = someKey((await addTenant(store)).tenantId)
    await store.apiKeys.add(key)
    const watcher = await watching(await another(), kind)
    const signal = watcher.next('keys')
    await store.apiKeys.end(key.apiKeyId, { revokedAt: at(1) })
    await t.resolves(signal)
  })

  t.test('an end set for a key through one store reaches another', async (t) => {
    const { store, another } = await opened(t, kind)
    const { tenantId } = await addTenant(store)
    const watcher = await watching(await another(), kind)
    const signal = watcher.next('keys')
    await endSomeKey(store, tenantId)
    await t.resolves(signal)
  })

  t.test('a hook changed or removed through one store reaches another', async (t) => {
    const { store, another } = await opened(t, kind)
    const hook = someHook((await addTenant(store)).tenantId)
    await store.hooks.add(hook)
    const watcher = await watching(await another(), kind)
    const changed = watcher.next('keys')
    await store.hooks.change({ ...hook, status: 'disabled', updatedAt: at(1) }, hook.updatedAt)
    await t.resolves(changed)
    const removed = watcher.next('keys')
    await store.hooks.remove(hook)
    await t.resolves(removed)
  })
}

/** Changes that make work for the background workers and readers of another process. */
const testWork = (t: Test, kind: StoreKind): void => {
  t.test('pages created through one store wake another', async (t) => {
    const { store, another } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const watcher = await watching(await another(), kind)
    const signal = watcher.next('versions')
    await store.pages.record(somePage(group))
    await t.resolves(signal)
  })

  t.test('events numbered through one store wake their readers at another', async (t) => {
    const { store, another } = await opened(t, kind)
    const ours = await outboxOf(store)
    await ours.addEndpoint()
    const other = await another()
    const watcher = await watching(other, kind)
    const read = listEvents({ store: other, dataOf: async () => ({}) })
    const gatherOptions = { listLengthMax: 9, listsInFlightMax: 1 }
    const reader = waitForEvents({ store: other, read, gatherOptions })
    const types = ['page.created', 'page.deleted'] as const
    const slices = types.map((type) => reader({ tenantId: ours.tenantId, limit: 9, types: [type], wait: 20 }))
    const signal = watcher.next('numbered')
    const emittedHere: string[] = []
    store.watch((signal) => emittedHere.push(signal))
    for (const type of types) {
      await ours.write(someEvent(ours.tenantId, { type }))
      await ours.number()
    }
    await t.resolves(signal)
    t.match(await Promise.all(slices), [
      { value: { items: [{ sequence: 1 }] } },
      { value: { items: [{ sequence: 2 }] } },
    ])
    t.ok(emittedHere.includes(`numbered ${ours.tenantId}`), 'the same store names the tenant')
  })

  t.test('a prospect erased or merged through one store wakes the eraser of another', async (t) => {
    const { store, another } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    const { tenantId } = group
    await store.pageGroups.add(group)
    const ada = someProspect(tenantId)
    const bob = someProspect(tenantId)
    const eve = someProspect(tenantId)
    await recordAll(store.activities, [ada, bob, eve])
    const watcher = await watching(await another(), kind)
    const erase = async () => {
      const erasures = [someErasure(tenantId, { prospectId: eve.prospectId })]
      const changes = { tenantId, now: at(1), until: at(1), identifier: null, erasures }
      await store.erasures.record({ ...changes, prospects: [foundProspect(eve)] })
    }
    const deps = { store, clock: stoppedClock(), newId }
    const merge = () => mergeProspect(deps)({ ...ada, into: bob.prospectId })
    for (const change of [erase, merge]) {
      const signals = [watcher.next('versions'), watcher.next('prospects')]
      await store.pages.record(somePage(group))
      await change()
      await t.resolves(Promise.all(signals), 'beside new pages')
    }
  })
}

/** Changes watched in the store that makes them, and changes that emit no signal. */
const testSameStore = (t: Test, kind: StoreKind): void => {
  t.test('a corrected prospect emits no signal', async (t) => {
    const { store } = await opened(t, kind)
    const { tenantId } = await addTenant(store)
    const before = foundProspect(someProspect(tenantId))
    await recordAll(store.activities, [before])
    const watcher = await watching(store, kind)
    const count = watcher.count('prospects')
    const after = { ...before, name: 'Ada', updatedAt: at(1) }
    t.equal(
      await store.prospects.correct({ before, after, added: [], released: [], forgotten: [] }),
      'recorded',
    )
    t.equal(watcher.count('prospects'), count)
  })

  t.test('a store emits signals for changes that it made itself', async (t) => {
    const { store } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const watcher = await watching(store, kind)
    const before = watcher.count('versions')
    await store.pages.record(somePage(group))
    t.ok(watcher.count('versions') > before, 'at once, so that nothing waits for the publisher')
    const signal = watcher.next('keys')
    await endSomeKey(store, group.tenantId)
    await t.resolves(signal)
  })

  t.test('an overtaken page emits no signal', async (t) => {
    const { store } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const fields = { idempotencyKey: 'key', requestHash: 'hash' }
    await store.pages.record(somePage(group, fields))
    const watcher = await watching(store, kind)
    // A slow heartbeat emits one signal of each kind.
    const versionsAlone = () => watcher.count('versions') - watcher.count('keys')
    const before = versionsAlone()
    t.equal(await store.pages.record(somePage(group, fields)), 'overtaken')
    t.equal(versionsAlone(), before)
  })

  t.test('a closed store emits nothing more', async (t) => {
    const { store, another } = await opened(t, kind)
    const { tenantId } = await addTenant(store)
    const other = await another()
    const watcher = await watching(other, kind)
    if (other === store) {
      t.pass('no other process can open it')
      return
    }
    await other.close()
    const witness = await watching(await another(), kind)
    const before = watcher.count('keys')
    const signal = witness.next('keys')
    await endSomeKey(store, tenantId)
    await signal
    t.equal(watcher.count('keys'), before)
  })
}

const testConnections = (t: Test, kind: StoreKind): void => {
  t.test('a store that is closed right after a change still sends its signal', async (t) => {
    const { store, address } = await opened(t, kind)
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    const watcher = await watching(store, kind)
    const command = postgresStore({ ...POSTGRES_SETTINGS, url: String(address) }, readMigrations('postgres'))
    const signal = watcher.next('versions')
    await command.pages.record(somePage(group))
    await command.close()
    await t.resolves(signal)
  })

  t.test('a store whose listening connection was ended listens again', async (t) => {
    const { store, another, address } = await opened(t, kind)
    const { tenantId } = await addTenant(store)
    const sql = openPostgres(String(address), { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())
    const watcher = await watching(await another(), kind)

    for (let round = 0; round < 2; round++) {
      const assumed = watcher.next('keys')
      const ended = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and query in ('listen prospect_pages', 'select 1')`
      t.equal(ended.length, 1)
      // It may have missed a signal, so it assumes one.
      if (!(await t.resolves(assumed))) return
      // One of these may be the assumption on listening again; not all of them can.
      for (let revoked = 0; revoked < 3; revoked++) {
        const signal = watcher.next('keys')
        await store.apiKeys.end(newId('apikey'), { revokedAt: at(1) })
        if (!(await t.resolves(signal))) return
      }
    }
    const signal = watcher.next('keys')
    await endSomeKey(store, tenantId)
    await t.resolves(signal)
  })

  t.test(
    'a store whose listening connection goes silent assumes signals, and listens on a new one',
    async (t) => {
      const { store, address } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const proxy = await startProxy(t, String(address))
      const proxied = postgresStore({ ...POSTGRES_SETTINGS, url: proxy.url }, readMigrations('postgres'))
      t.teardown(() => proxied.close())
      const watcher = await watching(proxied, kind)
      proxy.silence()
      proxied.hasAllSignals?.()
      const signal = watcher.next('keys')
      await endSomeKey(store, tenantId)
      if (!(await t.resolves(signal))) return
      await until('it listens on a new connection', () => proxy.connections() > 1)
      const nextSignal = watcher.next('keys')
      await endSomeKey(store, tenantId)
      await t.resolves(nextSignal)
    },
  )

  t.test(
    'a store knows whether it has all signals, and asks nothing while nobody wants to know',
    async (t) => {
      const { store, address } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const proxy = await startProxy(t, String(address))
      const proxied = postgresStore({ ...POSTGRES_SETTINGS, url: proxy.url }, readMigrations('postgres'))
      t.teardown(() => proxied.close())
      const watcher = await watching(proxied, kind)
      await until('it has them', () => proxied.hasAllSignals?.() ?? false)

      const hasRested = async () => {
        const before = proxy.bytesSent()
        await pause(RESTED_MS)
        return proxy.bytesSent() === before
      }
      await until('its connection rests', hasRested)
      t.equal(proxied.hasAllSignals?.(), false, 'after a rest some may be missing')
      await until('it has asked for them', () => proxied.hasAllSignals?.() ?? false)

      await until('its connection rests', hasRested)
      const signal = watcher.next('keys')
      await endSomeKey(store, tenantId)
      await t.resolves(signal, 'a signal reaches a resting connection')

      await until('its connection rests', hasRested)
      proxy.silence()
      t.equal(
        proxied.hasAllSignals?.(),
        false,
        'those that were lost meanwhile are not assumed to have arrived',
      )
      const assumed = watcher.next('keys')
      await t.resolves(assumed, 'all are assumed once the connection does not answer')
    },
  )

  t.test('a store assumes signals while its first connection does not answer', async (t) => {
    const gaveUp = Promise.withResolvers<string>()
    const silent = createServer((socket) => socket.resume().once('close', () => gaveUp.resolve('it gave up')))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.teardown(() => silent.close())
    const url = `postgres://nobody@127.0.0.1:${(silent.address() as AddressInfo).port}/none`
    const store = postgresStore({ ...POSTGRES_SETTINGS, url }, [])
    t.teardown(() => store.close())
    const signals: Signal[] = []
    const assumed = new Promise<Signal[]>((resolve) => {
      store.watch((signal) => {
        if (signals.push(signal) === 8) resolve(signals)
      })
    })
    const expected = ['keys', 'versions', 'events', 'numbered', 'keys', 'versions', 'events', 'numbered']
    t.strictSame(await Promise.race([assumed, gaveUp.promise]), expected)
  })

  t.test('one connection serves all listeners of a store, and is closed with the store', async (t) => {
    const { store, address } = await opened(t, kind)
    const proxy = await startProxy(t, String(address))
    const proxied = postgresStore({ ...POSTGRES_SETTINGS, url: proxy.url }, readMigrations('postgres'))
    const watchers = [await watching(proxied, kind), await watching(proxied, kind)]
    t.equal(proxy.connections(), 1)
    const signals = watchers.map((watcher) => watcher.next('keys'))
    await store.apiKeys.end(newId('apikey'), { revokedAt: at(1) })
    await t.resolves(Promise.all(signals))
    await proxied.close()
    await until('nothing is connected', () => proxy.open() === 0)
  })
}

overStores(async (t, kind) => {
  testCallers(t, kind)
  testWork(t, kind)
  testSameStore(t, kind)
  // Only PostgreSQL has a connection that listens.
  if (kind.name === 'postgres') testConnections(t, kind)
})

/** Longer than the time between two heartbeats. */
const RESTED_MS = 1_000

/** A TCP proxy in front of PostgreSQL's socket. */
const startProxy = async (t: Test, address: string) => {
  const { folder } = placeOf(address)
  const pairs: { readonly client: Socket; readonly upstream: Socket }[] = []
  let bytesSent = 0
  const server = createServer((client) => {
    const upstream = connect({ path: `${folder}/.s.PGSQL.5432` })
    client.pipe(upstream).pipe(client)
    client.on('data', ({ length }) => {
      bytesSent += length
    })
    client.on('error', () => {})
    upstream.on('error', () => {})
    pairs.push({ client, upstream })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const { client, upstream } of pairs) {
      client.destroy()
      upstream.destroy()
    }
  })
  return {
    url: `postgres://postgres@127.0.0.1:${(server.address() as AddressInfo).port}${new URL(address).pathname}`,
    /** How many connections were made so far. */
    connections: () => pairs.length,
    /** How much was sent to PostgreSQL so far. */
    bytesSent: () => bytesSent,
    /** How many connections are open now. */
    open: () => pairs.filter(({ client }) => !client.destroyed).length,
    /** Stops all traffic, in both directions, on the connections made so far. */
    silence: () => {
      for (const { client, upstream } of pairs) {
        client.unpipe(upstream).resume()
        upstream.unpipe(client).resume()
      }
    },
  }
}

/** Watches a store that already listens. */
const watching = async (store: Store, { name }: StoreKind) => {
  const watcher = watchingAtOnce(store)
  // On PostgreSQL every signal is emitted once when listening begins.
  if (name === 'postgres' && !listening.has(store)) await watcher.next('keys')
  listening.add(store)
  return watcher
}
const listening = new WeakSet<Store>()
