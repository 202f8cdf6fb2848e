import t from 'tap'
import type { PageSlice } from '../../../src/shapes/page.ts'
import { idOf } from '../../support/setting.ts'
import { refusalOf, scene } from '../scene.ts'

const setUp = async () => {
  const world = await scene()
  const group = await world.newGroup()
  const { tenantId, pageGroupId } = group
  return {
    ...world,
    group,
    list: (listing: Partial<Parameters<typeof world.listPages>[0]> = {}) =>
      world.listPages({ tenantId, pageGroupId, limit: 20, ...listing }),
    newPages: async (count: number) => {
      const ids: string[] = []
      while (ids.length < count) ids.push((await world.createPage({ tenantId, pageGroupId })).value.pageId)
      return ids
    },
  }
}

const idsOf = ({ items }: PageSlice) => items.map(({ pageId }) => pageId)
const cursorOf = ({ nextCursor }: { nextCursor?: string | undefined }): string => {
  if (nextCursor === undefined) throw new Error('there is no nextCursor')
  return nextCursor
}

t.test('names of any length are all listed, in slices of at most 1 MiB of JSON', async (t) => {
  const { createPage, group, list } = await setUp()
  // Each name is in its item twice: two of these fit, the last one alone does not.
  for (const letter of ['a', 'b', 'c', 'd', 'e'])
    await createPage({ ...group, customName: letter.repeat(letter === 'e' ? 600_000 : 250_000) })
  await createPage(group)
  const seen: (string | null)[][] = []
  let cursor: string | undefined
  do {
    const { items, nextCursor } = await list(cursor === undefined ? {} : { cursor })
    seen.push(items.map(({ customName }) => customName?.at(0) ?? null))
    cursor = nextCursor
  } while (cursor !== undefined)
  t.strictSame(seen, [[null], ['e'], ['d', 'c'], ['b', 'a']])
})

t.test('a page shows every field, unset ones too', async (t) => {
  const { createPage, group, list } = await setUp()
  const { value: page } = await createPage(group)
  const answer = await list()
  t.strictSame(answer, {
    items: [
      {
        pageId: page.pageId,
        pageGroupId: group.pageGroupId,
        tenantId: group.tenantId,
        createdAt: '2026-01-01T00:00:00.000Z',
        updatedAt: '2026-01-01T00:00:00.000Z',
        effectiveName: 'Offers 1',
        slug: null,
        customName: null,
        computedName: 'Offers 1',
      },
    ],
    hasMore: false,
  })
})

t.test('the custom name is the effective one unless it is blank', async (t) => {
  const { createPage, group, list } = await setUp()
  for (const customName of ['Mine', ' ', '']) await createPage({ ...group, customName })
  t.match((await list()).items, [
    { customName: '', effectiveName: 'Offers 3' },
    { customName: ' ', effectiveName: 'Offers 2' },
    { customName: 'Mine', effectiveName: 'Mine', computedName: 'Offers 1' },
  ])
})

t.test('the newest comes first, and slice after slice every page comes once', async (t) => {
  const { list, newPages } = await setUp()
  const ids = (await newPages(5)).toReversed()
  const first = await list({ limit: 3 })
  const second = await list({ limit: 3, cursor: cursorOf(first) })
  t.strictSame([first, second].flatMap(idsOf), ids)
  t.equal(first.hasMore, true)
  t.strictSame({ ...second, items: [] }, { items: [], hasMore: false }, 'neither nextCursor nor limit')
})

t.test('an archived group still shows its pages', async (t) => {
  const { group, list, newPages, updateGroup } = await setUp()
  const ids = await newPages(1)
  await updateGroup(group.pageGroupId, { status: 'archived' })
  t.strictSame(idsOf(await list()), ids)
})

t.test('an unknown, a deleted and a stranger’s group are refused alike', async (t) => {
  const { group, list, newGroup, strangerId } = await setUp()
  const deleted = await newGroup({ status: 'deleted' })
  const no = await refusalOf(list({ pageGroupId: idOf('pagegroup', 99) }))
  t.equal(no.kind, 'page_group_not_found')
  t.strictSame(await refusalOf(list({ pageGroupId: deleted.pageGroupId })), no)
  t.strictSame(await refusalOf(list({ pageGroupId: group.pageGroupId, tenantId: strangerId })), no)
  t.strictSame(await refusalOf(list({ pageGroupId: 'not an id' })), no)
})

t.test('a cursor of another group, or of the list of groups, is refused', async (t) => {
  const { list, listGroups, newGroup, newPages, tenantId } = await setUp()
  const other = await newGroup()
  await newPages(2)
  const ofPages = cursorOf(await list({ limit: 1 }))
  const ofGroups = cursorOf(await listGroups({ tenantId, limit: 1 }))
  t.equal((await refusalOf(list({ cursor: ofPages, pageGroupId: other.pageGroupId }))).kind, 'invalid_cursor')
  t.equal((await refusalOf(list({ cursor: ofGroups }))).kind, 'invalid_cursor')
})

t.test('a stranger gains nothing by a cursor', async (t) => {
  const { list, newPages, strangerId } = await setUp()
  await newPages(2)
  const cursor = cursorOf(await list({ limit: 1 }))
  t.equal((await refusalOf(list({ cursor, tenantId: strangerId }))).kind, 'page_group_not_found')
})
