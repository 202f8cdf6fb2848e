import t from 'tap'
import { getPage } from '../../../src/core/pages/get-page.ts'
import { idOf } from '../../support/setting.ts'
import { refusalOf, scene } from '../scene.ts'

t.test('a page that is not published yet is read all the same', async (t) => {
  const { createPage, newGroup, readPage } = await scene()
  const { value: page } = await createPage({ ...(await newGroup()), supplementaryContext: 'The spring sale' })
  const read = await readPage(page)
  t.strictSame(read, {
    pageId: page.pageId,
    pageGroupId: page.pageGroupId,
    tenantId: page.tenantId,
    createdAt: '2026-01-01T00:00:00.000Z',
    effectiveName: 'The spring sale',
    slug: null,
    customName: null,
    computedName: 'The spring sale',
    supplementaryContext: 'The spring sale',
    publishedVersion: null,
    latestVersion: {
      versionId: read.latestVersion.versionId,
      versionNumber: 1,
      status: 'processing',
      failureReason: null,
      publishAt: null,
    },
    unpublishAt: null,
  })
})

t.test('the custom name is the effective one unless it is blank', async (t) => {
  const { createPage, newGroup, readPage } = await scene()
  const group = await newGroup()
  const named = await createPage({ ...group, customName: ' Mine ' })
  const blank = await createPage({ ...group, customName: '\t' })
  t.match(await readPage(named.value), { effectiveName: ' Mine ', computedName: 'Offers 1' })
  t.match(await readPage(blank.value), { effectiveName: 'Offers 2', customName: '\t' })
})

t.test('nothing that only a store knows is shown', async (t) => {
  const { createPage, newGroup, store } = await scene()
  const { value: page } = await createPage(await newGroup())
  const find = async () => {
    const found = await store.pages.find(page)
    if (typeof found === 'string') throw new Error(found)
    const secret = { secret: 1 }
    return {
      ...found,
      ...secret,
      latest: { ...found.latest, ...secret },
      published: { ...found.latest, ...secret, content: null },
    }
  }
  const read = getPage({ store: { pages: { ...store.pages, find } } })
  t.notOk(JSON.stringify(await read(page)).includes('secret'))
})

t.test('an unknown page, and one of another group, are refused alike', async (t) => {
  const { createPage, newGroup, readPage } = await scene()
  const { value: page } = await createPage(await newGroup())
  const other = await newGroup()
  const no = await refusalOf(readPage({ ...page, pageId: idOf('page', 99) }))
  t.equal(no.kind, 'page_not_found')
  t.strictSame(await refusalOf(readPage({ ...page, pageGroupId: other.pageGroupId })), no)
  t.strictSame(await refusalOf(readPage({ ...page, pageId: 'not an id' })), no)
})

t.test('an unknown, a deleted and a stranger’s group are refused alike', async (t) => {
  const { createPage, newGroup, readPage, strangerId, updateGroup } = await scene()
  const { value: page } = await createPage(await newGroup())
  const no = await refusalOf(readPage({ ...page, pageGroupId: idOf('pagegroup', 99) }))
  t.equal(no.kind, 'page_group_not_found')
  t.strictSame(await refusalOf(readPage({ ...page, tenantId: strangerId })), no)
  await updateGroup(page.pageGroupId, { status: 'deleted' })
  t.strictSame(await refusalOf(readPage(page)), no)
})
