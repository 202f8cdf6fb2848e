import createClient, { type Middleware } from 'openapi-fetch'
import t, { type Test } from 'tap'
import { ROUTES } from '../../src/adapters/http/routes.ts'
import { embeddedDatabase, newFolder, seed, startServer, until } from '../support/program.ts'
// Generated from the document by `npm run test:types`. Nothing below is cast: what compiles is what the document says.
import type { paths } from './openapi-types.ts'

/** A client with the types of the document, over a running server with a tenant, its key and a page group. */
const setting = async (t: Test) => {
  const { env } = embeddedDatabase(`${newFolder(t)}/test.db`)
  const { apiKey, pageGroupId } = await seed(env)
  const server = await startServer(t, { ...env, LOG_LEVEL: 'info' })
  const client = createClient<paths>({ baseUrl: server.url, headers: { 'x-api-key': apiKey } })
  return { client, url: server.url, path: { page_group_id: pageGroupId } }
}

t.test('a client generated from the document gets through every operation', async (t) => {
  const { client, path } = await setting(t)
  const called = new Set<string>()
  client.use({
    onRequest: ({ request, schemaPath }) => {
      called.add(`${request.method} ${schemaPath}`)
    },
  })

  const logged = await client.POST('/v0/prospect_logs', {
    params: { header: { 'Idempotency-Key': 'crm-4711' } },
    body: { source: 'crm', email: 'ada@example.com', payload: { form: 'contact', answers: [1, null] } },
  })
  const receipt: { prospectId: string; createdProspect: boolean } | undefined = logged.data
  t.equal(logged.response.status, 201)
  t.match(receipt, { prospectId: /^prospect_/, createdProspect: true, type: 'webhook' })

  const ids = {
    prospect_id: logged.data?.prospectId ?? '',
    prospect_log_id: logged.data?.prospectLogId ?? '',
  }
  const found = await client.GET('/v0/prospects', { params: { query: { email: 'ADA@example.com' } } })
  t.match(found.data, { items: [{ prospectId: ids.prospect_id, email: 'ada@example.com' }], hasMore: false })
  const named = await client.PATCH('/v0/prospects/{prospect_id}', {
    params: { path: ids },
    body: { name: 'Ada', email: null },
  })
  const email: string | null | undefined = named.data?.email
  t.strictSame([email, named.data?.name], [null, 'Ada'])
  const other = await client.POST('/v0/prospects', { body: { externalId: 'crm:4711' } })
  const survivor = await client.POST('/v0/prospects/{prospect_id}/merge', {
    params: { path: { prospect_id: other.data?.prospectId ?? '' } },
    body: { into: ids.prospect_id },
  })
  t.equal(survivor.data?.prospectId, ids.prospect_id)
  const read = await client.GET('/v0/prospects/{prospect_id}', { params: { path: ids } })
  t.equal(read.data?.updatedAt, survivor.data?.updatedAt)
  const timeline = await client.GET('/v0/prospects/{prospect_id}/prospect_logs', {
    params: { path: ids, query: { since: '2020-01-01T00:00:00Z', type: 'webhook' } },
  })
  const everything = await client.GET('/v0/prospects/{prospect_id}/export', {
    params: { path: ids },
    parseAs: 'text',
  })
  const lines: readonly string[] = everything.data?.trimEnd().split('\n') ?? []
  t.strictSame(JSON.parse(lines[0] ?? ''), { prospect: read.data })
  t.equal(lines.at(-1), '{"done":true,"logs":1}')
  const log = await client.GET('/v0/prospect_logs/{prospect_log_id}', { params: { path: ids } })
  const payload: Record<string, unknown> | undefined = log.data?.payload
  t.strictSame(payload, { form: 'contact', answers: [1, null] })
  t.strictSame(timeline.data?.items[0], log.data)
  const byKey = { source: 'crm', idempotencyKey: 'crm-4711' }
  const arrived = await client.GET('/v0/prospect_logs', { params: { query: byKey } })
  t.strictSame(arrived.data?.items, [log.data])

  const created = await client.POST('/v0/page_groups/{page_group_id}/pages', {
    params: { path },
    body: { supplementaryContext: 'A page about the spring sale' },
  })
  const status: 'processing' | undefined = created.data?.status
  t.equal(status, 'processing')
  const withoutBody = await client.POST('/v0/page_groups/{page_group_id}/pages', { params: { path } })
  t.equal(withoutBody.response.status, 201)

  const groups = await client.GET('/v0/page_groups', { params: { query: { limit: 1, status: 'active' } } })
  t.match(groups.data, { items: [{ pageGroupId: path.page_group_id, pagesCount: 2 }], limit: 1 })

  const first = await client.GET('/v0/page_groups/{page_group_id}/pages', {
    params: { path, query: { limit: 1 } },
  })
  const cursor: string | undefined = first.data?.nextCursor
  const second = await client.GET('/v0/page_groups/{page_group_id}/pages', {
    params: { path, query: { ...(cursor !== undefined && { cursor }) } },
  })
  t.strictSame(
    second.data?.items.map(({ pageId, effectiveName }) => [pageId, effectiveName]),
    [[created.data?.pageId, 'A page about the spring sale']],
  )

  const { data: page } = await client.GET('/v0/page_groups/{page_group_id}/pages/{page_id}', {
    params: { path: { ...path, page_id: created.data?.pageId ?? '' }, query: { wait: 25 } },
  })
  const shown = await client.GET('/v0/published_pages', {
    params: { query: { publishedAfter: '2026-01-01T00:00:00Z', limit: 1 } },
  })
  const publishedAt: string | undefined = shown.data?.items[0]?.publishedVersion.publishedAt
  t.ok(publishedAt)
  t.match(page, { publishedVersion: { versionNumber: 1 }, latestVersion: { status: 'published' } })

  const ofPage = { ...path, page_id: created.data?.pageId ?? '' }
  const version = await client.POST('/v0/page_groups/{page_group_id}/pages/{page_id}/versions', {
    params: { path: ofPage },
    body: { content: { h1: 'Tulips' }, publish: false },
  })
  const ofVersion = { ...ofPage, version_id: version.data?.versionId ?? '' }
  await until('the version is ready', async () => {
    const { data } = await client.GET(
      '/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}',
      { params: { path: ofVersion } },
    )
    return data?.status === 'ready'
  })
  const publish = '/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/publish'
  const publishAt = new Date(Date.now() + 3_600_000).toISOString()
  const later = await client.POST(publish, { params: { path: ofVersion }, body: { publishAt } })
  t.match(later.data?.latestVersion, { status: 'scheduled', publishAt })
  const unschedule = '/v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/unschedule'
  const unscheduled = await client.POST(unschedule, { params: { path: ofVersion } })
  t.match(unscheduled.data, { status: 'ready', publishAt: null })
  const published = await client.POST(publish, { params: { path: ofVersion } })
  const content: Record<string, unknown> | undefined = published.data?.publishedVersion?.content
  t.strictSame(content, { h1: 'Tulips' })
  const stale = await client.PATCH('/v0/page_groups/{page_group_id}/pages/{page_id}', {
    params: { path: ofPage, header: { 'If-Match': '"r1"' } },
    body: { customName: 'Spring' },
  })
  t.match(stale.error, { code: 'precondition_failed', revision: 7 })
  const versions = await client.GET('/v0/page_groups/{page_group_id}/pages/{page_id}/versions', {
    params: { path: ofPage },
  })
  t.match(versions.data?.items, [{ versionNumber: 2 }, { versionNumber: 1 }])
  const withdrawn = await client.POST('/v0/page_groups/{page_group_id}/pages/{page_id}/unpublish', {
    params: { path: ofPage },
  })
  t.equal(withdrawn.data?.publishedVersion, null)
  const removed = await client.DELETE('/v0/page_groups/{page_group_id}/pages/{page_id}', {
    params: { path: ofPage },
  })
  t.equal(removed.response.status, 204)
  const another = await client.POST('/v0/page_groups', { body: { name: 'n', title: 't', actions: [1] } })
  const ofGroup = { page_group_id: another.data?.pageGroupId ?? '' }
  const archived = await client.PATCH('/v0/page_groups/{page_group_id}', {
    params: { path: ofGroup },
    body: { status: 'archived' },
  })
  const { data: group } = await client.GET('/v0/page_groups/{page_group_id}', { params: { path: ofGroup } })
  const actions: unknown[] | undefined = group?.actions
  t.strictSame([actions, group], [[1], archived.data])

  const { data: batch } = await client.POST('/v0/prospect_logs/batch', {
    body: { items: [{ source: 'crm', payload: {} }] },
  })
  t.equal(batch?.accepted, 1)
  const { data: pairs } = await client.GET('/v0/prospect_conflicts', { params: { query: { limit: 1 } } })
  t.strictSame(pairs?.items, [])
  const { data: people } = await client.POST('/v0/prospects/batch', {
    body: { items: [{ externalId: 'crm:4711', email: 'Berlin' }] },
  })
  const [person] = people?.items ?? []
  const conflicts = person && 'prospect' in person ? person.prospect.conflicts : []
  t.strictSame(conflicts, [{ field: 'email', reason: 'unusable' }])
  const erased = await client.POST('/v0/erasures', { body: { email: 'grace@example.com' } })
  const ofErasure = { erasure_id: erased.data?.erasureId ?? '' }
  const erasure = await client.GET('/v0/erasures/{erasure_id}', { params: { path: ofErasure } })
  t.match((await client.GET('/v0/erasures')).data?.items, [{ erasureId: erasure.data?.erasureId }])
  const unblocked = await client.POST('/v0/erasures/{erasure_id}/unblock', { params: { path: ofErasure } })
  t.match(unblocked.response.status, 200)

  const endpoints = '/v0/webhook_endpoints'
  const endpoint = `${endpoints}/{webhook_endpoint_id}` as const
  const hook = await client.POST(endpoints, { body: { url: 'https://nowhere.invalid' } })
  const secret: string | undefined = hook.data?.secret
  t.match(secret, /^whsec_/)
  const ofHook = { webhook_endpoint_id: hook.data?.webhookEndpointId ?? '' }
  const params = { path: ofHook }
  t.equal((await client.GET(endpoints)).data?.items.length, 1)
  t.match((await client.GET(endpoint, { params })).data, ofHook.webhook_endpoint_id && { status: 'enabled' })
  const narrowed = await client.PATCH(endpoint, { params, body: { types: ['prospect.created'] } })
  t.strictSame(narrowed.data?.types, ['prospect.created'])
  t.equal((await client.POST(`${endpoint}/test`, { params })).data?.delivered, false)
  t.match((await client.POST(`${endpoint}/rotate_secret`, { params })).data?.secret, /^whsec_/)
  await client.POST('/v0/prospect_logs', { body: { source: 'crm', payload: {} } })
  const event = await until('an event is in the feed', async () => {
    const { data } = await client.GET('/v0/events', { params: { query: { types: 'prospect.created' } } })
    return data?.items[0]
  })
  const ofEvent = { event_id: event?.eventId ?? '' }
  t.strictSame((await client.GET('/v0/events/{event_id}', { params: { path: ofEvent } })).data, event)
  const deliveries = await client.GET(`${endpoint}/deliveries`, { params })
  t.match(deliveries.data?.items, [{ eventId: event?.eventId }])
  const delivery = await client.GET(`${endpoint}/deliveries/{event_id}`, {
    params: { path: { ...ofHook, ...ofEvent } },
  })
  t.match(delivery.data, { eventId: event?.eventId, lastAttempts: [], body: { type: event?.type } })
  const retried = await client.POST(`${endpoint}/deliveries/{event_id}/retry`, {
    params: { path: { ...ofHook, ...ofEvent } },
  })
  t.equal(retried.response.status, 202)
  const replayed = await client.POST(`${endpoint}/replay`, {
    params,
    body: { since: '2026-01-01T00:00:00Z' },
  })
  t.type(replayed.data?.deliveries, 'number')
  t.equal((await client.DELETE(endpoint, { params })).response.status, 204)

  const verify = { token: true } as const
  const vendor = await client.POST('/v0/hooks', { body: { source: 'form', verify } })
  const ofVendor = { path: { hook_id: vendor.data?.hookId ?? '' } }
  t.match((await client.GET('/v0/hooks')).data?.items, [{ hookId: ofVendor.path.hook_id }])
  t.equal((await client.GET('/v0/hooks/{hook_id}', { params: ofVendor })).data?.lastRefusal, null)
  const body = { headers: {}, body: '{"type":"form"}' }
  const tried = await client.POST('/v0/hooks/{hook_id}/try', { params: ofVendor, body })
  t.match(tried.data, { verified: true, activities: [{ payload: { type: 'form' } }] })
  const disabled = await client.PATCH('/v0/hooks/{hook_id}', {
    params: ofVendor,
    body: { status: 'disabled' },
  })
  t.equal(disabled.data?.status, 'disabled')
  t.equal((await client.DELETE('/v0/hooks/{hook_id}', { params: ofVendor })).response.status, 204)

  t.equal((await client.GET('/v0/api_keys/self')).data?.expiresAt, null)
  const counts = await client.GET('/v0/prospect_log_counts', { params: { query: { by: 'day' } } })
  t.match(counts.data, { items: [], countedUntil: String })

  const gone = await client.DELETE('/v0/page_groups/{page_group_id}', { params: { path } })
  t.equal(gone.response.status, 204)

  const operations = ROUTES.map(({ method, path }) => `${method} ${path}`)
  t.strictSame([...called].sort(), operations.sort())
})

t.test('what it is refused is a problem, and the status tells its codes apart', async (t) => {
  const { client, url, path } = await setting(t)

  const wrong = await client.GET('/v0/page_groups', { params: { query: { limit: 1_000 } } })
  t.equal(wrong.data, undefined)
  t.match(wrong.error, { code: 'invalid_request', errors: [{ parameter: 'limit' }] })
  const detail: string | undefined = wrong.error?.errors?.[0]?.detail
  t.match(detail, /from 1 to 100/)

  const missing = await client.GET('/v0/page_groups/{page_group_id}/pages/{page_id}', {
    params: { path: { ...path, page_id: 'page_1' } },
  })
  t.equal(missing.error?.code, 'page_not_found')

  const heard: string[] = []
  const listen: Middleware = {
    onResponse: ({ response, schemaPath }) => {
      heard.push(`${response.status} ${schemaPath}`)
    },
  }
  const stranger = createClient<paths>({ baseUrl: url })
  stranger.use(listen)
  const { error } = await stranger.GET('/v0/page_groups')
  t.equal(error?.type, '/problems/missing_api_key')
  t.strictSame(heard, ['401 /v0/page_groups'])
})

t.test('its types refuse what the document does not allow', async (t) => {
  // Nothing is called: a line that compiles after all is a fault, and the checks tell it.
  const refused = (client: ReturnType<typeof createClient<paths>>) => [
    // @ts-expect-error: payload is required
    () => client.POST('/v0/prospect_logs', { body: { source: 'crm' } }),
    // @ts-expect-error: the status is none of the three
    () => client.GET('/v0/page_groups', { params: { query: { status: 'gone' } } }),
    // @ts-expect-error: there is no such operation
    () => client.PUT('/v0/page_groups'),
    // @ts-expect-error: the path needs the id of a group
    () => client.GET('/v0/page_groups/{page_group_id}/pages'),
  ]
  t.equal(refused(createClient<paths>()).length, 4)
})
