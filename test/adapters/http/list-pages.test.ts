import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import type { Page } from '../../../src/shapes/page.ts'
import { type Answer, openScene } from '../../support/api.ts'

const namesOf = (answer: Answer) => (answer.json.items as Page[]).map(({ customName }) => customName)

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

t.test('200: 20 pages are answered unless the limit says otherwise, up to 100', async (t) => {
  const { call, LIST } = await openSceneOf(Array.from({ length: 101 }, (_, i) => `page ${i}`))
  t.equal(namesOf(await call(LIST)).length, 20)
  t.equal(namesOf(await call(`${LIST}?limit=1`)).length, 1)
  t.equal(namesOf(await call(`${LIST}?limit=100`)).length, 100)
})
