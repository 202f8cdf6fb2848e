import type { Test } from 'tap'
import { createRouter } from '../../src/adapters/http/router.ts'
import { ROUTES } from '../../src/adapters/http/routes.ts'
import { createPageGroup } from '../../src/core/pages/create-page-group.ts'
import { publishVersions } from '../../src/core/pages/publish-versions.ts'
import { updatePageGroup } from '../../src/core/pages/update-page-group.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { verbs } from '../store-contract/verbs.ts'
import { type Answer, openScene, type Sent } from '../support/api.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

/** Things that a request can name: those of another tenant, or missing ones. */
type Named = {
  readonly group: string
  readonly archived: string
  readonly deleted: string
  readonly brand: string
  readonly page: string
  readonly version: string
  readonly prospect: string
  readonly log: string
  readonly email: string
  readonly externalId: string
  readonly erasure: string
  readonly event: string
  readonly sequence: string
  readonly endpoint: string
  readonly hook: string
  readonly keys: Keys
}
/** Idempotency keys. Each was used for one request. */
type Keys = {
  readonly activity: string
  readonly activityHeader: string
  readonly page: string
  readonly emptyPage: string
  readonly group: string
  readonly version: string
}
type Request = { readonly operation: string; readonly sent: Sent }
type Case = (named: Named, own: Named) => Request

const ACTIVITY = { source: 'crm', payload: {} }
const ENDPOINTS = '/v0/webhook_endpoints'
const HOOKS = '/v0/hooks'
const PAGE = { customName: 'Sale' }
const at = (list: string, lastId: string) =>
  `cursor=${Buffer.from(`1:${list}:${lastId}`).toString('base64url')}`
const request = (operation: string, sent: Sent = {}): Request => ({ operation, sent })
const withKey = (key: string | undefined) => (key === undefined ? {} : { 'idempotency-key': key })
const newActivity = (fields: object, key?: string): Request =>
  request('POST /v0/prospect_logs', { json: { ...ACTIVITY, ...fields }, headers: withKey(key) })
const newPage = (group: string, key?: string, json: object = PAGE): Request =>
  request(`POST /v0/page_groups/${group}/pages`, { json, headers: withKey(key) })
const newGroup = (fields: object, key?: string): Request =>
  request('POST /v0/page_groups', {
    json: { name: 'offers', title: 'Offers', ...fields },
    headers: withKey(key),
  })
type PageIds = Pick<Named, 'group' | 'page'>
const pageAt = ({ group, page }: PageIds) => `/v0/page_groups/${group}/pages/${page}`
const newVersion = (ids: PageIds, key?: string, json: object = {}): Request =>
  request(`POST ${pageAt(ids)}/versions`, { json, headers: withKey(key) })

/** Every operation, and each place in it that names a thing. `own` are the things of the caller. */
const CASES: Readonly<Record<string, Case>> = {
  // This stands first, because an activity of an email gives the caller a prospect with it.
  'the prospect with an email': ({ email }) => request(`GET /v0/prospects?email=${email}`),
  'an activity of a prospect': ({ prospect }) => newActivity({ prospectId: prospect }),
  'an activity of an email': ({ email }) => newActivity({ email }),
  'the prospect with an external id': ({ externalId }) =>
    request(`GET /v0/prospects?externalId=${externalId}`),
  'creating a prospect': ({ externalId }) => request('POST /v0/prospects', { json: { externalId } }),
  'creating prospects': ({ externalId }) =>
    request('POST /v0/prospects/batch', { json: { items: [{ externalId }] } }),
  'an activity with an idempotency key': ({ keys }) => newActivity({ idempotencyKey: keys.activity }),
  'the same activity with an idempotency key': ({ keys }) => newActivity({}, keys.activityHeader),
  'a prospect': ({ prospect }) => request(`GET /v0/prospects/${prospect}`),
  'prospects after one': ({ prospect }) => request(`GET /v0/prospects?${at('prospects', prospect)}`),
  'pairs of prospects after one': ({ prospect }) =>
    request(
      `GET /v0/prospect_conflicts?${at('prospect_conflicts', `1767225600000 ${prospect} ${prospect}`)}`,
    ),
  'a correction of a prospect': ({ prospect }) =>
    request(`PATCH /v0/prospects/${prospect}`, { json: { name: 'Ada' } }),
  'an email for the own prospect': ({ email }, own) =>
    request(`PATCH /v0/prospects/${own.prospect}`, { json: { email } }),
  'an external id for the own prospect': ({ externalId }, own) =>
    request(`PATCH /v0/prospects/${own.prospect}`, { json: { externalId } }),
  'merging a prospect into the own one': ({ prospect }, own) =>
    request(`POST /v0/prospects/${prospect}/merge`, { json: { into: own.prospect } }),
  'merging the own prospect into one': ({ prospect }, own) =>
    request(`POST /v0/prospects/${own.prospect}/merge`, { json: { into: prospect } }),
  'a timeline': ({ prospect }) => request(`GET /v0/prospects/${prospect}/prospect_logs`),
  'everything about a prospect': ({ prospect }) => request(`GET /v0/prospects/${prospect}/export`),
  'a timeline after an activity': ({ prospect, log }) =>
    request(
      `GET /v0/prospects/${prospect}/prospect_logs?${at(`prospects/${prospect}?`, `1767225600001 ${log}`)}`,
    ),
  'an activity': ({ log }) => request(`GET /v0/prospect_logs/${log}`),
  'the activity of a key': ({ keys }) =>
    request(`GET /v0/prospect_logs?source=crm&idempotencyKey=${keys.activity}`),
  'activities after one': ({ log }) => request(`GET /v0/prospect_logs?${at('prospect_logs?', log)}`),
  'page groups after one': ({ archived }) => request(`GET /v0/page_groups?${at('page_groups?', archived)}`),
  'archived page groups after one': ({ deleted }) =>
    request(`GET /v0/page_groups?status=archived&${at('page_groups?archived', deleted)}`),
  'the pages of a group': ({ group }) => request(`GET /v0/page_groups/${group}/pages`),
  'the pages of an archived group': ({ archived }) => request(`GET /v0/page_groups/${archived}/pages`),
  'the head of a list of pages': ({ group }) => request(`HEAD /v0/page_groups/${group}/pages`),
  'the pages of a group after one': ({ group, page }) =>
    request(`GET /v0/page_groups/${group}/pages?${at(`pages/${group}`, page)}`),
  'the own pages after one of another tenant': ({ group, page }, own) =>
    request(`GET /v0/page_groups/${own.group}/pages?${at(`pages/${group}`, page)}`),
  'a page of a group': ({ group, page }) => request(`GET /v0/page_groups/${group}/pages/${page}`),
  'a page by its slug': ({ group }) => request(`GET /v0/page_groups/${group}/pages/slug:sale`),
  'a page in the own group': ({ page }, own) => request(`GET /v0/page_groups/${own.group}/pages/${page}`),
  'the own page in a group': ({ group }, own) => request(`GET /v0/page_groups/${group}/pages/${own.page}`),
  'published pages after one': ({ page }) =>
    request(`GET /v0/published_pages?${at('published_pages?', `1767225600000 ${page}`)}`),
  'a page for a group': ({ group }) => newPage(group),
  'a page for an archived group': ({ archived }) => newPage(archived),
  'a page for a deleted group': ({ deleted }) => newPage(deleted),
  'a wrong page for a group': ({ group }) => newPage(group, undefined, { customName: 7 }),
  'a page with an idempotency key': ({ group, keys }) => newPage(group, keys.page),
  'another page with an idempotency key': ({ group, keys }) => newPage(group, keys.emptyPage, {}),
  'a page for the own group with an idempotency key': ({ keys }, own) => newPage(own.group, keys.page),
  'a page group': ({ group }) => request(`GET /v0/page_groups/${group}`),
  'a deleted page group': ({ deleted }) => request(`GET /v0/page_groups/${deleted}`),
  'a page group in a brand': ({ brand }) => newGroup({ brandId: brand }),
  'a page group with an idempotency key': ({ keys }) => newGroup({}, keys.group),
  'a change of a page group': ({ group }) =>
    request(`PATCH /v0/page_groups/${group}`, { json: { title: 'Sales' } }),
  'a change of a page group for a revision': ({ archived }) =>
    request(`PATCH /v0/page_groups/${archived}`, {
      json: { title: 'Sales' },
      headers: { 'if-match': '"r99"' },
    }),
  'a brand for the own page group': ({ brand }, { group }) =>
    request(`PATCH /v0/page_groups/${group}`, { json: { brandId: brand } }),
  'a name for a page': (named) => request(`PATCH ${pageAt(named)}`, { json: { customName: 'Mine' } }),
  'a name for a page of a revision': (named) =>
    request(`PATCH ${pageAt(named)}`, { json: { customName: 'Mine' }, headers: { 'if-match': '"r99"' } }),
  'the versions of a page': (named) => request(`GET ${pageAt(named)}/versions`),
  'the versions of a page after one': (named) =>
    request(`GET ${pageAt(named)}/versions?${at(`versions/${named.page}`, named.version)}`),
  'a version': (named) => request(`GET ${pageAt(named)}/versions/${named.version}`),
  'a version in the own page': ({ version }, own) => request(`GET ${pageAt(own)}/versions/${version}`),
  'a version for a page': (named) => newVersion(named),
  'a version with an idempotency key': (named) => newVersion(named, named.keys.version),
  'another version with an idempotency key': (named) =>
    newVersion(named, named.keys.version, { content: {} }),
  'a version for the own page with an idempotency key': ({ keys }, own) => newVersion(own, keys.version),
  'publishing a version': (named) => request(`POST ${pageAt(named)}/versions/${named.version}/publish`),
  'publishing a version in the own page': ({ version }, own) =>
    request(`POST ${pageAt(own)}/versions/${version}/publish`),
  'unscheduling a version': (named) => request(`POST ${pageAt(named)}/versions/${named.version}/unschedule`),
  'unpublishing a page': (named) => request(`POST ${pageAt(named)}/unpublish`),
  'an erasure': ({ erasure }) => request(`GET /v0/erasures/${erasure}`),
  'erasures after one': ({ erasure }) => request(`GET /v0/erasures?${at('erasures', erasure)}`),
  'an event': ({ event }) => request(`GET /v0/events/${event}`),
  'events after one': ({ sequence }) => request(`GET /v0/events?${at('events', sequence)}`),
  'a webhook endpoint': ({ endpoint }) => request(`GET ${ENDPOINTS}/${endpoint}`),
  'a change of a webhook endpoint': ({ endpoint }) =>
    request(`PATCH ${ENDPOINTS}/${endpoint}`, { json: { description: 'Mine' } }),
  'another secret for a webhook endpoint': ({ endpoint }) =>
    request(`POST ${ENDPOINTS}/${endpoint}/rotate_secret`),
  'a test of a webhook endpoint': ({ endpoint }) => request(`POST ${ENDPOINTS}/${endpoint}/test`),
  'the deliveries of a webhook endpoint': ({ endpoint }) =>
    request(`GET ${ENDPOINTS}/${endpoint}/deliveries`),
  'the deliveries of a webhook endpoint after one': ({ endpoint, event }) =>
    request(`GET ${ENDPOINTS}/${endpoint}/deliveries?${at(`deliveries/${endpoint}?`, event)}`),
  'the own deliveries after one of another tenant': ({ endpoint, event }, own) =>
    request(`GET ${ENDPOINTS}/${own.endpoint}/deliveries?${at(`deliveries/${endpoint}?`, event)}`),
  'a delivery': ({ endpoint, event }) => request(`GET ${ENDPOINTS}/${endpoint}/deliveries/${event}`),
  'a delivery at the own webhook endpoint': ({ event }, own) =>
    request(`GET ${ENDPOINTS}/${own.endpoint}/deliveries/${event}`),
  'a retry of an event': ({ endpoint, event }) =>
    request(`POST ${ENDPOINTS}/${endpoint}/deliveries/${event}/retry`),
  'a retry of an event at the own webhook endpoint': ({ event }, own) =>
    request(`POST ${ENDPOINTS}/${own.endpoint}/deliveries/${event}/retry`),
  'a replay at a webhook endpoint': ({ endpoint }) =>
    request(`POST ${ENDPOINTS}/${endpoint}/replay`, { json: { since: '1970-01-01T00:00:00Z' } }),
  'the key of the request': () => request('GET /v0/api_keys/self'),
  'a hook': ({ hook }) => request(`GET ${HOOKS}/${hook}`),
  'hooks after one': ({ hook }) => request(`GET ${HOOKS}?${at('hooks', hook)}`),
  'a change of a hook': ({ hook }) => request(`PATCH ${HOOKS}/${hook}`, { json: { source: 'mine' } }),
  'another token for a hook': ({ hook }) =>
    request(`PATCH ${HOOKS}/${hook}`, { json: { verify: { token: true } } }),
  'trying a hook': ({ hook }) => request(`POST ${HOOKS}/${hook}/try`, { json: { body: '{}' } }),
  'erasing a prospect': ({ prospect }) => request('POST /v0/erasures', { json: { prospectId: prospect } }),
  'lifting the block of an erasure': ({ erasure }) => request(`POST /v0/erasures/${erasure}/unblock`),
  'erasing an email': ({ email }) => request('POST /v0/erasures', { json: { email, blockDays: 1 } }),
  'erasing an external id': ({ externalId }) =>
    request('POST /v0/erasures', { json: { externalId, blockDays: 1 } }),
  'deleting a page': (named) => request(`DELETE ${pageAt(named)}`),
  'deleting a webhook endpoint': ({ endpoint }) => request(`DELETE ${ENDPOINTS}/${endpoint}`),
  'deleting a hook': ({ hook }) => request(`DELETE ${HOOKS}/${hook}`),
  'deleting a page group': ({ archived }) => request(`DELETE /v0/page_groups/${archived}`),
}
/** Requests that the owner is refused too, before any look-up, or because both tenants have such an email. */
const ALSO_REFUSED_TO_OWNER = [
  'a page for a deleted group',
  'a deleted page group',
  'a wrong page for a group',
  'erasing an email',
  'erasing an external id',
]

type Call = (request: Request) => Promise<Answer>
type Caller = { readonly call: Call; readonly own: Named }

const openService = async (t: Test, kind: StoreKind) => {
  const { store, statements } = await opened(t, kind)
  const called = new Set<string>()
  const scene = await openScene({ storeAs: () => recordingCalls(store, called) })
  const deps = { store, clock: scene.clock, newId: scene.newId }
  const publish = publishVersions({ ...deps, namer: null, claimMax: 100, leaseMs: 1_000 })

  const addGroups = async (tenantId: string, name: string) => {
    const addGroup = async (title: string) =>
      (await createPageGroup(deps)({ tenantId, name, title })).value.pageGroupId
    const group = await addGroup('One')
    const archived = await addGroup('Two')
    const deleted = await addGroup('Three')
    await updatePageGroup(deps)({ tenantId, pageGroupId: archived, status: 'archived' })
    await updatePageGroup(deps)({ tenantId, pageGroupId: deleted, status: 'deleted' })
    return { group, archived, deleted }
  }
  const numberEvents = async (tenantId: string, call: Call) => {
    await store.events.number({ tenantId, now: new Date(scene.clock()).toISOString(), max: 100 })
    const { items } = (await call(request('GET /v0/events'))).json as {
      items: { eventId: string; sequence: number }[]
    }
    const last = items.at(-1)
    return { event: String(last?.eventId), sequence: String(last?.sequence) }
  }

  let tenants = 0
  const newTenant = async (name: string): Promise<Caller> => {
    tenants++
    const { tenantId, brandId } = await createTenant(deps)({ name })
    const { apiKey } = await issueApiKey(deps)({ tenantId, name: null, scopes: SCOPES, lifeMs: null })
    const call: Call = ({ operation, sent }) => scene.call(operation, { ...sent, key: apiKey })
    const keys = keysOf(tenantId)
    const email = `${tenantId}@example.com`
    const externalId = `crm-${tenantId}`
    const groups = await addGroups(tenantId, name)
    const prospect = await addProspect(call, { email, externalId }, keys)
    const page = await addPage(call, groups.group, keys)
    await publish(new AbortController().signal)
    await call(newGroup({}, keys.group))
    const erasure = await addErasure(call, tenantId)
    const receivers = await addReceivers(call)
    // Each tenant has a different number of events, so that a sequence belongs to one tenant.
    for (let i = 0; i < 3 * tenants; i++) await call(newActivity({ email }))
    const events = await numberEvents(tenantId, call)
    await call(request('GET /v0/prospect_log_counts'))
    await call(request('GET /v0/prospect_log_counts?of=page'))
    await call(request(`GET /v0/prospects?search=${tenantId}`))
    // The call is not signed, so the hook receives it without storing it.
    await call(request(`POST /hooks/${receivers.hook}`, { body: '{}' }))
    const own = {
      brand: brandId,
      email,
      externalId,
      keys,
      erasure,
      ...groups,
      ...prospect,
      ...page,
      ...receivers,
      ...events,
    }
    return { call, own }
  }
  /** The answer to a request, and the texts of its statements. */
  const ask = async (call: Call, sent: Request) => {
    const before = statements()?.length ?? 0
    const answer = await call(sent)
    const texts = (statements() ?? [])
      .slice(before)
      .map(({ text }) => text)
      // No caller waits for these: the signals to other processes, and when a key was last used.
      .filter((text) => !/pg_notify|set last_used_at/.test(text))
    return { comparable: { ...withoutIds(answer), texts }, rawBody: answer.body }
  }
  return { newTenant, ask, newId: scene.newId, called }
}

/** A prospect with an activity, another prospect that is merged into it, and one that an activity named together with it. */
const addProspect = async (call: Call, identifiers: object, keys: Keys) => {
  const activity = newActivity({ ...identifiers, idempotencyKey: keys.activity })
  const { prospectId, prospectLogId } = (await call(activity)).json
  const merged = (await call(newActivity({ idempotencyKey: keys.activityHeader }))).json
  await call(request(`POST /v0/prospects/${merged['prospectId']}/merge`, { json: { into: prospectId } }))
  const { prospectId: anyone } = (await call(newActivity({}))).json
  await call(newActivity({ ...identifiers, prospectId: anyone }))
  return { prospect: String(prospectId), log: String(prospectLogId) }
}

/** A page with a slug and a second version, beside another page. */
const addPage = async (call: Call, group: string, keys: Keys) => {
  const { pageId } = (await call(newPage(group, keys.page, { ...PAGE, slug: 'sale' }))).json
  await call(newPage(group, keys.emptyPage))
  const page = String(pageId)
  const { versionId } = (await call(newVersion({ group, page }, keys.version))).json
  return { page, version: String(versionId) }
}

/** The second erasure of an email, whose first one has an event. */
const addErasure = async (call: Call, tenantId: string) => {
  const erasing = request('POST /v0/erasures', { json: { email: `gone-from-${tenantId}@example.com` } })
  await call(erasing)
  return String((await call(erasing)).json['erasureId'])
}

/** A webhook endpoint and a hook. */
const addReceivers = async (call: Call) => {
  const endpoint = (await call(request(`POST ${ENDPOINTS}`, { json: { url: 'https://example.com' } }))).json
  const verify = { preset: 'stripe', secret: 's' }
  // Every tenant has one under this key.
  const hook = (
    await call(request(`POST ${HOOKS}`, { json: { source: 'stripe', verify }, headers: withKey('hook') }))
  ).json
  return { endpoint: String(endpoint['webhookEndpointId']), hook: String(hook['hookId']) }
}

const keysOf = (tenantId: string): Keys => ({
  activity: `activity-${tenantId}`,
  activityHeader: `activity-header-${tenantId}`,
  page: `page-${tenantId}`,
  emptyPage: `empty-page-${tenantId}`,
  group: `group-${tenantId}`,
  version: `version-${tenantId}`,
})

/** The store, which adds the name of each called verb to `called`. */
const recordingCalls = (store: Store, called: Set<string>): Store => {
  const recording: Record<string, unknown> = {}
  for (const [port, verbsOfPort] of Object.entries(store)) {
    recording[port] =
      typeof verbsOfPort === 'function' ? verbsOfPort : recordingPort(port, verbsOfPort as Port, called)
  }
  return recording as unknown as Store
}
type Port = Readonly<Record<string, (...args: never[]) => unknown>>

const recordingPort = (name: string, port: Port, called: Set<string>): Port => {
  const recording: Record<string, Port[string]> = {}
  for (const [verb, run] of Object.entries(port)) {
    recording[verb] = (...args) => {
      called.add(`${name}.${verb}`)
      return run(...args)
    }
  }
  return recording
}

/** An answer without what differs in each: the request id, and ids and numbers that were made for it. */
const withoutIds = ({ status, headers, body }: Answer) => {
  const requestId = String(headers['x-request-id'])
  const alike = (text: string) =>
    text.replaceAll(requestId, 'request').replaceAll(/_[a-z0-9]{26}|(?<="versionNumber":)\d/g, '_…')
  // A problem contains the request id, whose length may differ.
  const length = Number(headers['content-length']) - (status >= 400 ? requestId.length : 0)
  // A weak entity tag is made from the whole body, so it differs too.
  const etag = headers['etag']?.replace(/^W\/.*/, 'W/…')
  const rest = { ...headers, ...(etag && { etag }), 'content-length': `${length}` }
  return { status, headers: alike(JSON.stringify(rest)), body: alike(body) }
}

overStores(async (t, kind) => {
  const { newTenant, ask, newId, called } = await openService(t, kind)
  // The stranger's rows are older than the owner's, so the owner's cursors would find them.
  const stranger = await newTenant('Stranger')
  const owner = await newTenant('Owner')
  const missing: Named = {
    group: newId('pagegroup'),
    archived: newId('pagegroup'),
    deleted: newId('pagegroup'),
    brand: newId('brand'),
    page: newId('page'),
    version: newId('pageversion'),
    prospect: newId('prospect'),
    log: newId('prospectlog'),
    erasure: newId('erasure'),
    event: newId('event'),
    sequence: '999',
    endpoint: newId('webhookendpoint'),
    hook: newId('hook'),
    email: `${newId('tenant')}@example.com`,
    externalId: `crm-${newId('tenant')}`,
    keys: keysOf(newId('tenant')),
  }

  for (const [name, requestFor] of Object.entries(CASES)) {
    t.test(`${name}: another tenant's resource gets the same answer as a missing one`, async (t) => {
      const namingOwners = requestFor(owner.own, stranger.own)
      const ofOwner = await ask(stranger.call, namingOwners)
      const ofMissing = await ask(stranger.call, requestFor(missing, stranger.own))
      t.strictSame(ofOwner.comparable, ofMissing.comparable)
      t.ok(kind.name !== 'postgres' || ofOwner.comparable.texts.length > 0, 'statements were counted')
      const { keys, sequence, ...texts } = owner.own
      const request = JSON.stringify(namingOwners)
      for (const [kindOfText, text] of Object.entries({ ...texts, ...keys })) {
        const leaks = ofOwner.rawBody.includes(text) && !request.includes(text)
        t.notOk(leaks, `the answer does not contain the ${kindOfText} of the owner`)
      }
      const toOwner = await ask(owner.call, requestFor(owner.own, owner.own))
      if (!ALSO_REFUSED_TO_OWNER.includes(name)) {
        t.notSame(toOwner.comparable, ofOwner.comparable, 'the owner gets another answer')
      }
    })
  }

  t.test('every operation that names a resource is tried', async (t) => {
    const match = createRouter(ROUTES)
    const operations = Object.values(CASES).map((requestFor) => {
      const [method = '', target = ''] = requestFor(owner.own, stranger.own).operation.split(' ')
      return match(target.replace(/\?.*/, ''))?.routes.get(method)
    })
    const untried = ROUTES.filter((route) => Object.keys(route.ids).length > 0 && !operations.includes(route))
    t.strictSame(
      untried.map(({ operationId }) => operationId),
      [],
    )
  })

  t.test('callers reach only verbs that name a tenant, except key and hook look-ups', async (t) => {
    const serving = verbs.filter(({ serves }) => serves === 'callers').map(({ name }) => name)
    // Only a page that has 1,000 versions needs this one.
    t.strictSame([...called, 'versions.tally'].sort(), serving.sort())
    const tenantless = verbs.filter((verb) => 'noTenant' in verb && called.has(verb.name))
    t.strictSame(tenantless.map(({ name }) => name).sort(), [
      'apiKeys.find',
      'apiKeys.findByHashes',
      'apiKeys.markUsed',
      'hooks.findByIds',
    ])
  })
})
