import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { isoTime } from '../../../src/core/engine/times.ts'
import { ATTEMPTS_MAX } from '../../../src/core/pages/publish-versions.ts'
import { updatePageGroup } from '../../../src/core/pages/update-page-group.ts'
import type { NewPage } from '../../../src/shapes/page.ts'
import { DATABASE_AWAY, failing, openScene, problemFor } from '../../support/api.ts'
import { someClaim } from '../../support/rows.ts'
import { countedIds, idOf } from '../../support/setting.ts'

/** A group with one page, and the request that reads it. */
const openSceneOf = async (page: Partial<NewPage> = {}, options = {}) => {
  const scene = await openScene(options)
  const { pageGroupId } = await scene.newGroup()
  const { pageId } = await scene.newPage(pageGroupId, page)
  return { ...scene, pageGroupId, pageId, READ: `GET /v0/page_groups/${pageGroupId}/pages/${pageId}` }
}

t.test('200: a page can be read before anything of it is published', async (t) => {
  const { call, owner, pageGroupId, pageId, READ } = await openSceneOf()
  const answer = await call(READ)
  t.equal(answer.status, 200)
  t.equal(answer.headers['content-type'], 'application/json')
  t.equal(
    answer.body,
    jsonLine({
      pageId,
      pageGroupId,
      tenantId: owner.tenantId,
      createdAt: '2026-01-01T00:00:00.000Z',
      effectiveName: 'Offers 1',
      customName: null,
      computedName: 'Offers 1',
      supplementaryContext: null,
      publishedVersion: null,
      latestVersion: {
        versionId: idOf('pageversion', 7),
        versionNumber: 1,
        status: 'processing',
        failureReason: null,
        publishAt: null,
      },
      unpublishAt: null,
    }),
  )
})

t.test('200: a published page has its published version', async (t) => {
  const page = { customName: 'Sale', supplementaryContext: 'About the\nspring sale' }
  const { call, clock, publish, owner, pageGroupId, pageId, READ } = await openSceneOf(page)
  clock.advance(250)
  await publish()
  const answer = await call(READ)
  const version = { versionId: idOf('pageversion', 7), versionNumber: 1 }
  t.equal(
    answer.body,
    jsonLine({
      pageId,
      pageGroupId,
      tenantId: owner.tenantId,
      createdAt: '2026-01-01T00:00:00.000Z',
      effectiveName: 'Sale',
      customName: 'Sale',
      computedName: 'About the spring sale',
      supplementaryContext: 'About the\nspring sale',
      publishedVersion: { ...version, publishedAt: '2026-01-01T00:00:00.250Z' },
      latestVersion: { ...version, status: 'published', failureReason: null, publishAt: null },
      unpublishAt: null,
    }),
  )
})

t.test('200: a page whose version failed tells why', async (t) => {
  const { call, store, clock, publish, READ } = await openSceneOf()
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const now = isoTime(clock())
    clock.advance(1_000)
    await store.versions.claim(someClaim({ now, until: isoTime(clock()), max: 1 }))
  }
  await publish()
  t.match((await call(READ)).json, {
    publishedVersion: null,
    latestVersion: { status: 'failed', failureReason: 'Gave up after 5 interrupted attempts.' },
  })
})

t.test('200: a blank custom name does not hide the computed one', async (t) => {
  const { call, READ } = await openSceneOf({ customName: ' \t' })
  t.match((await call(READ)).json, { effectiveName: 'Offers 1', customName: ' \t', computedName: 'Offers 1' })
})

t.test('200: a page of an archived group can still be read', async (t) => {
  const { owner, call, store, clock, pageGroupId, READ } = await openSceneOf()
  await updatePageGroup({ store, clock, newId: countedIds() })({
    tenantId: owner.tenantId,
    pageGroupId,
    status: 'archived',
  })
  t.equal((await call(READ)).status, 200)
})

t.test('200: HEAD answers as GET does, without the body', async (t) => {
  const { call, READ } = await openSceneOf()
  const get = await call(READ)
  const head = await call(READ.replace('GET', 'HEAD'))
  t.strictSame([head.status, head.body], [200, ''])
  t.equal(head.headers['content-length'], String(Buffer.byteLength(get.body)))
})

t.test('200: repeated headers that mean nothing to a read are ignored', async (t) => {
  const { call, READ } = await openSceneOf()
  t.equal((await call(READ, { repeatedHeaders: ['idempotency-key', 'content-type'] })).status, 200)
})

t.test('401: a key is refused from the moment it expires', async (t) => {
  const { call, clock, keyFor, READ } = await openSceneOf()
  const { apiKey } = await keyFor(1_000)
  clock.advance(999)
  t.equal((await call(READ, { key: apiKey })).status, 200)
  clock.advance(1)
  const answer = await call(READ, { key: apiKey })
  const detail = 'The API key is not valid: unknown, expired or revoked.'
  t.equal(answer.status, 401)
  t.strictSame(answer.json, problemFor(answer, 'invalid_api_key', 401, detail))
})

t.test('403: the key needs the scope pages:read', async (t) => {
  const { call, keyWith, READ } = await openSceneOf()
  const key = await keyWith('prospect_logs:write', 'page_groups:read', 'pages:write')
  const answer = await call(READ, { key })
  const detail = 'The API key lacks the scope pages:read.'
  t.equal(answer.status, 403)
  t.strictSame(
    answer.json,
    problemFor(answer, 'insufficient_scope', 403, detail, { requiredScope: 'pages:read' }),
  )
  t.equal((await call(READ, { key: await keyWith('pages:read') })).status, 200)
})

t.test('404: an unknown page and a page of another group are missing alike', async (t) => {
  const { call, newGroup, pageGroupId, pageId } = await openSceneOf()
  const other = await newGroup()
  for (const [group, page] of [
    [pageGroupId, idOf('page', 999)],
    [pageGroupId, 'x'],
    [other.pageGroupId, pageId],
  ]) {
    const answer = await call(`GET /v0/page_groups/${group}/pages/${page}`)
    const detail = 'Page not found in this group.'
    t.equal(answer.status, 404)
    t.strictSame(answer.json, problemFor(answer, 'page_not_found', 404, detail))
  }
})

t.test('404: a page is missing with its group: unknown, deleted or foreign', async (t) => {
  const { owner, call, store, clock, newTenant, pageGroupId, pageId, READ } = await openSceneOf()
  const stranger = await newTenant()
  const unknown = await call(`GET /v0/page_groups/${idOf('pagegroup', 999)}/pages/${pageId}`)
  const foreign = await call(READ, { key: stranger.apiKey })
  await updatePageGroup({ store, clock, newId: countedIds() })({
    tenantId: owner.tenantId,
    pageGroupId,
    status: 'deleted',
  })
  const deleted = await call(READ)
  for (const answer of [unknown, foreign, deleted]) {
    t.equal(answer.status, 404)
    t.strictSame(answer.json, problemFor(answer, 'page_group_not_found', 404, 'Page group not found.'))
  }
})

t.test('405: a page is neither put nor posted', async (t) => {
  const { call, READ } = await openSceneOf()
  for (const method of ['PUT', 'POST']) {
    const answer = await call(READ.replace('GET', method), { json: {} })
    t.equal(answer.status, 405)
    t.equal(answer.headers['allow'], 'GET, HEAD, PATCH, DELETE, OPTIONS')
    const detail = 'Method not allowed. Allowed methods: GET, HEAD, PATCH, DELETE, OPTIONS.'
    t.strictSame(answer.json, problemFor(answer, 'method_not_allowed', 405, detail))
  }
})

t.test('429: past the rate of the key the page is not read', async (t) => {
  const { call, READ } = await openSceneOf({}, { rateLimitPerMinute: 2 })
  t.equal((await call(READ)).status, 200)
  const answer = await call(READ)
  const detail = 'This API key has used up its requests per minute.'
  t.equal(answer.status, 429)
  t.strictSame(answer.json, problemFor(answer, 'rate_limited', 429, detail))
})

t.test('500: a fault of ours is not told to the caller', async (t) => {
  const why = new Error('select * from pages')
  const { call, errors } = await openScene({
    storeAs: (store) => ({ ...store, pages: failing(store.pages, why) }),
  })
  const answer = await call('GET /v0/page_groups/x/pages/y')
  const detail =
    'An unexpected error occurred in the service. `instance` is the id of the request in the server logs.'
  t.equal(answer.status, 500)
  t.strictSame(answer.json, problemFor(answer, 'internal_error', 500, detail))
  t.strictSame(errors, [{ error: why, requestId: answer.json.instance }])
})

t.test('503: without its database the service asks to come again', async (t) => {
  const { call } = await openScene({
    storeAs: (store) => ({ ...store, pages: failing(store.pages, DATABASE_AWAY) }),
  })
  const answer = await call('GET /v0/page_groups/x/pages/y')
  t.equal(answer.status, 503)
  t.equal(answer.headers['retry-after'], '5')
  t.strictSame(answer.json, problemFor(answer, 'unavailable', 503, 'The database is away.'))
})
