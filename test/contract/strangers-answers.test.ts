import type { Test } from 'tap'
import { createRouter } from '../../src/adapters/http/router.ts'
import { ROUTES } from '../../src/adapters/http/routes.ts'
import { createPageGroup } from '../../src/core/pages/create-page-group.ts'
import { updatePageGroup } from '../../src/core/pages/update-page-group.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { verbs } from '../store-contract/verbs.ts'
import { type Answer, openScene, type Sent } from '../support/api.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

/** Things that a request can name: another tenant's, or ones that do not exist. */
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
  /** Two for activities, two for pages of the group, one for a group and one for a version; each is good for one request. */
  readonly keys: readonly [string, string, string, string, string, string]
}
type Request = readonly [operation: string, sent?: Sent]
type Case = (named: Named, own: Named) => Request

const ACTIVITY = { source: 'crm', payload: {} }
const ENDPOINTS = '/v0/webhook_endpoints'
const HOOKS = '/v0/hooks'
const PAGE = { customName: 'Sale' }
const at = (list: string, lastId: string) =>
  `cursor=${Buffer.from(`1:${list}:${lastId}`).toString('base64url')}`
const logged = (fields: object, headers = {}): Request => [
  'POST /v0/prospect_logs',
  { json: { ...ACTIVITY, ...fields }, headers },
]
const created = (group: string, key?: string, json: object = PAGE): Request => [
  `POST /v0/page_groups/${group}/pages`,
  { json, headers: key === undefined ? {} : { 'idempotency-key': key } },
]

const grouped = (json: object, key?: string): Request => [
  'POST /v0/page_groups',
  {
    json: { name: 'offers', title: 'Offers', ...json },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  },
]
const pageAt = ({ group, page }: Named) => `/v0/page_groups/${group}/pages/${page}`
const versioned = (named: Named, key?: string, json: object = {}): Request => [
  `POST ${pageAt(named)}/versions`,
  { json, headers: key === undefined ? {} : { 'idempotency-key': key } },
]

/** Every operation, and each place in it where a thing is named. `own` is what the caller has. */
const CASES: Readonly<Record<string, Case>> = {
  // First: an activity of an email makes it the caller's own.
  'the prospect with an email': ({ email }) => [`GET /v0/prospects?email=${email}`],
  'an activity of a prospect': ({ prospect }) => logged({ prospectId: prospect }),
  'an activity of an email': ({ email }) => logged({ email }),
  'the prospect with an external id': ({ externalId }) => [`GET /v0/prospects?externalId=${externalId}`],
  'creating a prospect': ({ externalId }) => ['POST /v0/prospects', { json: { externalId } }],
  'an activity with an idempotency key': ({ keys }) => logged({ idempotencyKey: keys[0] }),
  'the same activity with an idempotency key': ({ keys }) => logged({}, { 'idempotency-key': keys[1] }),
  'a prospect': ({ prospect }) => [`GET /v0/prospects/${prospect}`],
  'prospects after one': ({ prospect }) => [`GET /v0/prospects?${at('prospects', prospect)}`],
  'a correction of a prospect': ({ prospect }) => [
    `PATCH /v0/prospects/${prospect}`,
    { json: { name: 'Ada' } },
  ],
  'an email for the own prospect': ({ email }, own) => [
    `PATCH /v0/prospects/${own.prospect}`,
    { json: { email } },
  ],
  'an external id for the own prospect': ({ externalId }, own) => [
    `PATCH /v0/prospects/${own.prospect}`,
    { json: { externalId } },
  ],
  'merging a prospect into the own one': ({ prospect }, own) => [
    `POST /v0/prospects/${prospect}/merge`,
    { json: { into: own.prospect } },
  ],
  'merging the own prospect into one': ({ prospect }, own) => [
    `POST /v0/prospects/${own.prospect}/merge`,
    { json: { into: prospect } },
  ],
  'a timeline': ({ prospect }) => [`GET /v0/prospects/${prospect}/prospect_logs`],
  'everything about a prospect': ({ prospect }) => [`GET /v0/prospects/${prospect}/export`],
  'a timeline after an activity': ({ prospect, log }) => [
    `GET /v0/prospects/${prospect}/prospect_logs?${at(`prospects/${prospect}?`, `1767225600001 ${log}`)}`,
  ],
  'an activity': ({ log }) => [`GET /v0/prospect_logs/${log}`],
  'the activity of a key': ({ keys }) => [
    `GET /v0/prospect_logs?source=crm&idempotencyKey=${encodeURIComponent(keys[0])}`,
  ],
  'activities after one': ({ log }) => [`GET /v0/prospect_logs?${at('prospect_logs?', log)}`],
  'page groups after one': ({ archived }) => [`GET /v0/page_groups?${at('page_groups?', archived)}`],
  'archived page groups after one': ({ deleted }) => [
    `GET /v0/page_groups?status=archived&${at('page_groups?archived', deleted)}`,
  ],
  'the pages of a group': ({ group }) => [`GET /v0/page_groups/${group}/pages`],
  'the pages of an archived group': ({ archived }) => [`GET /v0/page_groups/${archived}/pages`],
  'the head of a list of pages': ({ group }) => [`HEAD /v0/page_groups/${group}/pages`],
  'the pages of a group after one': ({ group, page }) => [
    `GET /v0/page_groups/${group}/pages?${at(`pages/${group}`, page)}`,
  ],
  'the own pages after one of somebody else': ({ group, page }, own) => [
    `GET /v0/page_groups/${own.group}/pages?${at(`pages/${group}`, page)}`,
  ],
  'a page of a group': ({ group, page }) => [`GET /v0/page_groups/${group}/pages/${page}`],
  'a page by its slug': ({ group }) => [`GET /v0/page_groups/${group}/pages/slug:sale`],
  'a page in the own group': ({ page }, own) => [`GET /v0/page_groups/${own.group}/pages/${page}`],
  'the own page in a group': ({ group }, own) => [`GET /v0/page_groups/${group}/pages/${own.page}`],
  'a page for a group': ({ group }) => created(group),
  'a page for an archived group': ({ archived }) => created(archived),
  'a page for a deleted group': ({ deleted }) => created(deleted),
  'a wrong page for a group': ({ group }) => created(group, undefined, { customName: 7 }),
  'a page with an idempotency key': ({ group, keys }) => created(group, keys[2]),
  'another page with an idempotency key': ({ group, keys }) => created(group, keys[3], {}),
  'a page for the own group with an idempotency key': ({ keys }, own) => created(own.group, keys[2]),
  'a page group': ({ group }) => [`GET /v0/page_groups/${group}`],
  'a deleted page group': ({ deleted }) => [`GET /v0/page_groups/${deleted}`],
  'a page group in a brand': ({ brand }) => grouped({ brandId: brand }),
  'a page group with an idempotency key': ({ keys }) => grouped({}, keys[4]),
  'a change of a page group': ({ group }) => [`PATCH /v0/page_groups/${group}`, { json: { title: 'Sales' } }],
  'a change of a page group for a revision': ({ archived }) => [
    `PATCH /v0/page_groups/${archived}`,
    { json: { title: 'Sales' }, headers: { 'if-match': '"r99"' } },
  ],
  'a brand for the own page group': ({ brand }, { group }) => [
    `PATCH /v0/page_groups/${group}`,
    { json: { brandId: brand } },
  ],
  'a name for a page': (named) => [`PATCH ${pageAt(named)}`, { json: { customName: 'Mine' } }],
  'a name for a page of a revision': (named) => [
    `PATCH ${pageAt(named)}`,
    { json: { customName: 'Mine' }, headers: { 'if-match': '"r99"' } },
  ],
  'the versions of a page': (named) => [`GET ${pageAt(named)}/versions`],
  'the versions of a page after one': (named) => [
    `GET ${pageAt(named)}/versions?${at(`versions/${named.page}`, named.version)}`,
  ],
  'a version': (named) => [`GET ${pageAt(named)}/versions/${named.version}`],
  'a version in the own page': ({ version }, own) => [`GET ${pageAt(own)}/versions/${version}`],
  'a version for a page': (named) => versioned(named),
  'a version with an idempotency key': (named) => versioned(named, named.keys[5]),
  'another version with an idempotency key': (named) => versioned(named, named.keys[5], { content: {} }),
  'a version for the own page with an idempotency key': ({ keys }, own) => versioned(own, keys[5]),
  'publishing a version': (named) => [`POST ${pageAt(named)}/versions/${named.version}/publish`],
  'publishing a version in the own page': ({ version }, own) => [
    `POST ${pageAt(own)}/versions/${version}/publish`,
  ],
  'unscheduling a version': (named) => [`POST ${pageAt(named)}/versions/${named.version}/unschedule`],
  'unpublishing a page': (named) => [`POST ${pageAt(named)}/unpublish`],
  'an erasure': ({ erasure }) => [`GET /v0/erasures/${erasure}`],
  'erasures after one': ({ erasure }) => [`GET /v0/erasures?${at('erasures', erasure)}`],
  'an event': ({ event }) => [`GET /v0/events/${event}`],
  'events after one': ({ sequence }) => [`GET /v0/events?${at('events', sequence)}`],
  'a webhook endpoint': ({ endpoint }) => [`GET ${ENDPOINTS}/${endpoint}`],
  'a change of a webhook endpoint': ({ endpoint }) => [
    `PATCH ${ENDPOINTS}/${endpoint}`,
    { json: { description: 'Mine' } },
  ],
  'another secret for a webhook endpoint': ({ endpoint }) => [`POST ${ENDPOINTS}/${endpoint}/rotate_secret`],
  'a test of a webhook endpoint': ({ endpoint }) => [`POST ${ENDPOINTS}/${endpoint}/test`],
  'the deliveries of a webhook endpoint': ({ endpoint }) => [`GET ${ENDPOINTS}/${endpoint}/deliveries`],
  'the deliveries of a webhook endpoint after one': ({ endpoint, event }) => [
    `GET ${ENDPOINTS}/${endpoint}/deliveries?${at(`deliveries/${endpoint}?`, event)}`,
  ],
  'the own deliveries after one of somebody else': ({ endpoint, event }, own) => [
    `GET ${ENDPOINTS}/${own.endpoint}/deliveries?${at(`deliveries/${endpoint}?`, event)}`,
  ],
  'a delivery': ({ endpoint, event }) => [`GET ${ENDPOINTS}/${endpoint}/deliveries/${event}`],
  'a delivery at the own webhook endpoint': ({ event }, own) => [
    `GET ${ENDPOINTS}/${own.endpoint}/deliveries/${event}`,
  ],
  'a retry of an event': ({ endpoint, event }) => [`POST ${ENDPOINTS}/${endpoint}/deliveries/${event}/retry`],
  'a retry of an event at the own webhook endpoint': ({ event }, own) => [
    `POST ${ENDPOINTS}/${own.endpoint}/deliveries/${event}/retry`,
  ],
  'a replay at a webhook endpoint': ({ endpoint }) => [
    `POST ${ENDPOINTS}/${endpoint}/replay`,
    { json: { since: '1970-01-01T00:00:00Z' } },
  ],
  'the key of the request': () => ['GET /v0/api_keys/self'],
  'a hook': ({ hook }) => [`GET ${HOOKS}/${hook}`],
  'hooks after one': ({ hook }) => [`GET ${HOOKS}?${at('hooks', hook)}`],
  'a change of a hook': ({ hook }) => [`PATCH ${HOOKS}/${hook}`, { json: { source: 'mine' } }],
  'another token for a hook': ({ hook }) => [`PATCH ${HOOKS}/${hook}`, { json: { verify: { token: true } } }],
  'trying a hook': ({ hook }) => [`POST ${HOOKS}/${hook}/try`, { json: { body: '{}' } }],
  'erasing a prospect': ({ prospect }) => ['POST /v0/erasures', { json: { prospectId: prospect } }],
  'lifting the block of an erasure': ({ erasure }) => [`POST /v0/erasures/${erasure}/unblock`],
  'erasing an email': ({ email }) => ['POST /v0/erasures', { json: { email, blockDays: 1 } }],
  'erasing an external id': ({ externalId }) => ['POST /v0/erasures', { json: { externalId, blockDays: 1 } }],
  'deleting a page': (named) => [`DELETE ${pageAt(named)}`],
  'deleting a webhook endpoint': ({ endpoint }) => [`DELETE ${ENDPOINTS}/${endpoint}`],
  'deleting a hook': ({ hook }) => [`DELETE ${HOOKS}/${hook}`],
  'deleting a page group': ({ archived }) => [`DELETE /v0/page_groups/${archived}`],
}
/** Requests that the owner gets refused too, before any look-up, or because both tenants have such an email. */
const ALIKE_FOR_OWNER = [
  'a page for a deleted group',
  'a deleted page group',
  'a wrong page for a group',
  'erasing an email',
  'erasing an external id',
]

const openService = async (t: Test, kind: StoreKind) => {
  const { store, statements } = await opened(t, kind)
  const called = new Set<string>()
  const scene = await openScene({ storeAs: () => noting(store, called) })
  const deps = { store, clock: scene.clock, newId: scene.newId }

  let tenants = 0
  const newTenant = async (name: string) => {
    tenants++
    const { tenantId, brandId } = await createTenant(deps)({ name })
    const { apiKey } = await issueApiKey(deps)({ tenantId, name: null, scopes: SCOPES, lifeMs: null })
    const call = (...[operation, sent = {}]: Request) => scene.call(operation, { ...sent, key: apiKey })
    const newGroup = async (title: string) =>
      (await createPageGroup(deps)({ tenantId, name, title })).value.pageGroupId
    const [group, archived, deleted] = [await newGroup('One'), await newGroup('Two'), await newGroup('Three')]
    await updatePageGroup(deps)({ tenantId, pageGroupId: archived, status: 'archived' })
    await updatePageGroup(deps)({ tenantId, pageGroupId: deleted, status: 'deleted' })
    const email = `${tenantId}@example.com`
    const keys = keysOf(tenantId)
    const externalId = `crm-${tenantId}`
    const sent = { email, externalId, idempotencyKey: keys[0] }
    const { prospectId, prospectLogId } = (await call(...logged(sent))).json
    const other = (await call(...logged({ idempotencyKey: keys[1] }))).json
    await call(`POST /v0/prospects/${other['prospectId']}/merge`, { json: { into: prospectId } })
    const { pageId } = (await call(...created(group, keys[2], { ...PAGE, slug: 'sale' }))).json
    await call(...created(group, keys[3]))
    await call(...grouped({}, keys[4]))
    const versions = `/v0/page_groups/${group}/pages/${pageId}/versions`
    const { versionId } = (
      await call(`POST ${versions}`, { json: {}, headers: { 'idempotency-key': keys[5] } })
    ).json
    const gone = { email: `gone-from-${tenantId}@example.com` }
    await call('POST /v0/erasures', { json: gone })
    const { erasureId } = (await call('POST /v0/erasures', { json: gone })).json
    const json = { url: 'https://example.com' }
    const { webhookEndpointId } = (await call(`POST ${ENDPOINTS}`, { json })).json
    const verify = { preset: 'stripe', secret: 's' }
    const { hookId } = (await call(`POST ${HOOKS}`, { json: { source: 'stripe', verify } })).json
    // Every tenant has another number of events, so that a number tells whose it is.
    for (let i = 0; i < 3 * tenants; i++) await call(...logged({ email }))
    await store.events.number({ tenantId, now: new Date(scene.clock()).toISOString(), max: 100 })
    const { items } = (await call('GET /v0/events')).json as {
      items: { eventId: string; sequence: number }[]
    }
    const last = items.at(-1)
    await call('GET /v0/prospect_log_counts')
    await call(`GET /v0/prospects?search=${tenantId}`)
    // Received, though not stored: it is not signed.
    await call(`POST /hooks/${hookId}`, { body: '{}', key: null })
    const own: Named = {
      ...{
        endpoint: String(webhookEndpointId),
        hook: String(hookId),
        event: String(last?.eventId),
        sequence: String(last?.sequence),
      },
      ...{ group, archived, deleted, email, externalId, keys },
      erasure: String(erasureId),
      brand: brandId,
      page: String(pageId),
      version: String(versionId),
      prospect: String(prospectId),
      log: String(prospectLogId),
    }
    return { call, own }
  }
  /** The answer to a request, and the texts of its statements. */
  const asked = async (call: (...request: Request) => Promise<Answer>, request: Request) => {
    const before = statements()?.length ?? 0
    const answer = await call(...request)
    const texts = (statements() ?? [])
      .slice(before)
      .map(({ text }) => text)
      // No caller waits for these: what is told to other processes, and when a key was used.
      .filter((text) => !/pg_notify|set last_used_at/.test(text))
    return { ...withoutIds(answer), texts }
  }
  return { newTenant, asked, newId: scene.newId, called }
}

const keysOf = (tenantId: string) =>
  [1, 2, 3, 4, 5, 6].map((number) => `${number} of ${tenantId}`) as unknown as Named['keys']

/** The store, with the names of the verbs that are called. */
const noting = (store: Store, called: Set<string>): Store =>
  Object.fromEntries(
    Object.entries(store).map(([port, verbsOf]) => [
      port,
      typeof verbsOf === 'function'
        ? verbsOf
        : Object.fromEntries(
            Object.entries(verbsOf as Record<string, (...given: never[]) => unknown>).map(([verb, run]) => [
              verb,
              (...given: never[]) => {
                called.add(`${port}.${verb}`)
                return run(...given)
              },
            ]),
          ),
    ]),
  ) as unknown as Store

/** All of an answer but what is new in each: the id of the request, ids and numbers that were made for it. */
const withoutIds = ({ status, headers, body }: Answer) => {
  const requestId = String(headers['x-request-id'])
  const same = (text: string) =>
    text.replaceAll(requestId, 'request').replaceAll(/_[a-z0-9]{26}|(?<="versionNumber":)\d/g, '_…')
  // A problem names the request.
  const length = Number(headers['content-length']) - (status >= 400 ? requestId.length : 0)
  // A weak one is made of the whole body.
  const etag = headers['etag']?.replace(/^W\/.*/, 'W/…')
  const rest = { ...headers, ...(etag && { etag }), 'content-length': `${length}` }
  return { status, headers: same(JSON.stringify(rest)), body: same(body), told: body }
}

overStores(async (t, kind) => {
  const { newTenant, asked, newId, called } = await openService(t, kind)
  // The stranger's rows are older, so that they come after the others' cursors.
  const stranger = await newTenant('Stranger')
  const owner = await newTenant('Owner')
  const nobodys: Named = {
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

  for (const [name, request] of Object.entries(CASES))
    t.test(`${name}: somebody else’s is answered as one that nobody has`, async (t) => {
      const { told, ...theirs } = await asked(stranger.call, request(owner.own, stranger.own))
      const { told: _, ...missing } = await asked(stranger.call, request(nobodys, stranger.own))
      t.strictSame(theirs, missing)
      t.ok(kind.name !== 'postgres' || theirs.texts.length > 0, 'statements were counted')
      const given = JSON.stringify(request(owner.own, stranger.own))
      for (const [what, text] of Object.entries({ ...owner.own, keys: owner.own.keys.join() }))
        t.notOk(
          what !== 'sequence' && told.includes(text) && !given.includes(text),
          `the answer does not tell the ${what}`,
        )
      const { told: __, ...own } = await asked(owner.call, request(owner.own, owner.own))
      if (!ALIKE_FOR_OWNER.includes(name)) t.notSame(own, theirs, 'its owner is answered otherwise')
    })

  t.test('no operation that names a thing is left out', async (t) => {
    const match = createRouter(ROUTES)
    const operations = Object.values(CASES).map((request) => {
      const [method = '', target = ''] = request(owner.own, stranger.own)[0].split(' ')
      return match(target.replace(/\?.*/, ''))?.routes.get(method)
    })
    const left = ROUTES.filter((route) => Object.keys(route.ids).length > 0 && !operations.includes(route))
    t.strictSame(
      left.map(({ operationId }) => operationId),
      [],
    )
  })

  t.test('operations reach no verb that names no tenant but those that find the key', async (t) => {
    const serving = verbs.filter(({ serves }) => serves === 'callers').map(({ name }) => name)
    t.strictSame([...called].sort(), serving.sort())
    const tenantless = verbs.filter((verb) => 'noTenant' in verb && called.has(verb.name))
    t.strictSame(tenantless.map(({ name }) => name).sort(), [
      'apiKeys.find',
      'apiKeys.findByHashes',
      'apiKeys.markUsed',
      'hooks.findByIds',
    ])
  })
})
