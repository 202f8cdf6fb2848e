import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { idOf } from '../../support/setting.ts'

/** A group, the request that creates a page in it, and how many pages it has. */
const openSceneOf = async () => {
  const scene = await openScene()
  const { pageGroupId } = await scene.newGroup()
  const pagesCount = async () =>
    (await scene.store.pageGroups.find({ tenantId: scene.owner.tenantId, pageGroupId }))?.pagesCount
  return { ...scene, pageGroupId, pagesCount, CREATE: `POST /v0/page_groups/${pageGroupId}/pages` }
}

t.test('201: a page is created with a version in processing', async (t) => {
  const { call, owner, pageGroupId, pagesCount, CREATE } = await openSceneOf()
  const answer = await call(CREATE, { json: { customName: 'Sale', supplementaryContext: 'About' } })
  t.strictSame([answer.status, answer.headers['content-type']], [201, 'application/json'])
  const created = {
    pageId: idOf('page', 6),
    pageGroupId,
    tenantId: owner.tenantId,
    createdAt: '2026-01-01T00:00:00.000Z',
    status: 'processing',
  }
  t.equal(answer.body, jsonLine(created))
  t.equal(await pagesCount(), 1)
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

t.test('400: a body that is no object is refused, and nothing is created', async (t) => {
  const { call, pagesCount, CREATE } = await openSceneOf()
  const errors = [{ detail: 'must be an object', pointer: '' }]
  for (const json of [[], null, 'Sale']) {
    const answer = await call(CREATE, { json })
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }))
  }
  t.equal(await pagesCount(), 0)
})
