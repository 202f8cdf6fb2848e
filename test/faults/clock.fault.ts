import type { Test } from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { createLog } from '../../src/adapters/log.ts'
import { compose } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { createPageGroup } from '../../src/core/pages/create-page-group.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { revokeApiKey } from '../../src/core/tenants/revoke-api-key.ts'
import { walk, walkFaults } from '../store-contract/walk.ts'
import { caller } from '../support/api.ts'
import { until } from '../support/program.ts'
import { addTenant } from '../support/rows.ts'
import { START_MS } from '../support/setting.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** One call to the namer at a time. */
const HELD_UP = { NAMER_URL: 'http://127.0.0.1:1', NAMER_MODEL: 'small', NAMER_CALLS_MAX: '1' }
type Ided = { readonly pageId: string }

/** The whole service but its socket, on a running clock that can be set, as the system's can. */
const setting = async (t: Test, kind: StoreKind, environment: Record<string, string> = {}) => {
  const { store, another } = await opened(t, kind)
  let offsetMs = START_MS - Date.now()
  const now = Date.now.bind(Date)
  const clock = () => now() + offsetMs
  t.intercept(Date, 'now', { value: clock })
  const newId = createNewId()
  const config = readConfig({ DATABASE_URL: 'memory:', PUBLISHER_POLL_MS: '50', ...environment })
  const service = compose(config, { store, clock, newId, log: createLog('silent') })
  await service.start()
  t.teardown(() => service.close())
  const deps = { store, clock, newId }
  const { tenantId } = await addTenant(store)
  const newKey = (lifeMs: number | null) =>
    issueApiKey(deps)({ tenantId, name: null, scopes: SCOPES, lifeMs })
  const { apiKey } = await newKey(null)
  const { pageGroup } = await createPageGroup(deps)({ tenantId, name: 'offers', title: 'Offers' })
  const { pageGroupId } = pageGroup
  const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
  const call = caller(service.api, apiKey)
  return {
    store: store as Store,
    another,
    clock,
    newKey,
    call,
    callWith: (key: string) => caller(service.api, key),
    /** Moves the clock; less than nothing sets it back. */
    move: (ms: number) => {
      offsetMs += ms
    },
    pagesPath,
    create: async (): Promise<string> => {
      const { status, json } = await call(`POST ${pagesPath}`)
      t.equal(status, 201)
      return String(json['pageId'])
    },
    publishedOf: async (pageId: string) =>
      (await call(`GET ${pagesPath}/${pageId}`)).json['publishedVersion'] as { publishedAt: string } | null,
    sliceAfter: async (cursor: string | undefined) => {
      const query = cursor === undefined ? '' : `&cursor=${cursor}`
      const { status, json } = await call(`GET ${pagesPath}?limit=7${query}`)
      t.equal(status, 200)
      return json as { items: Ided[]; hasMore: boolean; nextCursor?: string }
    },
  }
}
const pageIdOf = ({ pageId }: Ided) => pageId

overStores(async (t, kind) => {
  t.test('the clock is set back while pages are made and walked over', async (t) => {
    const { create, move, sliceAfter } = await setting(t, kind)
    const made: string[] = []
    for (let i = 0; i < 30; i++) made.push(await create())
    const throughout = [...made]
    const ids = await walk(async (cursor) => {
      if (cursor !== undefined) move(-HOUR_MS / 5)
      for (let i = 0; i < 3; i++) made.push(await create())
      return sliceAfter(cursor)
    }, pageIdOf)
    t.strictSame(walkFaults(ids, throughout), [])
    t.strictSame(await walk(sliceAfter, pageIdOf), made.toReversed(), 'newest first, in the order of making')
  })

  t.test('another process starts after the clock was set back, and makes pages', async (t) => {
    const { call, create, move, pagesPath, sliceAfter, clock, store } = await setting(t, kind)
    const throughout: string[] = []
    for (let i = 0; i < 30; i++) throughout.push(await create())
    move(-HOUR_MS)
    const config = readConfig({ DATABASE_URL: 'memory:' })
    const other = compose(config, { store, clock, newId: createNewId(), log: createLog('silent') })
    const [{ tenantId = '', pageGroupId = '' } = {}] = (await call(`GET ${pagesPath}?limit=1`)).json[
      'items'
    ] as { tenantId: string; pageGroupId: string }[]
    const later: string[] = []
    const ids = await walk(async (cursor) => {
      later.push((await other.useCases.createPageWithVersion({ tenantId, pageGroupId })).page.pageId)
      return sliceAfter(cursor)
    }, pageIdOf)
    t.strictSame(walkFaults(ids, throughout), [])
    t.strictSame(walkFaults(await walk(sliceAfter, pageIdOf), [...throughout, ...later]), [])
  })

  t.test(
    'pages made after the clock was set back are published, and not before they were made',
    async (t) => {
      const { create, move, publishedOf } = await setting(t, kind)
      const before = await create()
      await until('the first is published', () => publishedOf(before))
      move(-HOUR_MS)
      for (let i = 0; i < 5; i++) {
        const pageId = await create()
        const { publishedAt } = await until('it is published', () => publishedOf(pageId))
        t.ok(publishedAt < new Date(START_MS).toISOString(), 'by the clock as it is')
      }
    },
  )

  t.test(
    'what waits to be published when the clock is set back does not wait for it to catch up',
    async (t) => {
      const { clock, create, move, publishedOf } = await setting(t, kind, HELD_UP)
      const naming = Promise.withResolvers<string>()
      let named = 0
      t.intercept(globalThis, 'fetch', {
        value: async () => {
          if (++named === 1) return naming.promise.then(() => Promise.reject(new Error('no model today')))
          return Response.json({ choices: [{ message: { content: 'Well named' } }] })
        },
      })
      const first = await create()
      await until('it is being named', () => named === 1)
      const second = await create()
      move(-HOUR_MS)
      naming.resolve('')
      for (const pageId of [second, first]) {
        const { publishedAt } = await until('it is published', () => publishedOf(pageId))
        t.ok(publishedAt <= new Date(clock()).toISOString(), 'by the clock as it is')
      }
    },
  )

  t.test('keys end by the clock, and are revoked at once whatever it shows', async (t) => {
    const { another, callWith, clock, move, newKey } = await setting(t, kind)
    const status = async (key: string) => (await callWith(key)('GET /v0/page_groups')).status
    const [ending, revoked] = [await newKey(30 * MINUTE_MS), await newKey(null)]
    for (const { apiKey } of [ending, revoked]) t.equal(await status(apiKey), 200)
    move(-HOUR_MS)
    for (const { apiKey } of [ending, revoked]) t.equal(await status(apiKey), 200, 'it is remembered')
    const elsewhere = await another()
    await revokeApiKey({ store: elsewhere, clock })(revoked.apiKeyId)
    await until('the revoked key is refused', async () => (await status(revoked.apiKey)) === 401, {
      tries: 80,
    })
    t.equal(await status(ending.apiKey), 200)
    move(2 * HOUR_MS)
    t.equal(await status(ending.apiKey), 401, 'its end has come')
    move(-HOUR_MS)
    t.equal(await status(revoked.apiKey), 401)
  })

  t.test('a caller that has used up its rate is not locked out by a clock set back', async (t) => {
    const { call, move } = await setting(t, kind, { RATE_LIMIT_PER_MINUTE: '60' })
    await until('it is limited', async () => (await call('GET /v0/page_groups')).status === 429, {
      tries: 200,
      pauseMs: 0,
    })
    move(-HOUR_MS)
    await t.resolves(
      until('it is answered', async () => (await call('GET /v0/page_groups')).status === 200, {
        tries: 50,
        pauseMs: 100,
      }),
    )
  })
})
