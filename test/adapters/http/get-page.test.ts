import t from 'tap'
import { jsonLine } from '../../../src/adapters/http/requests.ts'
import { openScene, problemFor } from '../../support/api.ts'
import { idOf } from '../../support/setting.ts'

/** A group with one page, and the request that reads it. */
const openSceneOf = async () => {
  const scene = await openScene()
  const { pageGroupId } = await scene.newGroup()
  const { pageId } = await scene.newPage(pageGroupId)
  return { ...scene, pageGroupId, pageId, READ: `GET /v0/page_groups/${pageGroupId}/pages/${pageId}` }
}

t.test('200: a page can be read before anything of it is published', async (t) => {
  const { call, owner, pageGroupId, pageId, READ } = await openSceneOf()
  const answer = await call(READ)
  t.strictSame([answer.status, answer.headers['content-type']], [200, 'application/json'])
  const latestVersion = {
    versionId: idOf('pageversion', 7),
    versionNumber: 1,
    status: 'processing',
    failureReason: null,
    publishAt: null,
  }
  t.equal(
    answer.body,
    jsonLine({
      pageId,
      pageGroupId,
      tenantId: owner.tenantId,
      createdAt: '2026-01-01T00:00:00.000Z',
      effectiveName: 'Offers 1',
      customName: null,
      computedName: 'Offers 1',
      slug: null,
      supplementaryContext: null,
      publishedVersion: null,
      latestVersion,
      unpublishAt: null,
    }),
  )
})

t.test('200: repeated headers that mean nothing to a read are ignored', async (t) => {
  const { call, READ } = await openSceneOf()
  t.equal((await call(READ, { repeatedHeaders: ['idempotency-key', 'content-type'] })).status, 200)
})

t.test('404: an unknown page and a page of another group are missing alike', async (t) => {
  const { call, newGroup, pageGroupId, pageId } = await openSceneOf()
  const other = await newGroup()
  for (const [group, page] of [
    [pageGroupId, idOf('page', 999)],
    [pageGroupId, 'x'],
    [other.pageGroupId, pageId],
  ]) {
    const answer = await call(`GET /v0/page_groups/${group}/pages/${page}`)
    const detail = 'Page not found in this group.'
    t.equal(answer.status, 404)
    t.strictSame(answer.json, problemFor(answer, 'page_not_found', 404, detail))
  }
})
