import { isDeepStrictEqual } from 'node:util'
import type { StoredPageGroup } from '../../src/core/ports/page-groups.ts'
import type { NewPageRow, PagesWant, StoredPage } from '../../src/core/ports/pages.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  keyFields,
  newId,
  only,
  type SomeTenant,
  scribbleOn,
  someGroup,
  somePage,
} from '../support/rows.ts'
import { EVERY_STORE, opened, overStores } from '../support/stores.ts'

overStores(async (t, kind) => {
  const { store } = await opened(t, kind)
  const { pageGroups, pages } = store
  const addGroup = async (tenant: SomeTenant, fields: Partial<StoredPageGroup> = {}) => {
    const group = someGroup(tenant, fields)
    await pageGroups.add(group)
    return group
  }
  const newGroup = async (fields: Partial<StoredPageGroup> = {}) => addGroup(await addTenant(store), fields)
  const added = async (group: StoredPageGroup, fields: Partial<NewPageRow> = {}) => {
    const page = somePage(group, fields)
    if ((await pages.record([page])) !== 'recorded') throw new Error('not recorded')
    return page
  }
  const listed = async (group: Parent, want: Partial<PagesWant> = {}) =>
    (await pages.list([wantOf(group, want)]))[0]
  const recall = async (wants: Partial<Parameters<typeof pages.recall>[0]>) => {
    const known = await pages.recall({ groups: [], keys: [], ...wants })
    return { groups: only(known.groups, ...GROUP_FIELDS), pages: only(known.pages, ...PAGE_FIELDS) }
  }
  const countOf = async ({ pageGroupId }: Parent) => (await pageGroups.find(pageGroupId))?.pagesCount

  t.test('a recorded page is listed, and found with a version that is being processed', async (t) => {
    const group = await newGroup()
    const page = await added(group, {
      customName: 'Mine',
      computedName: 'Spring sale',
      supplementaryContext: 'Spring sale of 2026',
      createdAt: at(123),
    })
    t.strictSame(await listed(group), [storedPage(page)])
    const latest = {
      versionId: page.versionId,
      versionNumber: 1,
      status: 'processing',
      publishedAt: null,
      failureReason: null,
    }
    const { supplementaryContext } = page
    t.strictSame(await pages.find([page]), [
      { ...storedPage(page), supplementaryContext, published: null, latest },
    ])
  })

  t.test('what a page has not is null', async (t) => {
    const group = await newGroup()
    const [found] = await pages.find([await added(group)])
    t.match(found, { customName: null, supplementaryContext: null, published: null })
  })

  t.test(
    'a group is recalled with its status, its title and its exact count, unless it is deleted',
    async (t) => {
      const tenant = await addTenant(store)
      const statuses = ['active', 'archived', 'deleted'] as const
      const groups: StoredPageGroup[] = []
      for (const status of statuses) groups.push(await addGroup(tenant, { title: `Is ${status}` }))
      await pages.record(groups.flatMap((group, i) => Array.from({ length: i }, () => somePage(group))))
      for (const [i, status] of statuses.entries()) {
        const group = { ...(groups[i] as StoredPageGroup), status }
        groups[i] = { ...group, deletedAt: status === 'deleted' ? at(0) : null }
        await pageGroups.change(groups[i], group.updatedAt)
      }
      for (const [pagesCount, group] of groups.entries()) {
        const known = await recall({ groups: [group] })
        const groups = group.status === 'deleted' ? [] : only([{ ...group, pagesCount }], ...GROUP_FIELDS)
        t.strictSame(known, { groups, pages: [] })
      }
    },
  )

  t.test('nothing is recalled but what is wanted, and a want said twice does no harm', async (t) => {
    const tenant = await addTenant(store)
    const [wanted, other] = [await addGroup(tenant), await addGroup(tenant)]
    await added(wanted, keyFields('other'))
    await added(other, keyFields('one'))
    const page = await added(wanted, keyFields('one'))
    t.strictSame(await recall({}), { groups: [], pages: [] })
    const known = await recall({
      groups: [wanted, wanted],
      keys: [keyWant(page), keyWant(page), { ...keyWant(page), idempotencyKey: 'none' }],
    })
    t.strictSame(new Set(known.groups.map(({ pageGroupId }) => pageGroupId)), new Set([wanted.pageGroupId]))
    t.strictSame(new Set(known.pages.map(({ pageId }) => pageId)), new Set([page.pageId]))
  })

  t.test('a page is recalled by its idempotency key, in its own group and tenant only', async (t) => {
    const group = await newGroup()
    const page = await added(group, { ...keyFields('one'), createdAt: at(77) })
    t.strictSame(
      (await recall({ keys: [keyWant(page)] })).pages,
      only([page as RecalledPage], ...PAGE_FIELDS),
    )
    const sibling = await addGroup(group)
    t.strictSame((await recall({ keys: [keyWant({ ...page, ...parentOf(sibling) })] })).pages, [])
    t.strictSame((await recall({ keys: [{ ...keyWant(page), tenantId: newId('tenant') }] })).pages, [])
  })

  t.test('a stranger recalls, lists and finds nothing', async (t) => {
    const group = await newGroup()
    const page = await added(group)
    const { tenantId } = await addTenant(store)
    t.strictSame(await recall({ groups: [{ ...group, tenantId }] }), { groups: [], pages: [] })
    t.equal(await listed({ ...group, tenantId }), null)
    t.strictSame(await pages.find([{ ...page, tenantId }]), ['page_group_not_found'])
  })

  t.test('a stranger who records under our group changes nothing of ours', async (t) => {
    const group = await newGroup()
    const page = await added(group)
    const { tenantId } = await addTenant(store)
    await pages.record([somePage({ ...group, tenantId })])
    t.equal(await countOf(group), 1)
    t.strictSame(await listed(group), [storedPage(page)])
  })

  t.test('a taken idempotency key is overtaken, and nothing of the list is saved', async (t) => {
    const group = await newGroup()
    const page = await added(group, keyFields('taken'))
    const other = await addGroup(group)
    const late = [somePage(other), somePage(group, keyFields('free')), somePage(group, keyFields('taken'))]
    t.equal(await pages.record(late), 'overtaken')
    t.strictSame(await listed(group), [storedPage(page)])
    t.strictSame(await listed(other), [])
    t.strictSame([await countOf(group), await countOf(other)], [1, 0])
    t.strictSame(await pages.find(late), ['page_not_found', 'page_not_found', 'page_not_found'])
    t.equal(await pages.record(late.slice(0, 2)), 'recorded')
  })

  t.test(
    'a group archived or deleted meanwhile is overtaken, and nothing of the list is saved',
    async (t) => {
      for (const status of ['archived', 'deleted'] as const) {
        const group = await newGroup()
        const other = await addGroup(group)
        const known = await recall({ groups: [group] })
        t.match(known.groups, [{ status: 'active' }])
        const deletedAt = status === 'deleted' ? at(1) : null
        await pageGroups.change({ ...group, status, deletedAt }, group.updatedAt)
        const late = [somePage(other), somePage(group)]
        t.equal(await pages.record(late), 'overtaken')
        t.strictSame([await countOf(group), await countOf(other)], [0, 0])
        t.strictSame(await listed(other), [])
        t.equal(await pages.record(late.slice(0, 1)), 'recorded')
      }
    },
  )

  t.test('an idempotency key belongs to its group and its tenant', async (t) => {
    const group = await newGroup()
    const [sibling, stranger] = [await addGroup(group), await newGroup()]
    for (const parent of [group, sibling, stranger]) await added(parent, keyFields('one'))
    const without = [somePage(group), somePage(group)]
    t.equal(await pages.record(without), 'recorded')
    t.strictSame([await countOf(group), await countOf(sibling), await countOf(stranger)], [3, 1, 1])
  })

  t.test('pages are listed newest first by id, whatever the order in which they came', async (t) => {
    const group = await newGroup()
    const rows = Array.from({ length: 9 }, () => somePage(group))
    const shuffled = [4, 0, 8, 2, 6, 1, 7, 3, 5].map((i) => rows[i] as NewPageRow)
    await pages.record(shuffled.slice(0, 4))
    await pages.record(shuffled.slice(4))
    t.strictSame(await listed(group), rows.toReversed().map(storedPage))
  })

  t.test('a list goes on before an id, also before one that was never there', async (t) => {
    const group = await newGroup()
    const oldest = await added(group)
    const never = newId('page')
    const newest = await added(group)
    t.strictSame(await listed(group, { beforeId: newest.pageId }), [storedPage(oldest)])
    t.strictSame(await listed(group, { beforeId: never }), [storedPage(oldest)])
    t.strictSame(await listed(group, { beforeId: oldest.pageId }), [])
  })

  t.test('a list has one row more than its limit, the newest', async (t) => {
    const group = await newGroup()
    const rows = [await added(group), await added(group), await added(group)].reverse().map(storedPage)
    for (const limit of [1, 2, 3, 100]) t.strictSame(await listed(group, { limit }), rows.slice(0, limit + 1))
  })

  t.test('a list ends once the names of all its rows but the last fill a slice', async (t) => {
    for (const [kilobytes, count] of [
      [[2_000, 0, 0], 2],
      [[0, 700, 700, 0, 0], 4],
      [[300, 300, 300, 300, 0, 0], 5],
      [[100, 100, 100, 100, 100, 100], 6],
    ] as const) {
      const group = await newGroup()
      const rows: StoredPage[] = []
      for (const size of kilobytes.toReversed())
        rows.unshift(storedPage(await added(group, { customName: 'x'.repeat(size * 1_000) })))
      t.ok(isDeepStrictEqual(await listed(group), rows.slice(0, count)), `${kilobytes} KB`)
    }
  })

  t.test('an empty or an archived group has a list, a deleted or unknown one has none', async (t) => {
    const group = await newGroup()
    t.strictSame(await listed(group), [])
    const page = await added(group)
    await pageGroups.change({ ...group, status: 'archived' }, group.updatedAt)
    t.strictSame(await listed(group), [storedPage(page)])
    await pageGroups.change({ ...group, status: 'deleted', deletedAt: at(1) }, group.updatedAt)
    t.equal(await listed(group), null)
    t.equal(await listed({ ...group, pageGroupId: newId('pagegroup') }), null)
  })

  t.test('many lists in one call are each answered in their place', async (t) => {
    const [ours, theirs] = [await newGroup(), await newGroup()]
    const empty = await addGroup(ours)
    const gone = await addGroup(ours, { status: 'deleted' })
    const [a, b, c] = [await added(ours), await added(theirs), await added(ours)]
    const crowded = await addGroup(ours)
    const [d, e] = [await added(crowded), await added(crowded), await added(crowded)].slice(1) as [
      NewPageRow,
      NewPageRow,
    ]
    const answers: [PagesWant, NewPageRow[] | null][] = [
      [wantOf(ours), [c, a]],
      [wantOf(gone), null],
      [wantOf(theirs), [b]],
      [wantOf(ours), [c, a]],
      [wantOf(empty), []],
      [wantOf({ ...theirs, tenantId: ours.tenantId }), null],
      [wantOf(crowded, { limit: 1 }), [e, d]],
      [wantOf(ours, { beforeId: c.pageId }), [a]],
      [wantOf(theirs, { beforeId: b.pageId }), []],
    ]
    t.strictSame(
      await pages.list(answers.map(([want]) => want)),
      answers.map(([, rows]) => rows?.map(storedPage) ?? null),
    )
    t.strictSame(await pages.list([]), [])
  })

  t.test('many reads in one call tell apart a missing page from a missing group', async (t) => {
    const [ours, theirs] = [await newGroup(), await newGroup()]
    const sibling = await addGroup(ours)
    const gone = await addGroup(ours)
    const [mine, hidden, foreign] = [await added(ours), await added(gone), await added(theirs)]
    await pageGroups.change({ ...gone, status: 'deleted', deletedAt: at(1) }, gone.updatedAt)
    const found = await pages.find([
      mine,
      hidden,
      { ...mine, pageGroupId: sibling.pageGroupId },
      { ...mine, pageGroupId: newId('pagegroup') },
      foreign,
      { ...foreign, tenantId: ours.tenantId },
      { ...foreign, ...parentOf(ours) },
      mine,
      { ...mine, pageId: 'nonsense' },
    ])
    t.strictSame(
      found.map((page) => (typeof page === 'string' ? page : page.pageId)),
      [
        mine.pageId,
        'page_group_not_found',
        'page_not_found',
        'page_group_not_found',
        foreign.pageId,
        'page_group_not_found',
        'page_not_found',
        mine.pageId,
        'page_not_found',
      ],
    )
    t.strictSame(await pages.find([]), [])
  })

  t.test('every text field keeps every text as it is', async (t) => {
    const group = await newGroup()
    const rows = AWKWARD_TEXTS.map((text) =>
      somePage(group, {
        customName: text,
        computedName: text || 'never blank',
        supplementaryContext: text,
        ...keyFields(text),
      }),
    )
    t.equal(await pages.record(rows), 'recorded')
    t.strictSame(await listed(group), rows.toReversed().map(storedPage))
    const found = await pages.find(rows)
    t.strictSame(
      found.map((page) => typeof page === 'object' && page.supplementaryContext),
      AWKWARD_TEXTS,
    )
    const known = await recall({ keys: rows.map(keyWant) })
    t.strictSame(known.pages.map(({ idempotencyKey }) => idempotencyKey).sort(), [...AWKWARD_TEXTS].sort())
  })

  t.test('a context of a hundred thousand characters and the longest idempotency key are kept', async (t) => {
    const group = await newGroup()
    const key = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7)).join('')
    const page = await added(group, { supplementaryContext: 'long '.repeat(20_000), ...keyFields(key) })
    const [found] = await pages.find([page])
    t.match(found, { supplementaryContext: page.supplementaryContext })
    t.strictSame(only((await recall({ keys: [keyWant(page)] })).pages, 'pageId'), [{ pageId: page.pageId }])
  })

  t.test('two hundred pages of several groups are one list, and each group counts its own', async (t) => {
    const tenant = await addTenant(store)
    const groups = [await addGroup(tenant), await addGroup(tenant), await newGroup()]
    const rows = Array.from({ length: 200 }, (_, i) => somePage(groups[i % 3] as StoredPageGroup))
    t.equal(await pages.record(rows), 'recorded')
    t.strictSame(await Promise.all(groups.map(countOf)), [67, 67, 66])
    const lists = await pages.list(groups.map((group) => wantOf(group)))
    t.strictSame(
      lists.map((list) => list?.length),
      [67, 67, 66],
    )
  })

  t.test('scribbling on what was recalled, listed or found changes nothing inside', async (t) => {
    const group = await newGroup()
    const page = await added(group, keyFields('one'))
    const seen = async () => ({
      known: await recall({ groups: [group], keys: [keyWant(page)] }),
      list: await listed(group),
      found: await pages.find([page]),
    })
    const before = structuredClone(await seen())
    scribbleOn(await pages.recall({ groups: [group], keys: [keyWant(page)] }))
    scribbleOn(await pages.list([wantOf(group)]))
    scribbleOn(await pages.find([page]))
    t.strictSame(await seen(), before)
  })

  t.test('scribbling on what was recorded changes nothing inside', async (t) => {
    const group = await newGroup()
    const page = await added(group, keyFields('one'))
    const before = structuredClone(page)
    scribbleOn(page)
    t.strictSame(await listed(group), [storedPage(before)])
  })
}, EVERY_STORE)

type Parent = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId'>
const parentOf = ({ tenantId, pageGroupId }: Parent): Parent => ({ tenantId, pageGroupId })

const wantOf = (group: Parent, want: Partial<PagesWant> = {}): PagesWant => ({
  ...parentOf(group),
  beforeId: null,
  limit: 100,
  ...want,
})
const keyWant = (page: NewPageRow) => ({ ...parentOf(page), idempotencyKey: String(page.idempotencyKey) })

const GROUP_FIELDS = ['tenantId', 'pageGroupId', 'status', 'title', 'pagesCount'] as const
const PAGE_FIELDS = [
  'tenantId',
  'pageGroupId',
  'pageId',
  'idempotencyKey',
  'requestHash',
  'createdAt',
] as const
type RecalledPage = NewPageRow & { readonly idempotencyKey: string; readonly requestHash: string }

const storedPage = (page: NewPageRow): StoredPage => ({
  tenantId: page.tenantId,
  pageGroupId: page.pageGroupId,
  pageId: page.pageId,
  customName: page.customName,
  computedName: page.computedName,
  createdAt: page.createdAt,
  updatedAt: page.updatedAt,
})
