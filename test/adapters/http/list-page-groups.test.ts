import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import type { PageGroup } from '../../../src/shapes/page-group.ts'
import { type Answer, openScene } from '../../support/api.ts'

const LIST = 'GET /v0/page_groups'

const itemsOf = (answer: Answer) => answer.json.items as PageGroup[]
const namesOf = (answer: Answer) => itemsOf(answer).map(({ name }) => name)
const nextOf = (answer: Answer) => String(answer.json.nextCursor)

t.test('200: a group has every field, headerActionId last; unset fields are null or empty', async (t) => {
  const { call, newGroup, owner } = await openScene()
  const group = await newGroup()
  const answer = await call(LIST)
  t.strictSame([answer.status, answer.headers['content-type']], [200, 'application/json'])
  const at = '2026-01-01T00:00:00.000Z'
  const item = {
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
    createdAt: at,
    updatedAt: at,
    deletedAt: null,
    headerActionId: null,
  }
  t.equal(answer.body, jsonLine({ items: [item], hasMore: false, limit: 20 }))
})

t.test('200: lists, texts and the count of pages are returned unchanged', async (t) => {
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

t.test('200: newest first, each group once, and only the last slice has no nextCursor', async (t) => {
  const { call, newGroup } = await openScene()
  for (const name of ['a', 'b', 'c', 'd', 'e']) await newGroup({ name })
  const first = await call(`${LIST}?limit=2`)
  const second = await call(`${LIST}?limit=2&cursor=${nextOf(first)}`)
  const last = await call(`${LIST}?limit=2&cursor=${nextOf(second)}`)
  t.strictSame([first, second, last].map(namesOf), [['e', 'd'], ['c', 'b'], ['a']])
  t.match(nextOf(first), /^[\w-]+$/, 'safe in an address')
  t.strictSame(Object.keys(first.json), ['items', 'hasMore', 'nextCursor', 'limit'])
  t.match(first.json, { hasMore: true, limit: 2 })
  t.match(second.json, { hasMore: true, limit: 2 })
  t.strictSame(Object.keys(last.json), ['items', 'hasMore', 'limit'])
  t.match(last.json, { hasMore: false, limit: 2 })
})
