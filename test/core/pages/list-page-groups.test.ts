import t from 'tap'
import { listPageGroups } from '../../../src/core/pages/list-page-groups.ts'
import type { PageGroupQuery, PageGroupSlice } from '../../../src/shapes/page-group.ts'
import { refusalOf, scene } from '../scene.ts'

const setUp = async () => {
  const world = await scene()
  return {
    ...world,
    list: (query: Partial<PageGroupQuery> = {}) =>
      world.listGroups({ tenantId: world.tenantId, limit: 20, ...query }),
    newGroups: async (count: number) => {
      const ids: string[] = []
      while (ids.length < count) ids.push((await world.newGroup()).pageGroupId)
      return ids
    },
  }
}

const idsOf = ({ items }: PageGroupSlice) => items.map(({ pageGroupId }) => pageGroupId)
const cursorOf = ({ nextCursor }: { nextCursor?: string | undefined }): string => {
  if (nextCursor === undefined) throw new Error('there is no nextCursor')
  return nextCursor
}

t.test('a page group shows every field, unset ones too, and headerActionId last', async (t) => {
  const { list, newGroup, tenantId } = await setUp()
  const { pageGroupId, brandId } = await newGroup({ name: 'offers', title: 'Offers' })
  const { items } = await list()
  t.strictSame(items, [
    {
      pageGroupId,
      tenantId,
      brandId,
      name: 'offers',
      title: 'Offers',
      pageContext: null,
      status: 'active',
      pagesCount: 0,
      actions: { rawJson: '[]' },
      footerLinks: { rawJson: '[]' },
      scripts: { rawJson: '[]' },
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      deletedAt: null,
      headerActionId: null,
    },
  ])
  t.equal(Object.keys(items[0] ?? {}).at(-1), 'headerActionId')
})

t.test('nothing that only a store knows is shown', async (t) => {
  const { newGroup, store, tenantId } = await scene()
  const kept = await store.pageGroups.find(await newGroup())
  const pageGroups = { ...store.pageGroups, list: async () => [{ ...kept, secret: 1 } as never] }
  const { items } = (await listPageGroups({ store: { pageGroups } })({ tenantId, limit: 20 })).value
  t.equal(items.length, 1)
  t.notOk(JSON.stringify(items).includes('secret'))
})

t.test('without a status all but the deleted ones are listed', async (t) => {
  const { list, newGroup } = await setUp()
  const active = await newGroup({ status: 'active' })
  const archived = await newGroup({ status: 'archived' })
  await newGroup({ status: 'deleted' })
  t.strictSame(idsOf(await list()), [archived.pageGroupId, active.pageGroupId])
})

for (const status of ['active', 'archived', 'deleted'] as const)
  t.test(`the status ${status} lists exactly the ${status} ones`, async (t) => {
    const { list, newGroup } = await setUp()
    const ids = { active: '', archived: '', deleted: '' }
    for (const each of ['active', 'archived', 'deleted'] as const)
      ids[each] = (await newGroup({ status: each })).pageGroupId
    t.strictSame(idsOf(await list({ status })), [ids[status]])
  })

t.test('slice after slice, every group comes once, and the last slice ends the list', async (t) => {
  const { list, newGroups } = await setUp()
  const ids = (await newGroups(5)).toReversed()
  const first = await list({ limit: 2 })
  const second = await list({ limit: 2, cursor: cursorOf(first) })
  const third = await list({ limit: 2, cursor: cursorOf(second) })
  t.strictSame([first, second, third].flatMap(idsOf), ids)
  t.match(
    [first, second],
    [
      { hasMore: true, limit: 2 },
      { hasMore: true, limit: 2 },
    ],
  )
  t.strictSame({ ...third, items: [] }, { items: [], hasMore: false, limit: 2 }, 'no nextCursor at all')
})

t.test('groups that come meanwhile neither shift nor repeat the rest', async (t) => {
  const { list, newGroups } = await setUp()
  const ids = (await newGroups(4)).toReversed()
  const first = await list({ limit: 2 })
  await newGroups(3)
  t.strictSame(idsOf(await list({ limit: 2, cursor: cursorOf(first) })), ids.slice(2))
})

t.test('a cursor works when the group it stands at is gone', async (t) => {
  const { list, newGroups, updateGroup } = await setUp()
  const ids = (await newGroups(4)).toReversed()
  const first = await list({ limit: 2 })
  await updateGroup(ids[1] ?? '', { status: 'deleted' })
  t.strictSame(idsOf(await list({ limit: 2, cursor: cursorOf(first) })), ids.slice(2))
})

t.test('a cursor goes on only with the filter it was given for', async (t) => {
  const { list, newGroups } = await setUp()
  await newGroups(3)
  const all = cursorOf(await list({ limit: 1 }))
  const active = cursorOf(await list({ limit: 1, status: 'active' }))
  for (const query of [
    { cursor: all, status: 'active' },
    { cursor: active },
    { cursor: active, status: 'archived' },
  ])
    t.match(await refusalOf(list(query as Partial<PageGroupQuery>)), {
      kind: 'invalid_cursor',
      facts: { errors: [{ parameter: 'cursor' }] },
    })
  t.equal((await list({ cursor: active, status: 'active' })).items.length, 2)
})

t.test('a cursor of a list of pages is refused', async (t) => {
  const { createPage, list, listPages, newGroup } = await setUp()
  const group = await newGroup()
  await createPage(group)
  await createPage(group)
  const cursor = cursorOf(await listPages({ ...group, limit: 1 }))
  t.equal((await refusalOf(list({ cursor }))).kind, 'invalid_cursor')
})

t.test('a tenant sees its own groups only, whosever cursor it brings', async (t) => {
  const { list, listGroups, newGroup, newGroups, strangerId } = await setUp()
  const own = await newGroup({ tenantId: strangerId })
  await newGroups(3)
  t.strictSame(idsOf(await listGroups({ tenantId: strangerId, limit: 20 })), [own.pageGroupId])
  const cursor = cursorOf(await list({ limit: 1 }))
  t.strictSame(idsOf(await listGroups({ tenantId: strangerId, limit: 20, cursor })), [own.pageGroupId])
})
