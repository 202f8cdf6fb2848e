import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type ApiOptions, createApi } from '../../src/entry/http.ts'
import { createService, SCOPES, type Store } from '../../src/entry/index.ts'
import { memoryStore } from '../../src/entry/memory.ts'
import { chatCompletionsNamer, type Namer } from '../../src/entry/naming.ts'
import { createPublisher } from '../../src/entry/publisher.ts'
import { sqliteStore } from '../../src/entry/sqlite.ts'
import { caller, failing } from '../support/api.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import { stoppedClock } from '../support/setting.ts'

t.test('on a Node that is too old, the library says which one it needs', async (t) => {
  for (const entry of ['index', 'http', 'publisher']) {
    const script = `delete Promise.withResolvers; await import('${sourceUrl(`entry/${entry}.ts`)}')`
    await t.rejects(runChild(script), /prospect-pages needs Node 22\.13 or newer\./, entry)
  }
})

/** A store with a tenant, its key and a page group, and an API over it. */
const embedded = async (options: Partial<ApiOptions> = {}, store: Store = memoryStore()) => {
  const service = createService({ store })
  await store.migrate()
  const { tenantId } = await service.createTenant({ name: 'a tenant' })
  const { value: pageGroup } = await service.createPageGroup({ tenantId, name: 'offers', title: 'Offers' })
  const { pageGroupId } = pageGroup
  const key = await service.issueApiKey({ tenantId, scopes: SCOPES })
  const api = createApi({ store, ...options })
  return { store, service, ...key, tenantId, pageGroupId, call: caller(api, key.apiKey) }
}

const ACTIVITY = { source: 'crm', payload: {} }

t.test('the API works over any store, and reports each request', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = sqliteStore({ path: join(folder, 'a.db') })
  t.teardown(() => file.close())
  for (const store of [memoryStore(), file]) {
    const reported: unknown[] = []
    const { call } = await embedded({ onAnswered: (answered) => reported.push(answered) }, store)
    t.equal((await call('POST /v0/prospect_logs', { json: ACTIVITY })).status, 201)
    t.match(reported, [{ route: '/v0/prospect_logs', status: 201, code: null }])
    t.equal((await call('GET /readyz')).status, 200)
  }
})

t.test('an option that is missing or undefined has the default of the service', async (t) => {
  const defaults = await embedded({ requireIdentity: undefined, rateLimitPerMinute: undefined })
  t.equal((await defaults.call('POST /v0/prospect_logs', { json: ACTIVITY })).status, 201)
  const strict = await embedded({ requireIdentity: true, rateLimitPerMinute: 1 })
  t.equal((await strict.call('POST /v0/prospect_logs', { json: ACTIVITY })).status, 400)
  t.equal((await strict.call('GET /v0/page_groups')).json['code'], 'rate_limited')
  const clock = stoppedClock()
  const { call } = await embedded({ clock })
  const { json } = await call('POST /v0/prospect_logs', { json: ACTIVITY })
  t.equal(json['createdAt'], '2026-01-01T00:00:00.000Z')
})

t.test('failed authentications of an address are limited, unless the limit is turned off', async (t) => {
  const wrong = { key: 'wrong', address: '192.0.2.1' }
  const limited = await embedded({ failedAuthPerMinute: 1 })
  t.equal((await limited.call('GET /v0/page_groups', wrong)).status, 401)
  t.equal((await limited.call('GET /v0/page_groups', wrong)).status, 429)
  t.equal((await limited.call('GET /v0/page_groups', { address: '192.0.2.1' })).status, 200)
  const free = await embedded({ failedAuthPerMinute: null })
  for (let i = 0; i < 100; i++) t.equal((await free.call('GET /v0/page_groups', wrong)).status, 401)
})

t.test('a revoked key is refused once it is looked up again', async (t) => {
  const { call, apiKeyId, service } = await embedded()
  t.equal((await call('GET /v0/page_groups')).status, 200)
  await service.revokeApiKey(apiKeyId)
  while ((await call('GET /v0/page_groups')).status === 200);
  t.equal((await call('GET /v0/page_groups')).json['code'], 'invalid_api_key')
})

t.test('a fault of the store is reported, and by default printed', async (t) => {
  const store = memoryStore()
  const broken = { ...store, pageGroups: failing(store.pageGroups, new Error('a bug')) }
  const reported: unknown[] = []
  const { apiKey } = await embedded({}, store)
  const call = caller(createApi({ store: broken, onError: (error) => reported.push(error) }), apiKey)
  t.equal((await call('GET /v0/page_groups')).status, 500)
  t.match(reported, [{ message: 'a bug' }])
  const printed = t.capture(console, 'error', () => {})
  const answer = await caller(createApi({ store: broken }), apiKey)('GET /v0/page_groups')
  t.match(
    printed().map(({ args }) => args),
    [[answer.headers['x-request-id'], { message: 'a bug' }]],
  )
})

t.test('the publisher publishes pending versions, and new ones when the store notifies it', async (t) => {
  const { call, store, pageGroupId } = await embedded()
  const publisher = createPublisher({ store, pollMs: 600_000 })
  t.teardown(publisher.stop)
  const create = async () => (await call(`POST /v0/page_groups/${pageGroupId}/pages`)).json['pageId']
  const published = async (pageId: unknown) => {
    const read = `GET /v0/page_groups/${pageGroupId}/pages/${pageId}`
    while ((await call(read)).json['publishedVersion'] === null);
    return true
  }
  const waiting = await create()
  publisher.start()
  t.ok(await published(waiting))
  t.ok(await published(await create()))
})

t.test('pages that the process of the publisher creates are published without a claim', async (t) => {
  const store = memoryStore()
  let claimed = 0
  const claim: typeof store.versions.claim = async (query) => {
    const versions = await store.versions.claim(query)
    claimed += versions.length
    return versions
  }
  const { service, pageGroupId, tenantId } = await embedded({}, store)
  const publisher = createPublisher({ store: { ...store, versions: { ...store.versions, claim } } })
  t.teardown(publisher.stop)
  publisher.start()
  const page = { tenantId, pageGroupId, customName: 'Mine' }
  const created = await Promise.all([1, 2, 3].map(() => service.createPageWithVersion(page)))
  for (const { value } of created) t.ok((await service.published(value)).value.publishedVersion)
  t.equal(claimed, 0)
})

t.test('the publisher calls the namer, and reports each failed call', async (t) => {
  const { call, store, pageGroupId } = await embedded()
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const publisher = createPublisher({
    store,
    namer: chatCompletionsNamer({ url: 'http://127.0.0.1:1', model: 'm' }),
    onFailedAttempt: ({ attempt }, why, retryInMs) => resolve({ attempt, why, retryInMs }),
  })
  t.teardown(publisher.stop)
  publisher.start()
  await call(`POST /v0/page_groups/${pageGroupId}/pages`)
  t.match(await promise, { attempt: 1, why: { message: /fetch failed|bad port/ }, retryInMs: 625 })
})

t.test('naming ends when its patience does, and when the publisher stops', async (t) => {
  const { call, store, pageGroupId } = await embedded()
  let failed = Promise.withResolvers<unknown>()
  const asked = Promise.withResolvers<void>()
  const publisher = (namerPatienceMs: number, namer: Namer) =>
    createPublisher({
      store,
      namer,
      namerPatienceMs,
      onFailedAttempt: (_version, why) => failed.resolve(why),
    })
  const throwing = publisher(600_000, () => {
    throw new Error('at once')
  })
  throwing.start()
  await call(`POST /v0/page_groups/${pageGroupId}/pages`)
  t.match(await failed.promise, { message: 'at once' })
  await throwing.stop()
  failed = Promise.withResolvers<unknown>()
  const hasty = publisher(1, () => new Promise(() => {}))
  hasty.start()
  await call(`POST /v0/page_groups/${pageGroupId}/pages`)
  t.match(await failed.promise, { message: /^no name came within \d+ ms$/ })
  await hasty.stop()
  const patient = publisher(600_000, () => {
    asked.resolve()
    return new Promise(() => {})
  })
  patient.start()
  await call(`POST /v0/page_groups/${pageGroupId}/pages`)
  await asked.promise
  await patient.stop()
})

t.test('any other failure of the publisher is reported', async (t) => {
  const { store } = await embedded()
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const broken = { ...store, versions: failing(store.versions, new Error('away')) }
  const publisher = createPublisher({ store: broken, onError: resolve })
  t.teardown(publisher.stop)
  publisher.start()
  t.match(await promise, { message: 'away' })
})
