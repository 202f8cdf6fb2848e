import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { refuse } from '../../../src/core/engine/failures.ts'
import { updatePageGroup } from '../../../src/core/pages/update-page-group.ts'
import { DATABASE_AWAY, failing, openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { countedIds, idOf } from '../../support/setting.ts'

/** A group, the request that creates a page in it, and how many pages it has. */
const openSceneOf = async (options = {}) => {
  const scene = await openScene(options)
  const { pageGroupId } = await scene.newGroup()
  const pagesCount = async () =>
    (await scene.store.pageGroups.find({ tenantId: scene.owner.tenantId, pageGroupId }))?.pagesCount
  return { ...scene, pageGroupId, pagesCount, CREATE: `POST /v0/page_groups/${pageGroupId}/pages` }
}

t.test('201: a page is created with a version in processing', async (t) => {
  const { call, owner, pageGroupId, pagesCount, CREATE } = await openSceneOf()
  const answer = await call(CREATE, { json: { customName: 'Sale', supplementaryContext: 'About' } })
  t.equal(answer.status, 201)
  t.equal(answer.headers['content-type'], 'application/json')
  t.equal(
    answer.body,
    jsonLine({
      pageId: idOf('page', 6),
      pageGroupId,
      tenantId: owner.tenantId,
      createdAt: '2026-01-01T00:00:00.000Z',
      status: 'processing',
    }),
  )
  t.equal(await pagesCount(), 1)
})

t.test('201: both fields may be left out, and the body with them', async (t) => {
  const { call, pagesCount, CREATE } = await openSceneOf()
  for (const sent of [{}, { json: {} }, { json: { customName: '' } }, { json: { supplementaryContext: '' } }])
    t.match(await call(CREATE, sent), { status: 201, json: { status: 'processing' } })
  t.equal(await pagesCount(), 4)
})

t.test('201: a draft ends as ready, and readers get nothing until a person publishes it', async (t) => {
  const { call, clock, publish, CREATE } = await openSceneOf()
  const draft = { publish: false, content: { h1: 'Soon' } }
  const sent = { headers: { 'idempotency-key': 'k1' }, json: draft }
  const { json: page } = await call(CREATE, sent)
  await publish()
  const path = `${CREATE.replace('POST', 'GET')}/${page['pageId']}`
  t.match((await call(path)).json, { publishedVersion: null, latestVersion: { status: 'ready' } })
  t.match(await call(CREATE, sent), { status: 201, json: page, headers: { 'idempotent-replayed': 'true' } })
  t.match(await call(CREATE, { ...sent, json: { ...draft, publish: true } }), { status: 422 })
  const publishAt = new Date(clock() + 60_000).toISOString()
  t.match(await call(CREATE, { json: { ...draft, publishAt } }), {
    status: 400,
    json: { errors: [{ pointer: '/publishAt', detail: 'must not be given if publish is false' }] },
  })
  t.match(await call(CREATE, { json: { publish: 'no' } }), {
    status: 400,
    json: { errors: [{ pointer: '/publish', detail: 'must be a boolean' }] },
  })
})

t.test('201: a request repeated under its idempotency key is answered as the first time', async (t) => {
  const { call, clock, publish, pagesCount, CREATE } = await openSceneOf()
  const sent = { headers: { 'idempotency-key': 'k1' }, json: { customName: 'Sale' } }
  const first = await call(CREATE, sent)
  clock.advance(60_000)
  await publish()
  const again = await call(CREATE, sent)
  t.equal(again.status, 201)
  t.equal(again.body, first.body)
  t.equal(first.headers['idempotent-replayed'], undefined)
  t.equal(again.headers['idempotent-replayed'], 'true')
  t.equal(await pagesCount(), 1)
})

t.test('201: an idempotency key is a matter of its group and tenant', async (t) => {
  const { call, newGroup, newTenant, CREATE } = await openSceneOf()
  const other = await newGroup()
  const stranger = await newTenant()
  const foreign = await newGroup({}, stranger.tenantId)
  const headers = { 'idempotency-key': 'k1' }
  await call(CREATE, { headers })
  const elsewhere = await call(`POST /v0/page_groups/${other.pageGroupId}/pages`, { headers })
  const theirs = await call(`POST /v0/page_groups/${foreign.pageGroupId}/pages`, {
    headers,
    key: stranger.apiKey,
  })
  for (const answer of [elsewhere, theirs]) {
    t.equal(answer.status, 201)
    t.equal(answer.headers['idempotent-replayed'], undefined)
  }
})

const STORABLE = 'must not contain a NUL character or an unpaired surrogate'
for (const [fault, json, errors] of [
  ['a customName of null', { customName: null }, [{ detail: 'must be a string', pointer: '/customName' }]],
  [
    'a supplementaryContext that is a number',
    { supplementaryContext: 1 },
    [{ detail: 'must be a string', pointer: '/supplementaryContext' }],
  ],
  ['a NUL character', { customName: 'a\0' }, [{ detail: STORABLE, pointer: '/customName' }]],
  [
    'half of a surrogate pair',
    { supplementaryContext: '\udc00' },
    [{ detail: STORABLE, pointer: '/supplementaryContext' }],
  ],
  ['a body that is a list', [], [{ detail: 'must be an object', pointer: '' }]],
  ['a body that is null', null, [{ detail: 'must be an object', pointer: '' }]],
  ['a body that is a text', 'Sale', [{ detail: 'must be an object', pointer: '' }]],
] as const)
  t.test(`400: ${fault} is refused and nothing is created`, async (t) => {
    const { call, pagesCount, CREATE } = await openSceneOf()
    const answer = await call(CREATE, { json })
    t.equal(answer.status, 400)
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }))
    t.equal(await pagesCount(), 0)
  })

t.test('401: without a key nothing is created', async (t) => {
  const { call, pagesCount, CREATE } = await openSceneOf()
  const answer = await call(CREATE, { key: null })
  t.equal(answer.status, 401)
  t.strictSame(answer.json, problemFor(answer, 'missing_api_key', 401, 'The header x-api-key is missing.'))
  t.equal(await pagesCount(), 0)
})

t.test('403: the key needs the scope pages:write', async (t) => {
  const { call, keyWith, pagesCount, CREATE } = await openSceneOf()
  const key = await keyWith('prospect_logs:write', 'page_groups:read', 'pages:read')
  const answer = await call(CREATE, { key })
  const detail = 'The API key lacks the scope pages:write.'
  t.equal(answer.status, 403)
  t.strictSame(
    answer.json,
    problemFor(answer, 'insufficient_scope', 403, detail, { requiredScope: 'pages:write' }),
  )
  t.equal(await pagesCount(), 0)
  t.equal((await call(CREATE, { key: await keyWith('pages:write') })).status, 201)
})

t.test('404: an unknown, a deleted and a foreign group are missing alike', async (t) => {
  const { call, newGroup, newTenant } = await openScene()
  const deleted = await newGroup({ status: 'deleted' })
  const foreign = await newGroup({}, (await newTenant()).tenantId)
  for (const pageGroupId of [idOf('pagegroup', 999), deleted.pageGroupId, foreign.pageGroupId, 'x']) {
    const answer = await call(`POST /v0/page_groups/${pageGroupId}/pages`)
    t.equal(answer.status, 404)
    t.strictSame(answer.json, problemFor(answer, 'page_group_not_found', 404, 'Page group not found.'))
  }
})

t.test('405: a page is not created by PUT', async (t) => {
  const { call, CREATE } = await openSceneOf()
  const answer = await call(CREATE.replace('POST', 'PUT'), { json: {} })
  t.equal(answer.status, 405)
  t.equal(answer.headers['allow'], 'GET, HEAD, POST, OPTIONS')
})

t.test('409: an archived group takes no new pages, but answers for those it took', async (t) => {
  const { owner, call, store, clock, pageGroupId, pagesCount, CREATE } = await openSceneOf()
  const sent = { headers: { 'idempotency-key': 'k1' } }
  const first = await call(CREATE, sent)
  await updatePageGroup({ store, clock, newId: countedIds() })({
    tenantId: owner.tenantId,
    pageGroupId,
    status: 'archived',
  })
  const answer = await call(CREATE)
  const detail = 'The page group is archived and accepts no new pages.'
  t.equal(answer.status, 409)
  t.strictSame(answer.json, problemFor(answer, 'page_group_not_active', 409, detail))
  t.equal((await call(CREATE, sent)).body, first.body)
  t.equal(await pagesCount(), 1)
})

t.test('413: a body over the limit is refused by its reader', async (t) => {
  const { call, pagesCount, CREATE } = await openSceneOf()
  const read = async () => refuse('payload_too_large', 'The body is larger than 9 bytes.')
  const answer = await call(CREATE, { json: { customName: 'Sale' }, read })
  t.equal(answer.status, 413)
  t.strictSame(answer.json, problemFor(answer, 'payload_too_large', 413, 'The body is larger than 9 bytes.'))
  t.equal(await pagesCount(), 0)
})

t.test('415: the body must be JSON and not be packed', async (t) => {
  const { call, pagesCount, CREATE } = await openSceneOf()
  const form = await call(CREATE, {
    body: 'customName=Sale',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  const packed = await call(CREATE, { json: {}, headers: { 'content-encoding': 'gzip' } })
  t.equal(form.status, 415)
  t.strictSame(
    form.json,
    problemFor(form, 'unsupported_media_type', 415, 'Unsupported content type. Send application/json.'),
  )
  t.equal(packed.status, 415)
  t.strictSame(
    packed.json,
    problemFor(
      packed,
      'unsupported_media_type',
      415,
      'Unsupported content encoding. Send the body uncompressed.',
    ),
  )
  t.equal(await pagesCount(), 0)
})

t.test('422: an idempotency key does not serve a second request', async (t) => {
  const { call, pagesCount, CREATE } = await openSceneOf()
  const headers = { 'idempotency-key': 'k1' }
  const { json: first } = await call(CREATE, { headers, json: { customName: 'Sale' } })
  for (const json of [{}, { customName: 'sale' }, { customName: 'Sale', supplementaryContext: '' }]) {
    const answer = await call(CREATE, { headers, json })
    const detail = 'This idempotency key was already used with a different request.'
    t.equal(answer.status, 422)
    t.strictSame(
      answer.json,
      problemFor(answer, 'idempotency_key_reused', 422, detail, { pageId: first.pageId }),
    )
  }
  t.equal(await pagesCount(), 1)
})

t.test('429: past the rate of the key nothing is created', async (t) => {
  const { call, pagesCount, CREATE } = await openSceneOf({ rateLimitPerMinute: 1 })
  t.equal((await call(CREATE)).status, 201)
  const answer = await call(CREATE)
  const detail = 'This API key has used up its requests per minute.'
  t.equal(answer.status, 429)
  t.strictSame(answer.json, problemFor(answer, 'rate_limited', 429, detail))
  t.equal(await pagesCount(), 1)
})

t.test('500: a fault of ours is not told to the caller', async (t) => {
  const why = new Error('insert into pages')
  const { call, errors } = await openScene({
    storeAs: (store) => ({ ...store, pages: failing(store.pages, why) }),
  })
  const answer = await call('POST /v0/page_groups/x/pages')
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
  const answer = await call('POST /v0/page_groups/x/pages')
  t.equal(answer.status, 503)
  t.equal(answer.headers['retry-after'], '5')
  t.strictSame(answer.json, problemFor(answer, 'unavailable', 503, 'The database is away.'))
})
