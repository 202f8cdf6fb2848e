import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { updatePageGroup } from '../../../src/core/pages/update-page-group.ts'
import type { Page } from '../../../src/shapes/page.ts'
import { type Answer, DATABASE_AWAY, failing, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { countedIds, idOf } from '../../support/setting.ts'

const namesOf = (answer: Answer) => (answer.json.items as Page[]).map(({ customName }) => customName)
const nextOf = (answer: Answer) => String(answer.json.nextCursor)

/** A group with pages of these names, and the request that lists them. */
const openSceneOf = async (names: readonly string[], options = {}) => {
  const scene = await openScene(options)
  const { pageGroupId } = await scene.newGroup()
  for (const customName of names) await scene.newPage(pageGroupId, { customName })
  return { ...scene, pageGroupId, LIST: `GET /v0/page_groups/${pageGroupId}/pages` }
}

t.test('200: a page has every field of the list, and the slice has no limit', async (t) => {
  const { call, newPage, pageGroupId, owner, LIST } = await openSceneOf([])
  const { pageId } = await newPage(pageGroupId, { supplementaryContext: 'About the spring sale' })
  const answer = await call(LIST)
  t.equal(answer.status, 200)
  t.equal(answer.headers['content-type'], 'application/json')
  t.equal(
    answer.body,
    jsonLine({
      items: [
        {
          pageId,
          pageGroupId,
          tenantId: owner.tenantId,
          createdAt: '2026-01-01T00:00:00.000Z',
          updatedAt: '2026-01-01T00:00:00.000Z',
          effectiveName: 'About the spring sale',
          customName: null,
          computedName: 'About the spring sale',
        },
      ],
      hasMore: false,
    }),
  )
})

t.test('200: the effective name is the custom one unless that is blank', async (t) => {
  const { call, LIST } = await openSceneOf([' ', 'Sale'])
  t.match((await call(LIST)).json.items, [
    { customName: 'Sale', computedName: 'Offers 2', effectiveName: 'Sale' },
    { customName: ' ', computedName: 'Offers 1', effectiveName: 'Offers 1' },
  ])
})

t.test('200: publishing moves updatedAt alone', async (t) => {
  const { call, clock, publish, LIST } = await openSceneOf(['Sale'])
  clock.advance(1_500)
  await publish()
  const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:01.500Z' }
  t.match((await call(LIST)).json.items, [times])
})

t.test('200: a group without pages has an empty list', async (t) => {
  const { call, LIST } = await openSceneOf([])
  t.equal((await call(LIST)).body, '{"items":[],"hasMore":false}\n')
})

t.test('200: the newest come first, each once, and only the last slice has no nextCursor', async (t) => {
  const { call, LIST } = await openSceneOf(['a', 'b', 'c', 'd', 'e'])
  const first = await call(`${LIST}?limit=2`)
  const second = await call(`${LIST}?limit=2&cursor=${nextOf(first)}`)
  const last = await call(`${LIST}?limit=2&cursor=${nextOf(second)}`)
  t.strictSame([first, second, last].map(namesOf), [['e', 'd'], ['c', 'b'], ['a']])
  t.strictSame(Object.keys(first.json), ['items', 'hasMore', 'nextCursor'])
  t.equal(second.json.hasMore, true)
  t.strictSame(Object.keys(last.json), ['items', 'hasMore'])
  t.equal(last.json.hasMore, false)
})

t.test('200: 20 pages are answered unless the limit says otherwise, up to 100', async (t) => {
  const { call, LIST } = await openSceneOf(Array.from({ length: 101 }, (_, i) => `page ${i}`))
  t.equal(namesOf(await call(LIST)).length, 20)
  t.equal(namesOf(await call(`${LIST}?limit=1`)).length, 1)
  t.equal(namesOf(await call(`${LIST}?limit=100`)).length, 100)
})

t.test('200: a cursor goes on under another limit, and new pages do not disturb it', async (t) => {
  const { call, newPage, pageGroupId, LIST } = await openSceneOf(['a', 'b', 'c'])
  const first = await call(`${LIST}?limit=1`)
  await newPage(pageGroupId, { customName: 'd' })
  t.strictSame(namesOf(await call(`${LIST}?limit=5&cursor=${nextOf(first)}`)), ['b', 'a'])
})

t.test('200: the pages of an archived group can still be read', async (t) => {
  const { owner, call, store, clock, pageGroupId, LIST } = await openSceneOf(['a'])
  await updatePageGroup({ store, clock, newId: countedIds() })({
    tenantId: owner.tenantId,
    pageGroupId,
    status: 'archived',
  })
  t.strictSame(namesOf(await call(LIST)), ['a'])
})

t.test('200: HEAD answers as GET does, without the body', async (t) => {
  const { call, LIST } = await openSceneOf(['a'])
  const get = await call(LIST)
  const head = await call(LIST.replace('GET', 'HEAD'))
  t.strictSame([head.status, head.body], [200, ''])
  t.equal(head.headers['content-length'], String(Buffer.byteLength(get.body)))
})

t.test('400: a limit out of bounds is refused, never cut', async (t) => {
  const { call, LIST } = await openSceneOf(['a'])
  const errors = [{ detail: 'must be a whole number from 1 to 100', parameter: 'limit' }]
  for (const limit of ['0', '101', '']) {
    const answer = await call(`${LIST}?limit=${limit}`)
    t.equal(answer.status, 400)
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }))
  }
})

t.test('400: a cursor is refused unless the list of this very group has given it', async (t) => {
  const { call, newGroup, LIST } = await openSceneOf(['a', 'b'])
  const other = await newGroup()
  const { json: groups } = await call('GET /v0/page_groups?limit=1')
  const own = nextOf(await call(`${LIST}?limit=1`))
  const errors = [{ detail: 'must be the nextCursor of this list with this filter', parameter: 'cursor' }]
  const detail = 'This cursor was not issued by this list with this filter.'
  for (const request of [
    `${LIST}?cursor=${groups.nextCursor}`,
    `${LIST}?cursor=nonsense`,
    `${LIST}?cursor=`,
    `GET /v0/page_groups/${other.pageGroupId}/pages?cursor=${own}`,
  ]) {
    const answer = await call(request)
    t.equal(answer.status, 400)
    t.strictSame(answer.json, problemFor(answer, 'invalid_cursor', 400, detail, { errors }))
  }
})

t.test('401: without a key nothing is read', async (t) => {
  const { call, LIST } = await openSceneOf(['a'])
  const answer = await call(LIST, { key: null })
  t.equal(answer.status, 401)
  t.strictSame(answer.json, problemFor(answer, 'missing_api_key', 401, 'The header x-api-key is missing.'))
})

t.test('403: the key needs the scope pages:read', async (t) => {
  const { call, keyWith, LIST } = await openSceneOf(['a'])
  const key = await keyWith('prospect_logs:write', 'page_groups:read', 'pages:write')
  const answer = await call(LIST, { key })
  const detail = 'The API key lacks the scope pages:read.'
  t.equal(answer.status, 403)
  t.strictSame(
    answer.json,
    problemFor(answer, 'insufficient_scope', 403, detail, { requiredScope: 'pages:read' }),
  )
  t.equal((await call(LIST, { key: await keyWith('pages:read') })).status, 200)
})

t.test('404: an unknown, a deleted and a foreign group are missing alike', async (t) => {
  const { call, newGroup, newTenant } = await openScene()
  const deleted = await newGroup({ status: 'deleted' })
  const foreign = await newGroup({}, (await newTenant()).tenantId)
  for (const pageGroupId of [idOf('pagegroup', 999), deleted.pageGroupId, foreign.pageGroupId, 'x']) {
    const answer = await call(`GET /v0/page_groups/${pageGroupId}/pages`)
    t.equal(answer.status, 404)
    t.strictSame(answer.json, problemFor(answer, 'page_group_not_found', 404, 'Page group not found.'))
  }
})

t.test('405: the list is read or added to, not replaced', async (t) => {
  const { call, LIST } = await openSceneOf(['a'])
  const answer = await call(LIST.replace('GET', 'PUT'), { json: [] })
  const detail = 'Method not allowed. Allowed methods: GET, HEAD, POST, OPTIONS.'
  t.equal(answer.status, 405)
  t.equal(answer.headers['allow'], 'GET, HEAD, POST, OPTIONS')
  t.strictSame(answer.json, problemFor(answer, 'method_not_allowed', 405, detail))
})

t.test('429: past the rate of the key the list is not read', async (t) => {
  const { call, LIST } = await openSceneOf([], { rateLimitPerMinute: 1 })
  t.equal((await call(LIST)).status, 200)
  const answer = await call(LIST)
  const detail = 'This API key has used up its requests per minute.'
  t.equal(answer.status, 429)
  t.strictSame(answer.json, problemFor(answer, 'rate_limited', 429, detail))
})

t.test('500: a fault of ours is not told to the caller', async (t) => {
  const why = new Error('select * from pages')
  const { call, errors } = await openScene({
    storeAs: (store) => ({ ...store, pages: failing(store.pages, why) }),
  })
  const answer = await call('GET /v0/page_groups/x/pages')
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
  const answer = await call('GET /v0/page_groups/x/pages')
  t.equal(answer.status, 503)
  t.equal(answer.headers['retry-after'], '5')
  t.strictSame(answer.json, problemFor(answer, 'unavailable', 503, 'The database is away.'))
})
