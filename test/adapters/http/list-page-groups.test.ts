import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { updatePageGroup } from '../../../src/core/pages/update-page-group.ts'
import type { PageGroup } from '../../../src/shapes/page-group.ts'
import { type Answer, DATABASE_AWAY, failing, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { countedIds } from '../../support/setting.ts'

const LIST = 'GET /v0/page_groups'

const itemsOf = (answer: Answer) => answer.json.items as PageGroup[]
const namesOf = (answer: Answer) => itemsOf(answer).map(({ name }) => name)
const nextOf = (answer: Answer) => String(answer.json.nextCursor)
const openSceneOf = async (names: readonly string[], options = {}) => {
  const scene = await openScene(options)
  for (const name of names) await scene.newGroup({ name })
  return scene
}

t.test('200: a group has every field, headerActionId last; what is not set is null or empty', async (t) => {
  const { call, newGroup, owner } = await openScene()
  const group = await newGroup()
  const answer = await call(LIST)
  t.equal(answer.status, 200)
  t.equal(answer.headers['content-type'], 'application/json')
  t.equal(
    answer.body,
    jsonLine({
      items: [
        {
          pageGroupId: group.pageGroupId,
          tenantId: owner.tenantId,
          brandId: owner.brandId,
          name: 'offers',
          title: 'Offers',
          pageContext: null,
          status: 'active',
          pagesCount: 0,
          actions: [],
          footerLinks: [],
          scripts: [],
          createdAt: '2026-01-01T00:00:00.000Z',
          updatedAt: '2026-01-01T00:00:00.000Z',
          deletedAt: null,
          headerActionId: null,
        },
      ],
      hasMore: false,
      limit: 20,
    }),
  )
})

t.test('200: lists, texts and the count of pages are told as they are', async (t) => {
  const { call, newGroup, newPage } = await openScene()
  const actions = '[{"id": "a1", "weight":12345678901234567890 },1.0,null,"\\ud800"]'
  const { pageGroupId } = await newGroup({
    actions: { rawJson: actions },
    footerLinks: { rawJson: '["/terms"]' },
    scripts: { rawJson: '["<script>alert(1)</script>"]' },
    pageContext: 'Spring\n"2026"',
    headerActionId: 'a1',
  })
  await newPage(pageGroupId)
  await newPage(pageGroupId)
  const answer = await call(LIST)
  t.match(itemsOf(answer), [
    {
      pageContext: 'Spring\n"2026"',
      pagesCount: 2,
      footerLinks: ['/terms'],
      scripts: ['<script>alert(1)</script>'],
      headerActionId: 'a1',
    },
  ])
  t.ok(answer.body.includes(`"actions":${actions},`), 'the text of a list is not written anew')
})

t.test('200: a tenant without groups has an empty list', async (t) => {
  const { call } = await openScene()
  t.equal((await call(LIST)).body, '{"items":[],"hasMore":false,"limit":20}\n')
})

t.test('200: the newest come first, each once, and only the last slice has no nextCursor', async (t) => {
  const { call } = await openSceneOf(['a', 'b', 'c', 'd', 'e'])
  const first = await call(`${LIST}?limit=2`)
  const second = await call(`${LIST}?limit=2&cursor=${nextOf(first)}`)
  const last = await call(`${LIST}?limit=2&cursor=${nextOf(second)}`)
  t.strictSame([first, second, last].map(namesOf), [['e', 'd'], ['c', 'b'], ['a']])
  t.strictSame(Object.keys(first.json), ['items', 'hasMore', 'nextCursor', 'limit'])
  t.match(first.json, { hasMore: true, limit: 2 })
  t.match(second.json, { hasMore: true, limit: 2 })
  t.strictSame(Object.keys(last.json), ['items', 'hasMore', 'limit'])
  t.match(last.json, { hasMore: false, limit: 2 })
})

t.test('200: a slice that is just full has nothing after it', async (t) => {
  const { call } = await openSceneOf(['a', 'b'])
  const answer = await call(`${LIST}?limit=2`)
  t.match(answer.json, { hasMore: false })
  t.notOk('nextCursor' in answer.json)
})

t.test('200: 20 groups are answered unless the limit says otherwise, up to 100', async (t) => {
  const names = Array.from({ length: 101 }, (_, i) => `group ${i}`)
  const { call } = await openSceneOf(names)
  const usual = await call(LIST)
  const most = await call(`${LIST}?limit=100`)
  t.match(usual.json, { limit: 20, hasMore: true })
  t.equal(itemsOf(usual).length, 20)
  t.match(most.json, { limit: 100, hasMore: true })
  t.equal(itemsOf(most).length, 100)
})

t.test('200: a cursor is safe in an address, and goes on under another limit', async (t) => {
  const { call } = await openSceneOf(['a', 'b', 'c', 'd'])
  const first = await call(`${LIST}?limit=1`)
  t.match(nextOf(first), /^[\w-]+$/)
  t.strictSame(namesOf(await call(`${LIST}?cursor=${nextOf(first)}&limit=2`)), ['c', 'b'])
  t.strictSame(namesOf(await call(`${LIST}?cursor=${nextOf(first)}`)), ['c', 'b', 'a'])
})

t.test('200: a cursor works when the group that it names is gone', async (t) => {
  const { owner, call, store, clock } = await openSceneOf(['a', 'b', 'c'])
  const first = await call(`${LIST}?limit=2`)
  const named = itemsOf(first)[1] as PageGroup
  await updatePageGroup({ store, clock, newId: countedIds() })({
    tenantId: owner.tenantId,
    pageGroupId: named.pageGroupId,
    status: 'deleted',
  })
  t.strictSame(namesOf(await call(`${LIST}?cursor=${nextOf(first)}`)), ['a'])
})

t.test('200: the status filter shows the groups of one status; without it all but the deleted', async (t) => {
  const { call, newGroup, clock } = await openScene()
  clock.advance(5)
  await newGroup({ name: 'a', status: 'active' })
  await newGroup({ name: 'b', status: 'archived' })
  await newGroup({ name: 'c', status: 'deleted' })
  t.strictSame(namesOf(await call(LIST)), ['b', 'a'])
  t.strictSame(namesOf(await call(`${LIST}?status=active`)), ['a'])
  t.strictSame(namesOf(await call(`${LIST}?status=archived`)), ['b'])
  const deleted = await call(`${LIST}?status=deleted`)
  t.match(itemsOf(deleted), [{ name: 'c', status: 'deleted', deletedAt: '2026-01-01T00:00:00.005Z' }])
})

t.test("200: a stranger's groups are not there, whatever the cursor", async (t) => {
  const { call, newGroup, newTenant } = await openSceneOf(['mine'])
  const stranger = await newTenant()
  await newGroup({ name: 'theirs' }, stranger.tenantId)
  await newGroup({ name: 'theirs too' }, stranger.tenantId)
  const theirs = await call(`${LIST}?limit=1`, { key: stranger.apiKey })
  t.strictSame(namesOf(theirs), ['theirs too'])
  t.strictSame(namesOf(await call(LIST)), ['mine'])
  t.strictSame(namesOf(await call(`${LIST}?cursor=${nextOf(theirs)}`)), ['mine'])
})

t.test('200: HEAD answers as GET does, without the body', async (t) => {
  const { call } = await openSceneOf(['a'])
  const get = await call(LIST)
  const head = await call('HEAD /v0/page_groups')
  t.strictSame([head.status, head.body], [200, ''])
  t.equal(head.headers['content-length'], String(Buffer.byteLength(get.body)))
  t.equal(head.headers['content-type'], 'application/json')
})

const LIMIT_FAULT = { detail: 'must be a whole number from 1 to 100', parameter: 'limit' }
const STATUS_FAULT = { detail: 'must be one of active, archived, deleted', parameter: 'status' }
for (const [query, errors] of [
  ['limit=0', [LIMIT_FAULT]],
  ['limit=101', [LIMIT_FAULT]],
  ['status=published', [STATUS_FAULT]],
  ['status=ACTIVE', [STATUS_FAULT]],
  ['status=', [STATUS_FAULT]],
  ['limit=many&status=gone', [LIMIT_FAULT, STATUS_FAULT]],
] as const)
  t.test(`400: ${query} is refused, with what is allowed`, async (t) => {
    const { call } = await openSceneOf(['a'])
    const answer = await call(`${LIST}?${query}`)
    t.equal(answer.status, 400)
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }))
  })

t.test('400: a cursor is refused unless this list, with this filter, has given it', async (t) => {
  const { call, newGroup, newPage } = await openSceneOf(['a', 'b'])
  const { pageGroupId } = await newGroup()
  await newPage(pageGroupId)
  await newPage(pageGroupId)
  const own = nextOf(await call(`${LIST}?limit=1`))
  const filtered = nextOf(await call(`${LIST}?limit=1&status=active`))
  const pages = nextOf(await call(`GET /v0/page_groups/${pageGroupId}/pages?limit=1`))
  const forged = Buffer.from('1:page_groups?:pagegroup_1').toString('base64url')
  const errors = [{ detail: 'must be the nextCursor of this list with this filter', parameter: 'cursor' }]
  const detail = 'This cursor was not issued by this list with this filter.'
  for (const query of [
    ...[filtered, pages, forged, 'x', '', '%00', `${own}=`, `${own}A`].map((cursor) => `cursor=${cursor}`),
    `status=archived&cursor=${filtered}`,
    `status=active&cursor=${own}`,
  ]) {
    const answer = await call(`${LIST}?${query}`)
    t.equal(answer.status, 400, query)
    t.strictSame(answer.json, problemFor(answer, 'invalid_cursor', 400, detail, { errors }))
  }
})

t.test('401: a key that nobody has is refused', async (t) => {
  const { call } = await openScene()
  const answer = await call(LIST, { key: 'pp_x' })
  const detail = 'The API key is not valid: unknown, expired or revoked.'
  t.equal(answer.status, 401)
  t.strictSame(answer.json, problemFor(answer, 'invalid_api_key', 401, detail))
})

t.test('403: the key needs the scope page_groups:read', async (t) => {
  const { call, keyWith } = await openScene()
  const answer = await call(LIST, { key: await keyWith('prospect_logs:write', 'pages:read', 'pages:write') })
  const detail = 'The API key lacks the scope page_groups:read.'
  const more = { requiredScope: 'page_groups:read' }
  t.equal(answer.status, 403)
  t.strictSame(answer.json, problemFor(answer, 'insufficient_scope', 403, detail, more))
  t.equal((await call(LIST, { key: await keyWith('page_groups:read') })).status, 200)
})

t.test('405: groups are not deleted all at once', async (t) => {
  const { call } = await openScene()
  const answer = await call('DELETE /v0/page_groups')
  t.equal(answer.status, 405)
  t.equal(answer.headers['allow'], 'GET, HEAD, POST, OPTIONS')
  const detail = 'Method not allowed. Allowed methods: GET, HEAD, POST, OPTIONS.'
  t.strictSame(answer.json, problemFor(answer, 'method_not_allowed', 405, detail))
})

t.test('429: past the rate of the key the list is not read', async (t) => {
  const { call } = await openScene({ rateLimitPerMinute: 1 })
  t.equal((await call(LIST)).status, 200)
  const answer = await call(LIST)
  const detail = 'This API key has used up its requests per minute.'
  t.equal(answer.status, 429)
  t.strictSame(answer.json, problemFor(answer, 'rate_limited', 429, detail))
})

t.test('500: a fault of ours is not told to the caller', async (t) => {
  const why = new Error('select * from page_groups')
  const { call, errors } = await openScene({
    storeAs: (store) => ({ ...store, pageGroups: failing(store.pageGroups, why) }),
  })
  const answer = await call(LIST)
  const detail =
    'An unexpected error occurred in the service. `instance` is the id of the request in the server logs.'
  t.equal(answer.status, 500)
  t.strictSame(answer.json, problemFor(answer, 'internal_error', 500, detail))
  t.strictSame(errors, [{ error: why, requestId: answer.json.instance }])
})

t.test('503: without its database the service asks to come again', async (t) => {
  const { call } = await openScene({
    storeAs: (store) => ({ ...store, pageGroups: failing(store.pageGroups, DATABASE_AWAY) }),
  })
  const answer = await call(LIST)
  t.equal(answer.status, 503)
  t.equal(answer.headers['retry-after'], '5')
  t.strictSame(answer.json, problemFor(answer, 'unavailable', 503, 'The database is away.'))
})
