import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { openScene } from '../../support/api.ts'

t.test('200: a page has every field of the list, and the slice has no limit', async (t) => {
  const { call, newGroup, newPage, owner } = await openScene()
  const { pageGroupId } = await newGroup()
  const { pageId } = await newPage(pageGroupId, { supplementaryContext: 'About the spring sale' })
  const answer = await call(`GET /v0/page_groups/${pageGroupId}/pages`)
  t.strictSame([answer.status, answer.headers['content-type']], [200, 'application/json'])
  const item = {
    pageId,
    pageGroupId,
    tenantId: owner.tenantId,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    effectiveName: 'About the spring sale',
    customName: null,
    computedName: 'About the spring sale',
    slug: null,
  }
  t.equal(answer.body, jsonLine({ items: [item], hasMore: false }))
})
