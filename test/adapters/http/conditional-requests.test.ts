import t from 'tap'
import { isKnown, revisionsIn } from '../../../src/adapters/http/entity-tags.ts'
import { openScene, problemFor } from '../../support/api.ts'

/** A published page, and the paths of it and of its group. */
const setUp = async () => {
  const scene = await openScene()
  const { pageGroupId } = await scene.newGroup()
  const group = `/v0/page_groups/${pageGroupId}`
  const page = `${group}/pages/${(await scene.newPage(pageGroupId)).pageId}`
  await scene.publish()
  return { ...scene, group, page }
}

t.test('the tag of a page and a page group is its revision, also after a change', async (t) => {
  const { call, group, page } = await setUp()
  const tagOf = async (operation: string, json?: object) =>
    (await call(operation, json && { json })).headers['etag']
  t.equal(await tagOf(`GET ${page}`), '"r2"', 'published')
  t.equal(await tagOf(`GET ${group}`), '"r2"', 'it has a page more')
  t.equal(await tagOf(`PATCH ${group}`, { title: 'B' }), '"r3"')
  t.equal(await tagOf(`POST ${page}/unpublish`), '"r3"')
  t.equal(await tagOf(`PATCH ${page}`, { customName: 'A' }), '"r4"')
  t.equal(await tagOf(`HEAD ${page}`), '"r4"')
  t.equal(await tagOf(`POST ${page}/versions`), undefined)
  t.equal(await tagOf(`DELETE ${page}`), undefined)
})

t.test('200 and 304: every other read has a weak tag, which changes with its body', async (t) => {
  const { call, group, page } = await setUp()
  const log = { json: { source: 'crm', email: 'ada@x', payload: {} } }
  const { prospectId, prospectLogId } = (await call('POST /v0/prospect_logs', log)).json
  const [version] = (await call(`GET ${page}/versions`)).json.items as [{ versionId: string }]
  const tags = new Set<string>()
  const paths = [
    '/v0/page_groups',
    `${group}/pages`,
    `${page}/versions`,
    `${page}/versions/${version.versionId}`,
    '/v0/prospects',
    `/v0/prospects/${prospectId}`,
    `/v0/prospects/${prospectId}/prospect_logs`,
    '/v0/prospect_logs?limit=5',
    `/v0/prospect_logs/${prospectLogId}`,
    '/v0/erasures',
  ]
  for (const path of paths) {
    const { status, headers } = await call(`GET ${path}`)
    const etag = headers['etag'] ?? ''
    t.match(etag, /^W\/"\d+-[\w-]{11}"$/, path)
    tags.add(etag)
    t.strictSame([status, headers['cache-control']], [200, 'private, no-cache'], path)
    const known = await call(`GET ${path}`, { headers: { 'if-none-match': etag } })
    t.strictSame([known.status, known.body, known.headers['etag']], [304, '', etag], path)
  }
  t.equal(tags.size, paths.length - 1, 'the two lists of one activity are the same')
  const etag = (await call('GET /v0/prospects')).headers['etag'] ?? ''
  await call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {} } })
  t.equal((await call('GET /v0/prospects', { headers: { 'if-none-match': etag } })).status, 200)
})

t.test('304: no body and no type, but the tag and how to keep it; for HEAD too', async (t) => {
  const { call, page } = await setUp()
  for (const method of ['GET', 'HEAD'])
    for (const given of ['"r2"', 'W/"r2"', '"r1", W/"r2"', '*', ' * ', '"a","r2"']) {
      const { status, body, headers } = await call(`${method} ${page}`, {
        headers: { 'if-none-match': given },
      })
      t.strictSame([status, body], [304, ''], given)
      t.match(headers, { etag: '"r2"', 'cache-control': 'private, no-cache', 'x-request-id': /./ })
      t.notOk('content-type' in headers || 'content-length' in headers)
    }
  for (const given of ['"r1"', 'r2', '', '"R2"', '"r2', '"r22"', 'w/"r2"'])
    t.equal((await call(`GET ${page}`, { headers: { 'if-none-match': given } })).status, 200, given)
})

t.test('refusals and answers to writes have no tag and are not cached', async (t) => {
  const { call, group } = await setUp()
  const headers = { 'if-none-match': '*' }
  for (const answer of [
    await call('GET /v0/page_groups/x', { headers }),
    await call('GET /v0/page_groups?limit=0', { headers }),
    await call('GET /v0/page_groups', { headers, key: null }),
  ]) {
    t.ok(answer.status >= 400)
    t.equal(answer.headers['cache-control'], 'no-store')
    t.notOk('etag' in answer.headers)
  }
  const changed = await call(`PATCH ${group}`, { json: { title: 'B' }, headers })
  t.strictSame([changed.status, changed.headers['cache-control']], [200, 'no-store'])
  t.equal((await call('GET /healthz', { headers })).headers['etag'], undefined)
})

t.test('412: a change for another revision does nothing, and returns the present one', async (t) => {
  const { call, group, page } = await setUp()
  const [version] = (await call(`GET ${page}/versions`)).json.items as [{ versionId: string }]
  const operations = [
    `PATCH ${group}`,
    `DELETE ${group}`,
    `PATCH ${page}`,
    `DELETE ${page}`,
    `POST ${page}/unpublish`,
    `POST ${page}/versions`,
    `POST ${page}/versions/${version.versionId}/publish`,
  ]
  for (const operation of operations)
    for (const given of ['"r1"', 'r2', '"r3", "x"', '', '"*"', '"r02"', '"r2.0"', 'W/r2', '"r1", *']) {
      const json = operation === `PATCH ${group}` ? { title: 'B' } : { customName: 'B' }
      const sent = operation.startsWith('PATCH') ? { json } : {}
      const answer = await call(operation, { ...sent, headers: { 'if-match': given } })
      const detail = 'The revision is now 2.'
      const expected = problemFor(answer, 'precondition_failed', 412, detail, { revision: 2 })
      t.strictSame(answer.json, expected, `${operation} ${given}`)
    }
  t.match((await call(`GET ${page}`)).headers, { etag: '"r2"' })
  t.match((await call(`GET ${group}`)).headers, { etag: '"r2"' })
})

t.test('200: a change for the present revision, for one of several, or for any', async (t) => {
  const { call, page } = await setUp()
  let revision = 2
  for (const given of ['"r2"', 'W/"r3"', '"r1" ,W/"r9", "r4"', '*', undefined]) {
    const headers = given === undefined ? {} : { 'if-match': given }
    const answer = await call(`PATCH ${page}`, { json: { customName: `${given}` }, headers })
    t.strictSame([answer.status, answer.headers['etag']], [200, `"r${++revision}"`], `${given}`)
  }
  t.equal((await call(`DELETE ${page}`, { headers: { 'if-match': `"r${revision}"` } })).status, 204)
  const gone = await call(`PATCH ${page}`, { json: {}, headers: { 'if-match': '*' } })
  t.equal(gone.status, 404)
})

t.test('creating and reading ignore If-Match', async (t) => {
  const { call, group, page } = await setUp()
  const headers = { 'if-match': '"r99"' }
  t.equal((await call(`GET ${page}`, { headers })).status, 200)
  t.equal((await call(`POST ${group}/pages`, { headers })).status, 201)
})

t.test(
  '201: a version for the present revision is created once, and a retry gets the same answer',
  async (t) => {
    const { call, page } = await setUp()
    const headers = { 'if-match': '"r2"', 'idempotency-key': 'one' }
    const create = () => call(`POST ${page}/versions`, { body: '{"content":{"a":1}}', headers })
    const created = await create()
    t.equal(created.status, 201)
    t.equal((await call(`GET ${page}`)).headers['etag'], '"r3"')
    const retried = await create()
    t.strictSame([retried.status, retried.json], [201, created.json])
    t.equal(retried.headers['idempotent-replayed'], 'true')
    const other = await call(`POST ${page}/versions`, { headers: { 'if-match': '"r2"' } })
    t.match(other, { status: 412, json: { code: 'precondition_failed', revision: 3 } })
  },
)

t.test('of many versions for one revision exactly one is created', async (t) => {
  const { call, page } = await setUp()
  const headers = { 'if-match': '"r2"' }
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call(`POST ${page}/versions`, { headers })),
  )
  t.strictSame(
    [201, 412].map((wanted) => answers.filter(({ status }) => status === wanted).length),
    [1, 19],
  )
})

t.test('of many changes for one revision exactly one is made', async (t) => {
  const { call, page } = await setUp()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      call(`PATCH ${page}`, { json: { customName: `name ${i}` }, headers: { 'if-match': '"r2"' } }),
    ),
  )
  t.strictSame(
    [200, 412].map((wanted) => answers.filter(({ status }) => status === wanted).length),
    [1, 19],
  )
})

t.test('headers without a tag are ignored', async (t) => {
  t.equal(isKnown({ headers: {} }, '"r1"'), false)
  t.strictSame(revisionsIn('"r1",W/"r2",r3,"r9999999999999999999"'), [1, 2])
})
