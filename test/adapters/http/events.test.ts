import t from 'tap'
import { EVENT_TYPES } from '../../../src/shapes/event.ts'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'

const openFeed = async () => {
  const scene = await openScene({ everyEvent: true })
  const { store, clock, owner } = scene
  /** Numbers events, as the dispatcher does. */
  const number = (tenantId = owner.tenantId) =>
    store.events.number({ tenantId, now: new Date(clock()).toISOString(), max: 1_000 })
  const log = (json: object, key = owner.apiKey) =>
    scene.call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {}, ...json }, key })
  return { ...scene, number, log }
}
type Item = {
  readonly eventId: string
  readonly sequence: number
  readonly type: string
  readonly apiKeyId?: string | null
  readonly data: object
}
const itemsOf = ({ json }: { readonly json: object }) => (json as { items: Item[] }).items

t.test('200: events in order, each with its resource as GET shows it', async (t) => {
  const { call, log, number, newGroup, newPage, publish } = await openFeed()
  const { prospectId, prospectLogId } = (await log({ email: 'ada@example.com', payload: { n: 1 } })).json
  const { pageGroupId } = await newGroup()
  const { pageId } = await newPage(pageGroupId, { customName: 'Sale' })
  await number()
  while (await publish());
  await call(`POST /v0/page_groups/${pageGroupId}/pages/${pageId}/unpublish`)
  await number()
  const feed = await call('GET /v0/events')
  t.equal(feed.status, 200)
  const items = itemsOf(feed)
  const body = async (path: string) => (await call(`GET /v0/${path}`)).json
  const page = `page_groups/${pageGroupId}/pages/${pageId}`
  const [{ versionId }] = (await body(`${page}/versions`))['items'] as [{ versionId: string }]
  const version = { ...(await body(`${page}/versions/${versionId}`)), pageGroupId, pageId }
  // What else leads to a prospect is shown by the prospect alone.
  const { otherEmails, otherExternalIds, formerEmails, formerExternalIds, ...prospect } = await body(
    `prospects/${prospectId}`,
  )
  t.strictSame(
    items.map(({ sequence, type, data }) => [sequence, type, data]),
    [
      [1, 'prospect.created', prospect],
      [2, 'prospect_log.created', await body(`prospect_logs/${prospectLogId}`)],
      [3, 'page_group.created', await body(`page_groups/${pageGroupId}`)],
      [4, 'page.created', await body(page)],
      [5, 'page_version.published', version],
      [6, 'page.unpublished', await body(page)],
    ],
  )
  t.strictSame((await call(`GET /v0/events/${items[3]?.eventId}`)).json, items[3])
  t.match(feed.json, { hasMore: false })
  const cursor = feed.json['nextCursor']
  t.match((await call(`GET /v0/events?cursor=${cursor}`)).json, { items: [], nextCursor: cursor })
})

t.test('200: every event except those of activities has the key that caused it', async (t) => {
  const { call, completeDeletions, log, number, newPage, publish, owner } = await openFeed()
  const json = { items: [{ source: 'crm', email: 'eve@example.com', payload: {} }] }
  await call('POST /v0/prospect_logs/batch', { json })
  const { prospectId } = (await log({ email: 'ada@example.com' })).json
  await log({ email: 'ada@example.com', name: 'Ada' })
  await call(`PATCH /v0/prospects/${prospectId}`, { json: { name: 'Ada L.' } })
  const { pageGroupId } = (await call('POST /v0/page_groups', { json: { name: 'n', title: 't' } })).json
  const group = `/v0/page_groups/${pageGroupId}`
  const { pageId } = await newPage(String(pageGroupId))
  const page = `${group}/pages/${pageId}`
  while (await publish());
  const [{ versionId } = {}] = (await call(`GET ${page}/versions`)).json['items'] as { versionId?: string }[]
  await call(`POST ${page}/unpublish`)
  await call(`POST ${page}/versions/${versionId}/publish`)
  await call(`PATCH ${page}`, { json: { customName: 'Sale' } })
  await call(`DELETE ${page}`)
  await call(`PATCH ${group}`, { json: { title: 'T' } })
  await call(`DELETE ${group}`)
  await completeDeletions()
  await call('POST /v0/erasures', { json: { prospectId } })
  await number()
  const items = itemsOf(await call('GET /v0/events?limit=100'))
  const named = items.map(({ type, apiKeyId }) => `${type} ${apiKeyId === owner.apiKeyId ? 'key' : apiKeyId}`)
  t.strictSame(named.sort(), [
    'page.created key',
    'page.deleted key',
    'page.unpublished key',
    'page.updated key',
    'page_group.created key',
    'page_group.deleted key',
    'page_group.updated key',
    'page_version.published key',
    'page_version.published null',
    'prospect.created key',
    'prospect.created key',
    'prospect.erased key',
    'prospect.updated key',
    'prospect.updated key',
    'prospect_log.created undefined',
    'prospect_log.created undefined',
    'prospect_log.created undefined',
  ])
})

t.test('200: later events follow a cursor, even the cursor of the latest event', async (t) => {
  const { call, log, number } = await openFeed()
  await log({ email: 'ada@example.com' })
  await number()
  const { nextCursor } = (await call('GET /v0/events?cursor=latest')).json
  await log({ email: 'eve@example.com' })
  t.strictSame(itemsOf(await call(`GET /v0/events?cursor=${nextCursor}`)), [], 'not before it has a number')
  await number()
  const later = await call(`GET /v0/events?cursor=${nextCursor}&types=prospect.created,prospect.erased`)
  t.match(itemsOf(later), [{ sequence: 3, type: 'prospect.created', data: { email: 'eve@example.com' } }])
})

t.test('200: the feed has no data of an erased person, and shows a deleted group as deleted', async (t) => {
  const { call, completeDeletions, log, number, newGroup, newPage, publish } = await openFeed()
  const { prospectId, prospectLogId } = (await log({ email: 'ada@example.com', name: 'Ada' })).json
  await call('POST /v0/erasures', { json: { prospectId } })
  const { pageGroupId } = await newGroup()
  const { pageId } = await newPage(pageGroupId)
  await publish()
  await call(`DELETE /v0/page_groups/${pageGroupId}`)
  await completeDeletions()
  await number()
  const items = itemsOf(await call('GET /v0/events'))
  const of = (type: string) => items.find((item) => item.type === type)?.data
  t.strictSame(of('prospect.created'), { prospectId })
  t.strictSame(of('prospect.erased'), { prospectId })
  t.strictSame(of('prospect_log.created'), { prospectId, prospectLogId }, 'no eraser has run')
  t.strictSame(of('page.unpublished'), { pageGroupId, pageId })
  t.match(of('page_group.deleted'), { pageGroupId, status: 'deleted', deletedAt: /Z$/ })
  t.strictSame(
    items.slice(-2).map(({ type }) => type),
    ['page.unpublished', 'page_group.deleted'],
  )
})

t.test('400: unknown types, a wrong limit and a wrong cursor', async (t) => {
  const { call } = await openFeed()
  const detail = `must be one of ${EVENT_TYPES.join(', ')}`
  for (const types of ['prospect.gone', 'page.created,', '', 'page.created, page.deleted']) {
    const answer = await call(`GET /v0/events?types=${encodeURIComponent(types)}`)
    const errors = [{ detail, parameter: 'types' }]
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }), types)
  }
  t.match(await call('GET /v0/events?limit=0'), { status: 400, json: { code: 'invalid_request' } })
  const cursor = Buffer.from('1:events:1').toString('base64url')
  for (const wrong of [cursor, 'x', '', 'LATEST'])
    t.match(await call(`GET /v0/events?cursor=${wrong}`), { status: 400, json: { code: 'invalid_cursor' } })
})

t.test('410: the events after the cursor are no longer kept', async (t) => {
  const { call, log, number, store, owner } = await openFeed()
  const { nextCursor } = (await call('GET /v0/events')).json
  await log({})
  await number()
  const beforeEventId = `event_${'z'.repeat(26)}`
  await store.events.expire({ tenantId: owner.tenantId, beforeEventId, max: 10 })
  const answer = await call(`GET /v0/events?cursor=${nextCursor}`)
  const detail = 'The events after this cursor are no longer kept.'
  t.strictSame(answer.json, problemFor(answer, 'cursor_expired', 410, detail))
  t.match((await call('GET /v0/events')).json, { items: [], hasMore: false })
})
