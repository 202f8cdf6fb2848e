import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createApi } from '../../src/entry/http.ts'
import { createService, DomainFailure, memoryStore } from '../../src/entry/index.ts'
import { startBackground } from '../../src/entry/publisher.ts'
import type { SmallStore } from '../../src/entry/store.ts'
import * as core from '../../src/entry/use-cases.ts'
import { smallStore } from '../store-contract/small-store.ts'

type MapStore = SmallStore & { readonly addPageGroup: (group: object) => unknown }

/** The store on Maps of the guide, as an embedder pastes it. */
const mapStoreOf = async (t: Test): Promise<() => MapStore> => {
  const guide = readFileSync(new URL('../../docs/library.md', import.meta.url), 'utf8')
  const [, text = ''] = /```js\n(\/\/ map-store\.mjs\n[\s\S]*?)```/.exec(guide) ?? []
  const file = join(t.testdir({ 'map-store.mjs': text }), 'map-store.mjs')
  return (await import(file)).mapStore
}

t.test('the store on Maps of the guide passes the contract of small stores', async (t) => {
  const mapStore = await mapStoreOf(t)
  smallStore(core, {
    test: (title, body) =>
      t.test(title, async (t) => {
        await body()
        t.pass('no assertion failed')
      }),
    openStore: () => {
      const store = mapStore()
      return { store, addPageGroup: store.addPageGroup }
    },
  })
})

const GROUP = { tenantId: 'acme', pageGroupId: 'pagegroup_00000000000000000000000001', title: 'Offers' }
const SCOPES = ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write'] as const

const setUp = async (t: Test) => {
  const store = (await mapStoreOf(t))()
  store.addPageGroup(GROUP)
  const api = createApi({
    store,
    background: 'elsewhere',
    authenticate: ({ headers }) => {
      if (headers['authorization'] === 'broken') return {} as never
      return headers['authorization'] === 'acme' ? { tenantId: 'acme', scopes: SCOPES } : null
    },
  })
  const call = async (method: string, target: string, json?: object, authorization = 'acme') => {
    const bytes = Buffer.from(JSON.stringify(json ?? {}))
    const { status, body } = await api({
      method,
      target,
      headers: { authorization, 'content-type': 'application/json', 'content-length': String(bytes.length) },
      body: json && { bytesMax: 1e6, batchBytesMax: 1e6, read: async () => bytes },
    })
    return { status, json: JSON.parse(String(body)) }
  }
  return { store, call }
}

t.test('a small store serves the five operations over HTTP, to callers whom a function names', async (t) => {
  const { store, call } = await setUp(t)
  const background = startBackground({ store, pollMs: 10 })
  t.teardown(background.stop)
  const pages = '/v0/page_groups/pagegroup_00000000000000000000000001/pages'
  t.match(await call('POST', '/v0/prospect_logs', { source: 'crm', email: 'ada@example.com', payload: {} }), {
    status: 201,
    json: { createdProspect: true },
  })
  t.match(await call('GET', '/v0/page_groups'), { status: 200, json: { items: [GROUP] } })
  const { status, json: page } = await call('POST', pages, { content: { n: 1 } })
  t.equal(status, 201)
  t.match(await call('GET', pages), { status: 200, json: { items: [{ pageId: page.pageId }] } })
  const service = createService({ store })
  await service.published({
    tenantId: 'acme',
    pageGroupId: 'pagegroup_00000000000000000000000001',
    pageId: page.pageId,
  })
  t.match(await call('GET', `${pages}/${page.pageId}`), {
    status: 200,
    json: { effectiveName: 'Offers 1', publishedVersion: { content: { n: 1 } } },
  })
})

t.test('callers whom the function does not name get 401, and its mistakes are 500', async (t) => {
  const { call } = await setUp(t)
  t.match(await call('GET', '/v0/page_groups', undefined, 'eve'), {
    status: 401,
    json: { detail: 'The request is not authenticated.' },
  })
  const errors = t.capture(console, 'error')
  t.equal((await call('GET', '/v0/page_groups', undefined, 'broken')).status, 500)
  t.match(
    String(errors()[0]?.args[1]),
    /authenticate must return null, or a tenantId and an array of scopes\./,
  )
})

t.test('operations whose part is missing are absent from the routes and the document', async (t) => {
  const { call } = await setUp(t)
  for (const path of ['/v0/prospects', '/v0/events', '/v0/erasures', '/v0/api_keys/self', '/hooks/hook_1'])
    t.equal((await call('GET', path)).status, 404, path)
  const { json } = await call('GET', '/openapi.json')
  const offered = Object.values<object>(json.paths).flatMap((methods) =>
    Object.values<{ operationId: string }>(methods as never).map(({ operationId }) => operationId),
  )
  t.strictSame(offered.toSorted(), [
    'createPageWithVersion',
    'deletePage',
    'getPage',
    'getPageGroup',
    'getVersion',
    'listPageGroups',
    'listPages',
    'listVersions',
    'logProspectActivities',
    'logProspectActivity',
  ])
})

t.test('operations whose part is missing refuse when they are called, and so does `publishAt`', async (t) => {
  const { store } = await setUp(t)
  const service = createService({ store, background: 'elsewhere' })
  const why = await service.getProspect({ tenantId: 'acme', prospectId: 'prospect_1' }).catch((why) => why)
  t.ok(why instanceof DomainFailure)
  t.match(why, { kind: 'not_found', message: 'The store has no `prospects`, which `getProspect` needs.' })
  const { tenantId, pageGroupId } = GROUP
  const publishAt = new Date(Date.now() + 1e6)
  const refused = await service
    .createPageWithVersion({ tenantId, pageGroupId, publishAt })
    .catch((why) => why)
  t.match(refused, { kind: 'invalid_request', facts: { errors: [{ pointer: '/publishAt' }] } })
})

t.test('what is no operation refuses, too, if its part is missing', async (t) => {
  const { store } = await setUp(t)
  const service = createService({ store, background: 'elsewhere' })
  const calls = [
    service.createTenant({ name: 'Acme' }),
    service.issueApiKey({ tenantId: 'acme', scopes: ['pages:read'] }),
    service.listApiKeys('acme'),
    service.revokeApiKey('apikey_1'),
    service.rotateApiKey('apikey_1'),
    service.receiveHook({ hookId: 'hook_1', headers: {}, body: '{}' }),
  ]
  for (const call of calls) t.match(await call.catch((why) => why), { kind: 'not_found' })
})

t.test(
  'parts bring operations only with the verbs that these need, and their work in the background',
  async (t) => {
    const { activities, pageGroups, pages, versions, tenants, erasures, webhooks, prospects } = memoryStore()
    const { list, find } = pageGroups
    const store = {
      activities,
      pageGroups: { list, find },
      pages,
      versions,
      tenants,
      erasures,
      webhooks,
      prospects,
    }
    const service = createService({ store, background: 'elsewhere' })
    const { tenantId } = await service.createTenant({ name: 'Acme' })
    const calls = [
      service.createPageGroup({ tenantId, name: 'a', title: 'A' }),
      service.eraseProspect({ tenantId, email: 'ada@example.com' }),
      service.createWebhookEndpoint({ tenantId, url: 'https://example.com' }),
      service.listEvents({ tenantId }),
    ]
    for (const call of calls) t.match(await call.catch((why) => why), { kind: 'not_found' })
  },
)

t.test(
  'a caller of a tenant that is unknown, deleted or suspended is refused, if the store keeps tenants',
  async (t) => {
    const store = memoryStore()
    const { tenantId } = await createService({ store }).createTenant({ name: 'Acme' })
    const now = '2026-01-01T00:00:00.000Z'
    const callAs = async (tenantId: string) => {
      const api = createApi({ store, authenticate: () => ({ tenantId, scopes: ['page_groups:read'] }) })
      const { status } = await api({ method: 'GET', target: '/v0/page_groups', headers: {} })
      api.close()
      return status
    }
    t.equal(await callAs(tenantId), 200)
    t.equal(await callAs('tenant_1'), 401)
    await store.tenants.setState(tenantId, { suspendedAt: now, deletedAt: null })
    t.equal(await callAs(tenantId), 403)
    await store.tenants.setState(tenantId, { suspendedAt: now, deletedAt: now })
    t.equal(await callAs(tenantId), 401)
  },
)

t.test('a store without API keys needs a function that tells who calls', async (t) => {
  const store = (await mapStoreOf(t))()
  t.throws(() => createApi({ store }), { message: 'authenticate is required: the store has no apiKeys.' })
})

t.test('waiting for a page ends with its version, or after the time', async (t) => {
  const store = memoryStore()
  const service = createService({ store, background: 'elsewhere' })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const { value: group } = await service.createPageGroup({ tenantId, name: 'offers', title: 'Offers' })
  const { pageGroupId } = group
  const { value: page } = await service.createPageWithVersion({ tenantId, pageGroupId, publish: false })
  t.match(await service.published(page, { timeoutMs: 1 }).catch((why) => why), { kind: 'unavailable' })
  const waiting = service.published(page)
  const background = startBackground({ store })
  t.teardown(background.stop)
  t.match(await waiting, {
    value: { latestVersion: { status: 'ready' }, publishedVersion: null },
    revision: 2,
  })
  for (const given of [{ timeoutMs: '5s' }, { timeoutMs: Number.NaN }, { timeout: 5 }])
    t.match(await service.published(page, given as never).catch((why) => why), { kind: 'invalid_request' })
  t.match(await service.published({} as never).catch((why) => why), { kind: 'invalid_request' })
  const missing = service.published({ ...page, pageId: 'page_1' })
  t.match(await missing.catch((why) => why), { kind: 'page_not_found' })
})
