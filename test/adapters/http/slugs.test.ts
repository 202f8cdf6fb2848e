import t from 'tap'
import { openScene } from '../../support/api.ts'

const scene = async () => {
  const world = await openScene()
  const { pageGroupId } = await world.newGroup()
  return { ...world, pageGroupId, pages: `/v0/page_groups/${pageGroupId}/pages` }
}

t.test('200: a page is read by its slug', async (t) => {
  const { call, pages, newPage, pageGroupId } = await scene()
  const { pageId } = await newPage(pageGroupId, { slug: 'spring-sale' })
  t.match(await call(`GET ${pages}/slug:spring-sale`), { status: 200, json: { pageId, slug: 'spring-sale' } })
  t.match(await call(`GET ${pages}/slug%3Aspring-sale`), { status: 200, json: { pageId } })
  t.match((await call(`GET ${pages}`)).json, { items: [{ slug: 'spring-sale' }] })
})

t.test('404: a slug that no page has, of another group, or of a deleted page', async (t) => {
  const { call, pages, newPage, newGroup, pageGroupId } = await scene()
  const other = await newGroup()
  await newPage(other.pageGroupId, { slug: 'sale' })
  t.match(await call(`GET ${pages}/slug:sale`), { status: 404, json: { code: 'page_not_found' } })
  const { pageId } = await newPage(pageGroupId, { slug: 'sale' })
  t.equal((await call(`DELETE ${pages}/${pageId}`)).status, 204)
  t.equal((await call(`GET ${pages}/slug:sale`)).status, 404)
  t.equal((await call(`GET ${pages}/slug:`)).status, 404)
})

t.test('409: a slug that another page of the group has', async (t) => {
  const { call, pages, newPage, pageGroupId } = await scene()
  const { pageId } = await newPage(pageGroupId, { slug: 'sale' })
  const second = await newPage(pageGroupId)
  const taken = { status: 409, json: { code: 'slug_taken', pageId } }
  t.match(await call(`POST ${pages}`, { json: { slug: 'sale' } }), taken)
  t.match(await call(`PATCH ${pages}/${second.pageId}`, { json: { slug: 'sale' } }), taken)
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => call(`POST ${pages}`, { json: { slug: 'one' } })),
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409])
})

t.test('200: a slug is set, kept, replaced and removed', async (t) => {
  const { call, pages, newPage, pageGroupId } = await scene()
  const { pageId } = await newPage(pageGroupId)
  const path = `${pages}/${pageId}`
  t.match((await call(`PATCH ${path}`, { json: { slug: 'a' } })).json, { slug: 'a' })
  const same = await call(`PATCH ${path}`, { json: { slug: 'a' } })
  t.match(await call(`PATCH ${path}`, { json: { customName: 'Mine' } }), { json: { slug: 'a' } })
  t.not((await call(`GET ${path}`)).headers['etag'], same.headers['etag'])
  t.match((await call(`PATCH ${path}`, { json: { slug: 'b' } })).json, { slug: 'b' })
  t.equal((await call(`GET ${pages}/slug:a`)).status, 404)
  t.match((await call(`PATCH ${path}`, { json: { slug: null } })).json, { slug: null })
  t.equal((await call(`POST ${pages}`, { json: { slug: 'b' } })).status, 201)
})

t.test('400: an invalid slug', async (t) => {
  const { call, pages } = await scene()
  for (const slug of ['', 'A', 'a b', 'a_b', 'ä', 'x'.repeat(101), 1, null])
    t.match(await call(`POST ${pages}`, { json: { slug } }), {
      status: 400,
      json: { errors: [{ pointer: '/slug' }] },
    })
})

t.test('a retry with its slug gets the first answer, and one with another slug 422', async (t) => {
  const { call, pages } = await scene()
  const headers = { 'idempotency-key': 'k' }
  const keyed = (slug?: string) => call(`POST ${pages}`, { headers, json: { slug } })
  const first = await keyed('sale')
  t.strictSame((await keyed('sale')).json, first.json)
  for (const slug of ['other', undefined])
    t.match(await keyed(slug), { status: 422, json: { code: 'idempotency_key_reused' } })
})
