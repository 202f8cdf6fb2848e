import t from 'tap'
import { openScene, problemFor } from '../../support/api.ts'

const CREATE = 'POST /v0/page_groups'
const START = Date.UTC(2026, 0, 1)
const iso = (ms: number) => new Date(START + ms).toISOString()

/** A page group, and the path of it. */
const setUp = async () => {
  const scene = await openScene()
  const { pageGroupId, ...group } = (await scene.call(CREATE, { json: { name: 'offers', title: 'Offers' } }))
    .json
  const path = `/v0/page_groups/${pageGroupId}`
  const change = (json: object, headers = {}) => scene.call(`PATCH ${path}`, { json, headers })
  return { ...scene, pageGroupId: String(pageGroupId), group: { pageGroupId, ...group }, path, change }
}

t.test('201: a page group is created in the first brand, and reads back', async (t) => {
  const { call, owner, group, path } = await setUp()
  t.strictSame(group, {
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
    createdAt: iso(0),
    updatedAt: iso(0),
    deletedAt: null,
    headerActionId: null,
  })
  const answer = await call(`GET ${path}`)
  t.strictSame([answer.status, answer.json, answer.headers['etag']], [200, group, '"r1"'])
})

t.test('201: the arrays of a page group are stored byte for byte', async (t) => {
  const { call, owner } = await openScene()
  const lists = '"actions":[ 12345678901234567890,{"a":1,"a":2} ],"footerLinks":[1.0],"scripts":["\\u0000"]'
  const body = `{"name":"a","title":"A","brandId":"${owner.brandId}",${lists}}`
  const created = await call(CREATE, { body })
  t.ok(created.body.includes(lists), created.body)
  t.match(created, { status: 201, headers: { etag: '"r1"' }, json: { status: 'active', pagesCount: 0 } })
  const changed = await call(`PATCH /v0/page_groups/${created.json.pageGroupId}`, {
    body: '{"actions":[ 2.0 ]}',
  })
  t.ok(changed.body.includes(`"actions":[ 2.0 ],${lists.slice(lists.indexOf('"footerLinks'))}`), changed.body)
})

t.test('201: an idempotency key creates one page group; another request under it is refused', async (t) => {
  const { call } = await openScene()
  const headers = { 'idempotency-key': 'one' }
  const first = await call(CREATE, { headers, body: '{"name":"a","title":"A","scripts":[1]}' })
  const again = await call(CREATE, { headers, body: '{"title":"A","scripts":[1],"name":"a"}' })
  t.equal(first.headers['idempotent-replayed'], undefined)
  t.strictSame([again.status, again.json, again.headers['idempotent-replayed']], [201, first.json, 'true'])
  const other = await call(CREATE, { headers, body: '{"name":"a","title":"A","scripts":[1.0]}' })
  const { pageGroupId } = first.json
  const detail = 'This idempotency key was already used with a different request.'
  t.strictSame(other.json, problemFor(other, 'idempotency_key_reused', 422, detail, { pageGroupId }))
  t.match((await call('GET /v0/page_groups')).json, { items: [{ pageGroupId }], hasMore: false })
})

t.test('200: a change replaces the given fields; null clears', async (t) => {
  const { clock, group, change } = await setUp()
  clock.advance(5)
  const fields = { title: 'Deals', pageContext: 'Spring', headerActionId: 'buy', scripts: [1, null] }
  const answer = await change(fields)
  t.strictSame(answer.json, { ...group, ...fields, updatedAt: iso(5) })
  t.equal(answer.headers['etag'], '"r2"')
  t.match((await change({ pageContext: null, headerActionId: null })).json, {
    title: 'Deals',
    pageContext: null,
    headerActionId: null,
    scripts: [1, null],
  })
})

t.test(
  '204: a deleted page group is gone with its pages, and only the list of deleted ones has it',
  async (t) => {
    const { call, path, newPage, pageGroupId, change } = await setUp()
    const { pageId } = await newPage(pageGroupId)
    const answer = await call(`DELETE ${path}`)
    t.strictSame([answer.status, answer.body], [204, ''])
    t.notOk('content-type' in answer.headers || 'content-length' in answer.headers)
    t.equal(answer.headers['cache-control'], 'no-store')
    for (const gone of [
      await call(`GET ${path}`),
      await change({ title: 'B' }),
      await call(`DELETE ${path}`),
      await call(`GET ${path}/pages/${pageId}`),
      await call(`DELETE ${path}/pages/${pageId}`),
    ])
      t.strictSame(gone.json, problemFor(gone, 'page_group_not_found', 404, 'Page group not found.'))
    const deleted = (await call('GET /v0/page_groups?status=deleted')).json
    t.match(deleted, { items: [{ pageGroupId, status: 'deleted' }] })
  },
)

t.test('400: every error of a page group is named', async (t) => {
  const { call, change } = await setUp()
  const pointersOf = ({ status, json }: Awaited<ReturnType<typeof call>>) => [
    status,
    ...(json.errors as { pointer: string }[]).map(({ pointer }) => pointer),
  ]
  const wrong = { name: '', actions: {}, scripts: null, brandId: 'x', pageContext: 'a\0', headerActionId: '' }
  const pointers = ['/brandId', '/pageContext', '/actions', '/scripts', '/headerActionId']
  t.strictSame(
    pointersOf(await call(CREATE, { json: wrong })).sort(),
    [400, ...pointers, '/name', '/title'].sort(),
  )
  t.strictSame(pointersOf(await change(wrong)).sort(), [400, ...pointers, '/name'].sort())
  for (const json of [{ status: 'deleted' }, { status: null }])
    t.strictSame(pointersOf(await change(json)), [400, '/status'])
  t.equal((await call(CREATE)).status, 400, 'no body')
})
