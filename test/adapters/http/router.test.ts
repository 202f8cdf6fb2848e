import t from 'tap'
import { createRouter } from '../../../src/adapters/http/router.ts'

const GROUPS = { method: 'GET', path: '/v0/page_groups' }
const LIST = { method: 'GET', path: '/v0/page_groups/{page_group_id}/pages' }
const CREATE = { method: 'POST', path: '/v0/page_groups/{page_group_id}/pages' }
const PAGE = { method: 'GET', path: '/v0/page_groups/{page_group_id}/pages/{page_id}' }
const match = createRouter([GROUPS, LIST, CREATE, PAGE])
const paramsOf = (path: string) => match(path)?.params

t.test('a path finds its routes by method', async (t) => {
  t.strictSame([...(match('/v0/page_groups')?.routes ?? [])], [['GET', GROUPS]])
  t.strictSame(
    [...(match('/v0/page_groups/a/pages')?.routes ?? [])],
    [
      ['GET', LIST],
      ['POST', CREATE],
    ],
  )
})

t.test('the segment in the place of a name is its value', async (t) => {
  t.strictSame(paramsOf('/v0/page_groups'), {})
  t.strictSame(paramsOf('/v0/page_groups/a/pages/b'), { page_group_id: 'a', page_id: 'b' })
  t.strictSame(paramsOf('/v0/page_groups/pages/pages'), { page_group_id: 'pages' })
})

t.test('another path finds nothing', async (t) => {
  for (const path of [
    '',
    '/',
    '/v0',
    '/v0/page_groups/',
    '/v0/page_groups/a',
    '/v0/page_groups//pages',
    '/v1/page_groups',
    '*/v0/page_groups',
    'v0/v0/page_groups',
  ])
    t.equal(match(path), null, path)
  for (const path of [
    '/V0/page_groups',
    '/v0/page_groups/a/pages/b/c',
    '/v0/page_groups/a/pages/',
    '//v0/page_groups',
  ])
    t.equal(match(path), null, path)
})

t.test('names of Object.prototype are not routes', async (t) => {
  for (const path of ['/constructor', '/v0/__proto__', '/v0/toString']) t.equal(match(path), null, path)
})

t.test('a value is decoded once; a decoded slash does not split it', async (t) => {
  t.strictSame(paramsOf('/v0/page_groups/%C3%BC%2F%2541/pages'), { page_group_id: 'ü/%41' })
})

t.test('an id that cannot be decoded or stored is not found, without an error', async (t) => {
  t.strictSame(paramsOf('/v0/page_groups/%/pages'), { page_group_id: '%' })
  t.strictSame(paramsOf('/v0/page_groups/%FF/pages'), { page_group_id: '%FF' })
  for (const id of ['a%00b', 'a\0b', 'a\ud800b', '%zz\0'])
    t.strictSame(paramsOf(`/v0/page_groups/${id}/pages`), { page_group_id: '' }, id)
})
