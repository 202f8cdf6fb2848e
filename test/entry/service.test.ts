import t from 'tap'
import { OPTIONS } from '../../src/config/check-options.ts'
import { publishVersions } from '../../src/core/pages/publish-versions.ts'
import { newApiKeyText } from '../../src/core/tenants/api-key-text.ts'
import { createFetchHandler, type FetchOptions } from '../../src/entry/fetch.ts'
import { type ApiOptions, createApi, createHandler, type HandlerOptions } from '../../src/entry/http.ts'
import {
  createService,
  DomainFailure,
  memoryStore,
  SCOPES,
  type Service,
  type WebhookOptions,
} from '../../src/entry/index.ts'
import { type ChatCompletionsSettings, chatCompletionsNamer } from '../../src/entry/naming.ts'
import { migrate, postgresStore } from '../../src/entry/postgres.ts'
import {
  createEraser,
  createPublisher,
  createWebhooks,
  type EraserOptions,
  type PublisherOptions,
  startBackground,
  type WebhooksOptions,
} from '../../src/entry/publisher.ts'
import { type SqliteOptions, sqliteStore } from '../../src/entry/sqlite.ts'
import { createCheckInput } from '../../src/service/check-input.ts'
import type { Operation } from '../../src/service/operations/operation.ts'
import { operations } from '../../src/service/operations/operations.ts'
import { inTenant } from '../../src/shapes/input.ts'
import { caller } from '../support/api.ts'
import { countedIds, stoppedClock } from '../support/setting.ts'

/** A service over a store in memory, with a tenant and a page group. */
const opened = async (options: { requireIdentity?: boolean } = {}) => {
  const deps = { store: memoryStore(), clock: stoppedClock(), newId: countedIds() }
  const service = createService({ ...deps, ...options })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const { value: pageGroup } = await service.createPageGroup({ tenantId, name: 'offers', title: 'Offers' })
  const { pageGroupId } = pageGroup
  const activity = { tenantId, source: 'crm', payload: { rawJson: '{ "a": 1.0 }' } }
  return { ...deps, service, tenantId, pageGroupId, activity }
}
const refusalOf = async (call: Promise<unknown>): Promise<DomainFailure> => {
  const why = await call.then(
    () => new Error('nothing was refused'),
    (why: unknown) => why,
  )
  if (!(why instanceof DomainFailure)) throw why
  return why
}

t.test(
  'an unknown member of a change is refused; of an activity it is ignored; beside ids it may be anything',
  async (t) => {
    const { service, tenantId, pageGroupId, activity } = await opened()
    const why = await refusalOf(
      service.createPageWithVersion({ tenantId, pageGroupId, ...{ publsh: false } }),
    )
    t.strictSame(why.facts.errors, [
      { detail: 'is not a known member; did you mean `publish`?', pointer: '/publsh' },
    ])
    const near = { ...activity, emial: 'ada@example.com' }
    t.strictSame((await service.logProspectActivity(near)).value.ignored, ['emial'])
    const { value: page } = await service.createPageWithVersion({ tenantId, pageGroupId })
    t.equal((await service.getPage(page)).value.pageId, page.pageId)
    t.match(await service.logProspectActivities([near]), [{ replayed: false }])
  },
)

t.test('everything about a person comes line by line', async (t) => {
  const { service, tenantId, activity } = await opened()
  const { prospectId } = (await service.logProspectActivity(activity)).value
  const lines: object[] = []
  const { value: exported } = await service.exportProspect({ tenantId, prospectId })
  for await (const line of exported) lines.push(line)
  t.match(lines, [
    { prospect: { prospectId } },
    { prospectLog: { payload: activity.payload } },
    { done: true, logs: 1 },
  ])
  t.equal((await refusalOf(service.exportProspect({ tenantId, prospectId: 'x' }))).kind, 'prospect_not_found')
})

t.test('every operation works, and the API answers the same', async (t) => {
  const { service, store, clock, tenantId, pageGroupId, activity } = await opened()
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  const call = caller(createApi({ store, clock }), apiKey)

  const logged = await service.logProspectActivity({ ...activity, idempotencyKey: 'k' })
  t.match(logged, { value: { type: 'webhook', createdProspect: true }, replayed: false })
  t.strictSame(await service.logProspectActivity({ ...activity, idempotencyKey: 'k' }), {
    value: logged.value,
    replayed: true,
  })
  t.equal(store.kept.logs()[0]?.payload.rawJson, '{ "a": 1.0 }')

  const { value: page } = await service.createPageWithVersion({ tenantId, pageGroupId, customName: 'Spring' })
  await service.createPageWithVersion({ tenantId, pageGroupId })
  const path = `/v0/page_groups/${pageGroupId}/pages`
  const read = await service.getPage({ tenantId, pageGroupId, pageId: page.pageId })
  const answer = await call(`GET ${path}/${page.pageId}`)
  t.strictSame([read.value, `"r${read.revision}"`], [answer.json, answer.headers['etag']])
  const { value: slice } = await service.listPages({ tenantId, pageGroupId, limit: 1 })
  t.strictSame(slice, (await call(`GET ${path}?limit=1`)).json)
  const next = { tenantId, pageGroupId, cursor: slice.nextCursor }
  t.match((await service.listPages(next)).value, { items: [{ customName: 'Spring' }], hasMore: false })
  t.match(await service.listPageGroups({ tenantId }), {
    value: { items: [{ pageGroupId, pagesCount: 2 }], limit: 20 },
  })
  t.match((await service.listPageGroups({ tenantId, status: 'archived' })).value, { items: [] })
})

t.test('a page group, a page and its versions are changed by hand, for a revision if given', async (t) => {
  const { service, store, clock, tenantId } = await opened()
  const publisher = publishVersions({
    store,
    clock,
    newId: countedIds(),
    namer: null,
    claimMax: 10,
    leaseMs: 1_000,
  })
  const creation = { tenantId, name: 'a', title: 'A', idempotencyKey: 'k' }
  const { value: pageGroup } = await service.createPageGroup(creation)
  t.match(await service.createPageGroup(creation), { value: pageGroup, revision: 1, replayed: true })
  const group = { tenantId, pageGroupId: pageGroup.pageGroupId }
  const titled = await service.updatePageGroup({ ...group, title: 'B', ifRevision: [1] })
  t.match(titled, { value: { title: 'B' }, revision: 2 })
  t.strictSame(await service.getPageGroup(group), titled)
  const late = await refusalOf(service.updatePageGroup({ ...group, title: 'C', ifRevision: [1] }))
  t.match(late, { kind: 'precondition_failed', facts: { revision: 2 } })

  const content = { rawJson: '{ "a": 1.0 }' }
  const { pageId } = (await service.createPageWithVersion({ ...group, content })).value
  const page = { ...group, pageId }
  await publisher(AbortSignal.any([]))
  t.match(await service.getPage(page), { value: { publishedVersion: { content } }, revision: 2 })
  const { versionId } = (await service.createVersion({ ...page, content: null, publish: false })).value
  t.match((await service.getVersion({ ...page, versionId })).value, { status: 'processing', content: null })
  await publisher(AbortSignal.any([]))
  const statuses = (await service.listVersions(page)).value.items.map(({ status }) => status)
  t.strictSame(statuses, ['ready', 'published'])
  const { revision, ...published } = await service.publishVersion({ ...page, versionId })
  t.match(published, { value: { publishedVersion: { versionId, content: undefined } } })
  const unpublished = await service.unpublishPage({ ...page, ifRevision: [revision] })
  t.match(unpublished, { value: { publishedVersion: null }, revision: revision + 1 })
  t.match(await service.updatePage({ ...page, customName: 'C' }), { value: { effectiveName: 'C' } })
  t.equal((await refusalOf(service.deletePage({ ...page, ifRevision: [1] }))).kind, 'precondition_failed')
  await service.deletePage(page)
  t.equal((await refusalOf(service.getPage(page))).kind, 'page_not_found')
  await service.deletePageGroup(group)
  t.equal((await refusalOf(service.getPageGroup(group))).kind, 'page_group_not_found')
})

t.test('faults are those of HTTP, all at once', async (t) => {
  const { service, store, tenantId, activity } = await opened()
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  const call = caller(createApi({ store }), apiKey)
  const wrong = {
    source: '',
    type: 'x'.repeat(101),
    email: 'a\0',
    prospectId: 'x',
    name: 5,
    idempotencyKey: '',
  }
  const refused = await refusalOf(service.logProspectActivity({ ...activity, ...wrong } as never))
  t.equal(refused.kind, 'invalid_request')
  t.match(refused.message, /^Invalid input: \/source must be 1 to 100 characters long; \/type /)
  const answer = await call('POST /v0/prospect_logs', { json: { ...wrong, payload: {} } })
  t.strictSame(refused.facts.errors, answer.json['errors'])
  const list = await refusalOf(service.listPageGroups({ tenantId, limit: 1.5, status: 'gone' } as never))
  t.strictSame(list.facts.errors, (await call('GET /v0/page_groups?limit=1.5&status=gone')).json['errors'])
  t.strictSame(store.kept.logs(), [])
})

const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
t.test('invalid input is refused by kind and pointer, and nothing is stored', async (t) => {
  const { service, store, activity, tenantId, pageGroupId } = await opened()
  const group = { tenantId, name: 'a', title: 'A' }
  const page = { tenantId, pageGroupId }
  const refused = async (operation: keyof Service, input: object, kind: string, pointer?: string) => {
    const call = service[operation] as (input: object) => Promise<unknown>
    const refusal = await refusalOf(call(input))
    t.equal(refusal.kind, kind, operation)
    if (pointer !== undefined) t.equal(refusal.facts.errors?.[0]?.pointer, pointer)
  }
  await refused(
    'logProspectActivity',
    { ...activity, payload: { rawJson: '{}, "source": "x"' } },
    'invalid_json',
  )
  await refused('logProspectActivity', { ...activity, payload: { rawJson: nested(513) } }, 'invalid_json')
  await refused(
    'logProspectActivity',
    { ...activity, payload: { rawJson: '[]' } },
    'invalid_request',
    '/payload',
  )
  await refused('logProspectActivity', { ...activity, payload: undefined }, 'invalid_request', '/payload')
  await refused('createTenant', { name: '' }, 'invalid_request', '/name')
  await refused('createPageGroup', { tenantId, name: 'a' }, 'invalid_request', '/title')
  await refused(
    'createPageGroup',
    { ...group, footerLinks: { rawJson: '{}' } },
    'invalid_request',
    '/footerLinks',
  )
  await refused('createPageGroup', { ...group, footerLinks: {} }, 'invalid_request', '/footerLinks')
  await refused('issueApiKey', { tenantId, scopes: [] }, 'invalid_request', '/scopes')
  await refused('issueApiKey', { tenantId, scopes: SCOPES, lifeMs: 0 }, 'invalid_request', '/lifeMs')
  await refused(
    'createPageWithVersion',
    { ...page, idempotencyKey: '' },
    'invalid_request',
    '/idempotencyKey',
  )
  await refused('createPageWithVersion', { ...page, content: null }, 'invalid_request', '/content')
  await refused('createVersion', { ...page, pageId: 'x', content: [] }, 'invalid_request', '/content')
  await refused('updatePageGroup', { ...page, status: 'deleted' }, 'invalid_request', '/status')
  await refused('deletePageGroup', { ...page, ifRevision: [0] }, 'invalid_request', '/ifRevision/0')
  await refused('listPageGroups', { tenantId, cursor: 'x' }, 'invalid_cursor')
  await refused('listPages', { tenantId, pageGroupId: 'x' }, 'page_group_not_found')
  t.strictSame(store.kept.logs(), [])
})

t.test('a payload may nest as deep as over HTTP', async (t) => {
  const { service, activity } = await opened()
  await t.resolves(service.logProspectActivity({ ...activity, payload: { rawJson: nested(512) } }))
})

t.test('a tenant that does not exist is refused by every operation, until it does', async (t) => {
  const { service, store, pageGroupId, activity } = await opened()
  const tenantId = 'tenant_unknown'
  const inGroup = { tenantId, pageGroupId }
  const calls: readonly ((service: Service) => Promise<unknown>)[] = [
    ({ logProspectActivity }) => logProspectActivity({ ...activity, tenantId }),
    ({ listPageGroups }) => listPageGroups({ tenantId }),
    ({ listPages }) => listPages(inGroup),
    ({ getPage }) => getPage({ ...inGroup, pageId: 'x' }),
    ({ createPageWithVersion }) => createPageWithVersion(inGroup),
    ({ unpublishPage }) => unpublishPage({ ...inGroup, pageId: 'x' }),
    ({ createPageGroup }) => createPageGroup({ tenantId, name: 'a', title: 'A' }),
    ({ issueApiKey }) => issueApiKey({ tenantId, scopes: SCOPES }),
  ]
  for (const call of calls)
    t.match(await refusalOf(call(service)), { kind: 'not_found', message: 'Tenant not found.' })
  await store.tenants.add({
    tenantId,
    brandId: 'brand_a',
    name: 'late',
    createdAt: '2026-01-01T00:00:00.000Z',
  })
  t.match((await service.listPageGroups({ tenantId })).value, { items: [] })
})

t.test(
  'activities of a list are logged in order, and one that is refused does not affect the others',
  async (t) => {
    const { service, activity, store } = await opened({ requireIdentity: true })
    const ada = { ...activity, email: 'ada@example.com' }
    const many = Array(450).fill(ada)
    const invalid = { ...ada, source: '' }
    const ofUnknownTenant = { ...ada, tenantId: 'tenant_unknown' }
    const outcomes = await service.logProspectActivities([invalid, ada, ofUnknownTenant, ...many, activity])
    const results = outcomes.map((outcome) =>
      outcome instanceof DomainFailure ? outcome.kind : outcome.value.createdProspect,
    )
    const ofMany = Array(450).fill(false)
    t.strictSame(results, ['invalid_request', true, 'not_found', ...ofMany, 'invalid_request'])
    t.equal(store.kept.logs().length, 451)
  },
)

t.test('a batch of prospects has an outcome for each, and each finds those before it', async (t) => {
  const { service, tenantId } = await opened()
  const outcomes = await service.createProspects([
    { tenantId, email: 'ada@example.com' },
    { tenantId, email: 'n/a' },
    { tenantId, externalId: 'crm-1', email: 'ADA@example.com' },
    { tenantId: 'tenant_unknown', externalId: 'crm-1' },
  ])
  const results = outcomes.map((outcome) =>
    outcome instanceof DomainFailure ? outcome.kind : outcome.created,
  )
  t.strictSame(results, [true, 'invalid_request', false, 'not_found'])
})

t.test('an error of the store is thrown unchanged, and the next call asks the store again', async (t) => {
  const { store, activity } = await opened()
  let isAway = true
  const brands = async (tenantId: string) => {
    if (isAway) throw new Error('away')
    return store.tenants.brands(tenantId)
  }
  const { logProspectActivity, logProspectActivities } = createService({
    store: { ...store, tenants: { ...store.tenants, brands } },
  })
  await t.rejects(logProspectActivities([activity]), { message: 'away' })
  isAway = false
  await t.resolves(logProspectActivity(activity))
})

t.test('options that would stop all work are refused by name', async (t) => {
  const store = memoryStore()
  const creating = [
    () => createService({ store, prospectsRememberedMax: -1 }),
    () => createApi({ store, requestsAtOnceMax: 0 }),
    () => createApi({ store, requestsWaitingMax: Number.NaN }),
    () => createHandler(createApi({ store }), { unsentBytesMax: 1.5 }),
    () => createPublisher({ store, pollMs: 0 }),
    // A time in the future would delete every activity.
    () => createEraser({ store, retentionDays: -1 }),
    () => createEraser({ store, retentionDays: 0.5 }),
    () => createEraser({ store, eventDaysKept: -1 }),
  ]
  for (const create of creating) t.throws(create, /^\w+ must be a whole number from [01] to \d+\.$/)
  createService({ store, prospectsRememberedMax: 0 })
  createApi({ store, rateLimitPerMinute: null })
})

t.test('options that are nonsense are refused in words', async (t) => {
  const store = memoryStore()
  const none = {} as { store: typeof store }
  for (const create of [
    createService,
    createApi,
    startBackground,
    createPublisher,
    createEraser,
    createWebhooks,
  ])
    for (const options of [none, undefined as never])
      t.throws(() => create(options), { message: 'store is required, such as memoryStore().' })
  for (const open of [postgresStore, migrate])
    t.throws(() => open(undefined as never), { message: 'sql must be an instance of postgres.js.' })
  t.throws(() => createHandler(undefined as never), { message: 'api must be what createApi returns.' })
  for (const [wrong, message] of [
    [{ secretsKey: 'x' }, 'secretsKey must be a Buffer of 32 bytes.'],
    [{ allowedNetworks: ['10.0.0.0'] }, 'allowedNetworks must be an array of networks.'],
    [{ allowedHosts: 'x' }, 'allowedHosts must be an array of host names.'],
  ] as const)
    t.throws(() => createService({ store, webhooks: wrong as never }), { message })
  for (const settings of [undefined, null, {}, { url: 'localhost:1', model: 'm' }])
    t.throws(() => chatCompletionsNamer(settings as never), {
      message: 'url must be an http: or https: URL.',
    })
  t.throws(() => chatCompletionsNamer({ url: 'http://h' } as never), { message: 'model must be a string.' })
  t.throws(() => createApi({ store, onAnswered: 1 as never }), { message: 'onAnswered must be a function.' })
  t.throws(() => createPublisher({ store, namer: 'x' as never }), { message: /^namer must be a function/ })
  const tooLong = { message: /^\w+ must be a whole number from [01] to 2147483647\.$/ }
  t.throws(() => createPublisher({ store, pollMs: 2 ** 31 }), tooLong)
  t.throws(() => createPublisher({ store, namerPatienceMs: 2 ** 31 }), tooLong)
  t.throws(() => sqliteStore({ path: ':memory:', busyMsMax: 2 ** 31 }), tooLong)
  t.throws(() => createService({ store, prospectsRememberedMax: 2e7 }), { message: /from 0 to 10000000\.$/ })
  t.throws(() => createApi({ store, requestsAtOnceMax: 1e12 }), { message: /from 1 to 100000000000\.$/ })
  const api = createApi({ store })
  t.throws(() => createHandler(api, { basePath: null as never }), { message: 'basePath must be a string.' })
  for (const options of [{}, undefined])
    t.throws(() => sqliteStore(options as never), { message: 'path must be a string.' })
  t.throws(() => sqliteStore({ path: '/' }), { message: '/ is a folder.' })
  const path = `${t.testdir({ notes: 'milk, eggs, bread'.repeat(99) })}/notes`
  t.throws(() => sqliteStore({ path }), { message: `${path}: file is not a database.` })
})

/** The options of every factory: the compiler sees when one is missing here. */
const EVERY_OPTION: Record<
  | keyof (ApiOptions &
      FetchOptions &
      HandlerOptions &
      PublisherOptions &
      EraserOptions &
      WebhooksOptions &
      WebhookOptions)
  | keyof (SqliteOptions & ChatCompletionsSettings & NonNullable<Parameters<typeof postgresStore>[1]>),
  true
> = {
  store: true,
  clock: true,
  newId: true,
  webhooks: true,
  answers: true,
  publicUrl: true,
  background: true,
  requireIdentity: true,
  prospectsRememberedMax: true,
  rateLimitPerMinute: true,
  failedAuthPerMinute: true,
  hookFormsPerMinute: true,
  uploadBytesMax: true,
  requestsAtOnceMax: true,
  requestsWaitingMax: true,
  bodyBytesHeldMax: true,
  docs: true,
  console: true,
  onAnswered: true,
  onError: true,
  addressOf: true,
  authenticate: true,
  basePath: true,
  bodyBytesMax: true,
  batchBytesMax: true,
  unsentBytesMax: true,
  namer: true,
  namerPatienceMs: true,
  namerCallsMax: true,
  pollMs: true,
  onFailedAttempt: true,
  onStep: true,
  onPause: true,
  onEndpoint: true,
  retentionDays: true,
  eventDaysKept: true,
  counts: true,
  secretsKey: true,
  secretsKeyPrevious: true,
  allowedHosts: true,
  allowedNetworks: true,
  path: true,
  busyMsMax: true,
  everyEvent: true,
  url: true,
  model: true,
  apiKey: true,
  extraBody: true,
}

t.test('every function takes its own options and refuses others by name', async (t) => {
  const store = memoryStore()
  const api = createApi({ store })
  const server = { url: 'http://h', model: 'm' }
  const calls: Record<keyof typeof OPTIONS, (options: object) => unknown> = {
    createService: (options) => createService({ ...options, store }),
    createApi: (options) => createApi({ ...options, store }),
    createFetchHandler: (options) => createFetchHandler({ ...options, store }),
    createHandler: (options) => createHandler(api, options),
    startBackground: (options) => startBackground({ ...options, store }).stop(),
    createPublisher: (options) => createPublisher({ ...options, store }),
    createEraser: (options) => createEraser({ ...options, store }),
    createWebhooks: (options) => createWebhooks({ ...options, store }),
    webhooks: (webhooks) => createService({ store, webhooks }),
    memoryStore,
    sqliteStore: (options) => sqliteStore({ ...options, path: ':memory:' }).close(),
    postgresStore: (options) => postgresStore((() => {}) as never, options),
    chatCompletionsNamer: (options) => chatCompletionsNamer({ ...options, ...server }),
  }
  for (const [name, call] of Object.entries(calls)) {
    const own: readonly string[] = OPTIONS[name as keyof typeof OPTIONS]
    for (const option of Object.keys(EVERY_OPTION))
      if (own.includes(option)) t.doesNotThrow(() => call({ [option]: undefined }), `${name}: ${option}`)
      else
        t.throws(() => call({ [option]: undefined }), {
          message: new RegExp(`^${name} has no option ${option}: it belongs to [a-zA-Z]+\\.$`),
        })
    t.throws(() => call({ pollMS: 5 }), { message: `${name} has no option pollMS.` })
  }
  for (const create of [createService, createApi, sqliteStore, chatCompletionsNamer])
    t.throws(() => create({ pollMS: 5 } as never), { message: /pollMS/ }, 'even without a needed one')
})

t.test('input that is nothing of its kind is refused, not ignored', async (t) => {
  const { service } = await opened()
  for (const input of [{}, undefined, null]) {
    t.match(await refusalOf(service.logProspectActivities(input as never)), { message: 'Pass an array.' })
    t.match(await refusalOf(service.listPages(input as never)), { message: /tenantId is required/ })
  }
})

t.test('over HTTP a store that is not migrated is unavailable, and the cause says what to do', async (t) => {
  const store = sqliteStore({ path: ':memory:' })
  t.teardown(() => store.close())
  const causes: unknown[] = []
  const call = caller(createApi({ store, onError: (cause) => causes.push(cause) }), newApiKeyText())
  const answer = await call('GET /v0/page_groups')
  t.match(answer, { status: 503, json: { code: 'unavailable', detail: 'The database is not migrated.' } })
  t.match(causes, [{ message: /run migrate\(\) first/, cause: { message: /no such table/ } }])
})

t.test('an object is stored as its JSON text, and a text byte for byte', async (t) => {
  const { service, tenantId, pageGroupId, activity, store } = await opened()
  class Form {
    readonly sent = new Date(0)
    readonly left = undefined
  }
  const odd = '{ "a": 1.0, "a": 2 }'
  for (const payload of [{ a: [1, 'ü'] }, new Form(), { rawJson: odd }, { toJSON: () => ({ b: 1 }) }])
    await service.logProspectActivity({ ...activity, payload })
  await service.logProspectActivities([{ ...activity, payload: {} }])
  t.strictSame(
    store.kept.logs().map(({ payload }) => payload.rawJson),
    ['{"a":[1,"ü"]}', '{"sent":"1970-01-01T00:00:00.000Z"}', odd, '{"b":1}', '{}'],
  )
  const group = { tenantId, name: 'a', title: 'A', actions: [{ b: 1 }], scripts: { rawJson: '[ ]' } }
  const { value: pageGroup } = await service.createPageGroup(group)
  t.match(pageGroup, { actions: { rawJson: '[{"b":1}]' }, scripts: { rawJson: '[ ]' } })
  const { value: page } = await service.createPageWithVersion({ tenantId, pageGroupId, content: { c: 1 } })
  const { pageId } = page
  const { value: version } = await service.createVersion({ tenantId, pageGroupId, pageId, content: { d: 1 } })
  const { versionId } = version
  const { content } = (await service.getVersion({ tenantId, pageGroupId, pageId, versionId })).value
  t.strictSame(content, { rawJson: '{"d":1}' })
})

t.test('a payload that is no object, or that JSON cannot hold, is one fault', async (t) => {
  const { service, activity } = await opened()
  const cyclic: { self?: object } = {}
  cyclic.self = cyclic
  const detail = 'must be a plain object or array, or { rawJson } with its JSON text'
  const raw = [{ rawJson: 5 }, { rawJson: undefined }, { rawJson: '{}', a: 1 }]
  const lossy = [new Map(), Promise.resolve({}), Buffer.from('{}'), new Date(), cyclic, { big: 1n }]
  for (const payload of [null, 5, '{}', () => {}, { toJSON: () => undefined }, ...raw, ...lossy]) {
    const { facts } = await refusalOf(service.logProspectActivity({ ...activity, payload } as never))
    t.strictSame(facts.errors, [{ detail, pointer: '/payload' }])
  }
  for (const payload of [[], { toJSON: () => 'text' }]) {
    const { facts } = await refusalOf(service.logProspectActivity({ ...activity, payload }))
    t.strictSame(facts.errors, [{ detail: 'must be an object', pointer: '/payload' }])
  }
})

t.test('a time may be a Date', async (t) => {
  const { service, tenantId, pageGroupId, activity, clock } = await opened()
  const occurredAt = new Date(clock() - 1_500)
  const { prospectId } = (await service.logProspectActivity({ ...activity, occurredAt })).value
  const listed = { tenantId, prospectId, since: occurredAt }
  t.match((await service.listTimeline(listed)).value.items, [{ occurredAt: '2025-12-31T23:59:58.500Z' }])
  t.strictSame((await service.listTimeline({ ...listed, until: occurredAt })).value.items, [])
  const later = new Date(clock() + 60_000)
  const created = { tenantId, pageGroupId, publishAt: later }
  const { pageId } = (await service.createPageWithVersion(created)).value
  const changed = await service.updatePage({ tenantId, pageGroupId, pageId, unpublishAt: later })
  t.equal(changed.value.unpublishAt, later.toISOString())
  t.equal(changed.value.latestVersion.publishAt, later.toISOString())
  for (const wrong of [new Date(Number.NaN), new Date(8.64e15), new Date(-1)]) {
    const { facts } = await refusalOf(service.logProspectActivity({ ...activity, occurredAt: wrong }))
    t.match(facts.errors, [{ pointer: '/occurredAt', detail: /^must be an RFC 3339 date-time/ }])
  }
  const named = service.logProspectActivity({ ...activity, name: later } as never)
  t.match((await refusalOf(named)).facts.errors, [{ pointer: '/name' }], 'no other member is')
})

t.test('every time of an operation may be one: it is known by its shape', async (t) => {
  const entries = Object.values<Operation>(operations).flatMap(({ query, body }) =>
    [query, body].flatMap((shape) => Object.entries(shape?.entries ?? {})),
  )
  const times = entries.filter(([, shape]) => JSON.stringify(shape).includes('"format":"date-time"'))
  t.ok(times.length >= 10)
  for (const [name, shape] of times) {
    const check = createCheckInput(inTenant({ [name]: shape }))
    const checked = check({ tenantId: 'tenant_a', [name]: new Date(0) })
    t.strictSame(checked, { tenantId: 'tenant_a', [name]: '1970-01-01T00:00:00.000Z' }, name)
  }
})

t.test('keys are listed, rotated and revoked', async (t) => {
  const { service, tenantId, store, clock } = await opened()
  const { apiKey, ...first } = await service.issueApiKey({ tenantId, scopes: ['pages:read'], name: 'site' })
  const second = await service.rotateApiKey(first.apiKeyId)
  t.match(second, { name: 'site', scopes: ['pages:read'], apiKey: /^pp_/ })
  const { apiKeyId } = await service.rotateApiKey(second.apiKeyId, { overlapMs: 0 })
  const { revokedAt } = await service.revokeApiKey(apiKeyId)
  t.equal(revokedAt, '2026-01-01T00:00:00.000Z')
  const day = '2026-01-02T00:00:00.000Z'
  const now = '2026-01-01T00:00:00.000Z'
  t.match(await service.listApiKeys(tenantId), [
    { ...first, rotatedAt: now, expiresAt: day },
    { expiresAt: now },
    { revokedAt },
  ])
  const call = caller(createApi({ store, clock }), apiKey)
  t.equal((await call(`GET /v0/page_groups`)).status, 403)
  t.equal((await refusalOf(service.listApiKeys('tenant_unknown'))).kind, 'not_found')
  for (const wrong of ['apikey_unknown', undefined as never])
    for (const refused of [service.revokeApiKey(wrong), service.rotateApiKey(wrong)])
      t.equal((await refusalOf(refused)).kind, 'not_found')
  for (const overlapMs of [-1, 0.5, Number.NaN, 1e15]) {
    const refused = await refusalOf(service.rotateApiKey(first.apiKeyId, { overlapMs }))
    t.match(refused, { kind: 'invalid_request', facts: { errors: [{ pointer: '/overlapMs' }] } })
  }
})
