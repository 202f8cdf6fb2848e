import t from 'tap'
import { rememberingGroups } from '../../../src/adapters/stores/remembering-groups.ts'
import type { PageCreation, PageToCreate } from '../../../src/core/pages/create-page-with-version.ts'
import { createPageWithVersion } from '../../../src/core/pages/create-page-with-version.ts'
import type { PageGroup } from '../../../src/shapes/page-group.ts'
import { idOf, START_MS } from '../../support/setting.ts'
import { each, refusalOf, scene } from '../scene.ts'

const inGroup = ({ tenantId, pageGroupId }: PageGroup, fields: Partial<PageToCreate> = {}): PageToCreate => ({
  tenantId,
  pageGroupId,
  ...fields,
})

const keyedIn = (group: PageGroup): PageToCreate =>
  inGroup(group, { customName: 'Mine', supplementaryContext: 'Sale', idempotencyKey: 'k' })

t.test('a created page is answered as processing', async (t) => {
  const { createPage, newGroup, newId } = await scene()
  const group = await newGroup()
  const lastId = newId('page')
  const { value: page, replayed } = await createPage(inGroup(group))
  t.strictSame(page, {
    pageId: page.pageId,
    pageGroupId: group.pageGroupId,
    tenantId: group.tenantId,
    createdAt: '2026-01-01T00:00:00.000Z',
    status: 'processing',
  })
  t.equal(replayed, false)
  t.ok(page.pageId > lastId, 'its id comes after all older ones')
})

t.test('a page is named by its context, else by its group and its number there', async (t) => {
  const { createPages, newGroup, readPage } = await scene()
  const group = await newGroup({ title: 'Offers' })
  const pages = await createPages([
    inGroup(group),
    inGroup(group, { supplementaryContext: 'The spring sale' }),
    inGroup(group, { supplementaryContext: ' \n ' }),
  ])
  await createPages([inGroup(group)])
  const names = pages.map(
    async (created) => 'value' in created && (await readPage(created.value)).computedName,
  )
  t.strictSame(await Promise.all(names), ['Offers 1', 'The spring sale', 'Offers 3'])
})

t.test('a page of a known group needs no look-up', async (t) => {
  const { createPage, newGroup, store, updateGroup, clock, newId, readPage } = await scene()
  const group = await newGroup({ title: 'Offers' })
  let recalls = 0
  const recall: typeof store.pages.recall = (want) => {
    recalls++
    return store.pages.recall(want)
  }
  const pages = rememberingGroups({ ...store.pages, recall })
  const create = createPageWithVersion({ store: { ...store, pages }, clock, newId })
  const sale = inGroup(group, { supplementaryContext: 'Sale' })
  const nameOf = async (creation: PageCreation) => (await readPage(creation.value)).computedName
  for (const input of [sale, sale, inGroup(group, { slug: 'spring' })]) await create(input)
  const keyed = await create(keyedIn(group))
  t.equal(await nameOf(await create(inGroup(group))), 'Offers 5')
  t.equal(recalls, 1)

  t.same(await create(keyedIn(group)), { ...keyed, replayed: true })
  t.match(await refusalOf(create(inGroup(group, { slug: 'spring' }))), { kind: 'slug_taken' })
  t.equal(recalls, 3, 'a taken key and a taken slug are looked up')
  await updateGroup(group.pageGroupId, { title: 'Bargains' })
  t.equal(await nameOf(await create(inGroup(group))), 'Bargains 6')
  t.equal(recalls, 4, 'and so is a group with another title')

  await updateGroup(group.pageGroupId, { status: 'archived' })
  const refusal = await refusalOf(createPage(sale))
  t.strictSame(await refusalOf(create(sale)), refusal)
  t.equal(refusal.kind, 'page_group_not_active')
  t.equal(recalls, 5)
})

t.test('a page that is refused takes no number', async (t) => {
  const { createPages, newGroup, readPage } = await scene()
  const group = await newGroup({ title: 'Offers' })
  const refused = [
    { publishAt: '2030-01-01T00:00:00.000Z' },
    { publish: false, publishAt: '2026-06-01T00:00:00.000Z' },
  ]
  const made = await createPages([...refused, {}].map((fields) => inGroup(group, fields)))
  t.match(made, [{ kind: 'invalid_request' }, { kind: 'invalid_request' }, { replayed: false }])
  const last = made.at(-1)
  t.equal(last && 'value' in last && (await readPage(last.value)).computedName, 'Offers 1')
})

t.test('an unknown, a deleted and a stranger’s group are refused alike', async (t) => {
  const { createPage, newGroup, store, strangerId, tenantId } = await scene()
  const unknown = { ...inGroup(await newGroup()), pageGroupId: idOf('pagegroup', 99) }
  const deleted = inGroup(await newGroup({ status: 'deleted' }))
  const foreign = { ...inGroup(await newGroup()), tenantId: strangerId }
  const no = await refusalOf(createPage(unknown))
  t.equal(no.kind, 'page_group_not_found')
  t.strictSame(await refusalOf(createPage(deleted)), no)
  t.strictSame(await refusalOf(createPage(foreign)), no)
  t.equal((await store.pageGroups.find({ ...foreign, tenantId }))?.pagesCount, 0)
})

t.test('a group archived between reading and writing takes no new page either', async (t) => {
  const { clock, newGroup, newId, store, updateGroup } = await scene()
  const group = await newGroup()
  const other = await newGroup()
  let isArchived = false
  const pages = {
    ...store.pages,
    recall: async (want: Parameters<typeof store.pages.recall>[0]) => {
      const known = await store.pages.recall(want)
      if (!isArchived) await updateGroup(group.pageGroupId, { status: 'archived' })
      isArchived = true
      return known
    },
  }
  const create = each(createPageWithVersion({ store: { pages }, clock, newId }))
  t.match(await create([inGroup(group), inGroup(other)]), [
    { kind: 'page_group_not_active' },
    { value: { pageGroupId: other.pageGroupId } },
  ])
  t.equal((await store.pageGroups.find(group))?.pagesCount, 0)
})

t.test('a refused page does not affect the others in its batch', async (t) => {
  const { createPages, newGroup } = await scene()
  const group = await newGroup()
  const archived = await newGroup({ status: 'archived' })
  t.match(await createPages([inGroup(group), inGroup(archived), inGroup(group)]), [
    { value: { pageGroupId: group.pageGroupId } },
    { kind: 'page_group_not_active' },
    { value: { pageGroupId: group.pageGroupId } },
  ])
})

t.test('a request that is sent again is answered as the first time, and makes one page', async (t) => {
  const { clock, createPage, newGroup, store } = await scene()
  const group = await newGroup()
  const first = await createPage(keyedIn(group))
  clock.advance(1_000)
  t.strictSame(await createPage(keyedIn(group)), { ...first, replayed: true })
  t.equal((await store.pageGroups.find(group))?.pagesCount, 1)
})

t.test('a repetition is answered even where the group has been archived since', async (t) => {
  const { createPage, newGroup, updateGroup } = await scene()
  const group = await newGroup()
  const { value: page } = await createPage(keyedIn(group))
  await updateGroup(group.pageGroupId, { status: 'archived' })
  t.strictSame(await createPage(keyedIn(group)), { value: page, replayed: true })
})

t.test(
  'a request that publishes by default is the same as one that says so; a draft is another request',
  async (t) => {
    const { createPage, newGroup } = await scene()
    const group = await newGroup()
    await createPage(keyedIn(group))
    t.match(await createPage({ ...keyedIn(group), publish: true }), { replayed: true }, 'true is the default')
    t.match(await refusalOf(createPage({ ...keyedIn(group), publish: false })), {
      kind: 'idempotency_key_reused',
    })
  },
)

const others = [
  { customName: 'Other', supplementaryContext: 'Sale' },
  { customName: 'Mine', supplementaryContext: 'Other' },
  { customName: 'Sale', supplementaryContext: 'Mine' },
  { customName: 'Mine' },
  { supplementaryContext: 'Sale' },
]
for (const other of others)
  t.test(`the same key with ${JSON.stringify(other)} instead is refused`, async (t) => {
    const { createPage, newGroup, store } = await scene()
    const group = await newGroup()
    const { pageId } = (await createPage(keyedIn(group))).value
    const request = inGroup(group, { ...other, idempotencyKey: 'k' })
    t.match(await refusalOf(createPage(request)), { kind: 'idempotency_key_reused', facts: { pageId } })
    t.equal((await store.pageGroups.find(group))?.pagesCount, 1)
  })

t.test('an idempotency key counts for one page group', async (t) => {
  const { createPage, newGroup, strangerId } = await scene()
  const group = await newGroup()
  await createPage(keyedIn(group))
  t.equal((await createPage(keyedIn(await newGroup()))).replayed, false)
  const foreign = { ...keyedIn(group), tenantId: strangerId }
  t.equal((await refusalOf(createPage(foreign))).kind, 'page_group_not_found')
})

t.test('a refused request leaves its key free', async (t) => {
  const { createPage, newGroup, updateGroup } = await scene()
  const group = await newGroup({ status: 'archived' })
  await refusalOf(createPage(keyedIn(group)))
  await updateGroup(group.pageGroupId, { status: 'active' })
  t.equal((await createPage({ ...keyedIn(group), customName: 'Other' })).replayed, false)
})

t.test('a repetition of fifty, one after the other, is one page and forty-nine replays', async (t) => {
  const { createPages, newGroup, store } = await scene()
  const group = await newGroup()
  const [first, ...others] = await createPages(Array(50).fill(keyedIn(group)))
  t.match(first, { replayed: false })
  t.strictSame(others, Array(49).fill({ ...first, replayed: true }))
  t.equal((await store.pageGroups.find(group))?.pagesCount, 1)
})

t.test('a repetition of fifty at the same moment is one page', async (t) => {
  const { createPage, newGroup } = await scene()
  const group = await newGroup()
  const answers = await Promise.all(Array.from({ length: 50 }, () => createPage(keyedIn(group))))
  t.equal(answers.filter(({ replayed }) => !replayed).length, 1)
  t.equal(new Set(answers.map(({ value }) => JSON.stringify(value))).size, 1)
})

t.test('the clock is asked once for a page', async (t) => {
  const { newGroup, newId, readPage, store } = await scene()
  const group = await newGroup()
  let asked = 0
  const create = createPageWithVersion({ store, newId, clock: () => START_MS + asked++ })
  const { value: page } = await create(inGroup(group))
  t.equal(asked, 1)
  t.equal((await readPage(page)).createdAt, '2026-01-01T00:00:00.000Z')
})
