import t from 'tap'
import { claimOnCluster } from '../../../src/adapters/citus/claims.ts'
import { connectToNodes } from '../../../src/adapters/citus/nodes.ts'
import { type Ask, type Query, queryOver, sql } from '../../../src/adapters/citus/sql.ts'
import type { PostgresSettings } from '../../../src/adapters/postgres/open.ts'
import { NO_ANSWER_IN_TIME } from '../../../src/adapters/postgres/with-timeout.ts'
import { urlNow } from '../../../src/config/database-address.ts'
import { unavailable } from '../../../src/core/engine/failures.ts'
import { refusalOf } from '../../core/scene.ts'
import { placeOf } from '../../support/place.ts'
import { POSTGRES_SETTINGS } from '../../support/stores.ts'
import { ticks } from '../../support/ticks.ts'

const URL_OF_ONE = 'postgres://me@one:5432/pages?sslmode=require'

/** A coordinator and the workers `one`, where `DATABASE_URL` leads, and `two`, with the tenants that are named so. */
const setUp = (more: object = {}, workers: readonly string[] = []) => {
  const opened: string[] = []
  const sent: string[] = []
  const unanswered: PromiseWithResolvers<never>[] = []
  const away = new Set<string>()
  let forgetful: string | null = null
  let movedTo: string | null = null
  const connectTo = ({ url: address }: PostgresSettings) => {
    const url = urlNow(address)
    opened.push(url)
    const node = String(placeOf(url).place.host)
    const ask: Ask = async (statement) => {
      const unsafe = (text: string, [tenantId]: readonly unknown[]) => ({ text, tenantId: String(tenantId) })
      const { text, tenantId } = statement({ unsafe } as never) as never as { text: string; tenantId: string }
      if (text.includes('pg_dist_node')) {
        if (forgetful !== null && node.includes(forgetful)) throw unavailable('away')
        if (text.includes('isactive'))
          return workers.map((nodename) => ({ nodename, nodeport: 5432 })) as never
        const nodename = text.includes('pg_dist_placement')
          ? (movedTo ?? tenantId.split(' ')[0])
          : 'coordinator'
        return [{ nodename, nodeport: 5432 }] as never
      }
      sent.push(node)
      if (!away.has(node)) return [] as never
      unanswered.push(Promise.withResolvers<never>())
      return unanswered.at(-1)?.promise as never
    }
    return { ask, close: async () => {} }
  }
  const settings = { ...POSTGRES_SETTINGS, waitMsMax: 1, url: URL_OF_ONE, ...more }
  const { ask, routes } = connectToNodes(settings, connectTo)
  const readBy =
    (route: Ask) =>
    (tenantId: string | null = null) =>
      queryOver(route)(tenantId)`select 1 from pages where tenant_id = ${tenantId}`
  return {
    opened,
    sent,
    away,
    unanswered,
    moves: (node: string) => {
      movedTo = node
    },
    /** This node, or every node, no longer answers look-ups. */
    forgetsNodes: (node = '') => {
      forgetful = node
    },
    read: readBy(ask),
    readCoordinator: readBy(routes.coordinator),
    readAllTenants: readBy(routes.allTenants),
    readAnotherWorker: readBy(routes.anotherWorker),
    readCopy: (key: string) => readBy(routes.copyOf(key))(),
  }
}

t.test('a statement goes to the node of its tenant, to the coordinator, or to its own', async (t) => {
  const { opened, sent, read, readCoordinator, readAllTenants } = setUp()
  await read('two a')
  await read('one a')
  await readCoordinator()
  await read(null)
  await readAllTenants()
  await read('two b')
  t.strictSame(sent, ['two', 'one', 'coordinator', 'one', 'one', 'two'])
  const hosts = ['two', 'one', 'coordinator'].map((host) => `&host=${host}&port=5432`)
  t.strictSame(
    opened,
    ['', ...hosts].map((host) => `${URL_OF_ONE}${host}`),
  )
})

t.test('a copy is on the node of its key', async (t) => {
  const { sent, readCopy } = setUp()
  for (const key of ['two a', 'one a']) await readCopy(key)
  t.strictSame(sent, ['two', 'one'])
})

t.test('whichever other worker answers first shows that this one is not cut off', async (t) => {
  const { sent, away, unanswered, readAnotherWorker } = setUp({}, ['two', 'three'])
  away.add('two')
  await readAnotherWorker()
  t.strictSame(sent, ['two', 'three'])
  away.add('three')
  const refused = t.rejects(readAnotherWorker())
  await ticks()
  for (const { reject } of unanswered) reject(unavailable('away'))
  await refused
  const alone = setUp()
  await alone.readAnotherWorker()
  t.strictSame(alone.sent, ['one'], 'without another worker nobody can tell')
})

t.test('behind a pooler every node is reached through it', async (t) => {
  const { opened, read } = setUp({ pooler: { directUrl: null } })
  for (const tenantId of ['two a', 'one a']) await read(tenantId)
  t.strictSame(opened, [URL_OF_ONE, URL_OF_ONE, URL_OF_ONE], 'by connections of its own')
})

t.test('while its node cannot be looked up, a tenant is believed to be where it was', async (t) => {
  const { sent, read, forgetsNodes } = setUp()
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  await read('two a')
  forgetsNodes()
  for (let minutes = 2; minutes < 6; minutes += 2) {
    performance.now = () => now.call(performance) + minutes * 60_000
    await read('two a')
  }
  t.strictSame(sent, ['two', 'two', 'two'])
  t.match(await refusalOf(read('two b')), { kind: 'unavailable' })
})

t.test('while its own node is away, nodes are looked up at any other that is known', async (t) => {
  const { sent, read, readCopy, readAnotherWorker, forgetsNodes } = setUp({}, ['three'])
  await read('two a')
  forgetsNodes('one')
  await read('three a')
  await readCopy('three b')
  await readAnotherWorker()
  t.strictSame(sent.slice(0, 3), ['two', 'three', 'three'])
  t.strictSame(sent.slice(3).sort(), ['three', 'two'], 'none of the copies is of the node that is away')
})

t.test('a second after a node could not answer, it is looked up where its tenant is now', async (t) => {
  const { sent, away, unanswered, moves, read } = setUp()
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  away.add('two')
  const refused = refusalOf(read('two a'))
  await ticks()
  moves('three')
  unanswered.pop()?.reject(unavailable('away'))
  await refused
  performance.now = () => now.call(performance) + 1_000
  await read('two a')
  t.strictSame(sent, ['two', 'three'])
})

t.test('once a node was silent, one statement at a time tries it until one succeeds', async (t) => {
  const { sent, away, unanswered, read } = setUp()
  away.add('two')
  const first = refusalOf(read('two a'))
  await ticks()
  unanswered.pop()?.reject(unavailable(NO_ANSWER_IN_TIME))
  await first
  const trying = read('two a')
  await ticks()
  t.match(await refusalOf(read('two b')), { kind: 'unavailable' })
  await read('one a')
  t.strictSame(sent, ['two', 'two', 'one'])
  away.clear()
  unanswered.pop()?.resolve([] as never)
  await trying
  await Promise.all([read('two a'), read('two b')])
  t.equal(sent.length, 5)
})

t.test('only one statement for all tenants is in flight', async (t) => {
  const { sent, away, readAllTenants } = setUp()
  away.add('one')
  void readAllTenants()
  t.match(await refusalOf(readAllTenants()), { kind: 'unavailable' })
  t.strictSame(sent, ['one'])
})

t.test('what is claimed when the next look fails is not lost', async (t) => {
  let looks = 0
  const query: Query = (tenantId) => async () => {
    if (tenantId === 'a') return [{ tenantId }] as never
    if (looks++ > 0) throw unavailable('away')
    return [{ tenantId: 'a', count: 1 }] as never
  }
  const part = sql`true`
  const parts = { table: part, key: part, isClaimed: part, counted: part, answered: part }
  const claim = claimOnCluster(
    { query, briefQuery: query, briefQueryOfAll: query },
    { ...parts, isClaimable: () => part },
  )
  const want = { now: '', until: '', horizon: '', afterTenantId: '', max: 9 }
  t.strictSame(await claim(want), [{ tenantId: 'a' }])
  t.match(await refusalOf(claim(want)), { kind: 'unavailable' })
})
