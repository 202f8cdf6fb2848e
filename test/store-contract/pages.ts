import { isDeepStrictEqual } from 'node:util'
import type { NewPageRow, PagesWant, StoredPage, StoredPageGroup } from 'prospect-pages'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  keyFields,
  newId,
  only,
  readEach,
  type SomeTenant,
  scribbleOn,
  someGroup,
  somePage,
} from './rows.ts'

export const pages = section(
  'pages',
  ({ store }) => {
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
      await pages.list(wantOf(group, want))
    const recall = async (wants: Partial<Parameters<typeof pages.recall>[0]>) => {
      const known = await pages.recall({ groups: [], keys: [], ...wants })
      return { groups: only(known.groups, ...GROUP_FIELDS), pages: only(known.pages, ...PAGE_FIELDS) }
    }
    const countOf = async (group: Parent) => (await pageGroups.find(group))?.pagesCount

    return { pageGroups, pages, addGroup, newGroup, added, listed, recall, countOf }
  },
  {
    'a recorded page is listed, and found with a version in processing': async (given) => {
      const { pages, newGroup, added, listed } = given
      const group = await newGroup()
      const page = await added(group, {
        customName: 'Mine',
        computedName: 'Spring sale',
        supplementaryContext: 'Spring sale of 2026',
        createdAt: at(123),
      })
      same(await listed(group), [storedPage(page)])
      const { versionId, versionNumber, supplementaryContext, computedName, createdAt } = page
      const latest = {
        ...{ versionId, versionNumber, status: 'processing', publishedAt: null, failureReason: null },
        ...{ supplementaryContext, computedName, createdAt, publishAt: null, unpublishAt: null },
      }
      const found = {
        ...storedPage(page),
        revision: 1,
        automaticAfter: null,
        unpublishAt: null,
        groupStatus: 'active',
        published: null,
        latest,
      }
      same(await pages.find(page), found)
    },

    'unset fields of a page are null': async ({ pages, newGroup, added }) => {
      const group = await newGroup()
      const found = await pages.find(await added(group))
      like(found, { customName: null, published: null, latest: { supplementaryContext: null } })
    },

    'a group is recalled with its status, its title and its exact count, unless it is deleted': async (
      given,
    ) => {
      const { store, pageGroups, pages, addGroup, recall } = given
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
        same(known, { groups, pages: [] })
      }
    },

    'only what is wanted is recalled, and repeated wants do no harm': async (given) => {
      const { store, addGroup, added, recall } = given
      const tenant = await addTenant(store)
      const [wanted, other] = [await addGroup(tenant), await addGroup(tenant)]
      await added(wanted, keyFields('other'))
      await added(other, keyFields('one'))
      const page = await added(wanted, keyFields('one'))
      same(await recall({}), { groups: [], pages: [] })
      const known = await recall({
        groups: [wanted, wanted],
        keys: [keyWant(page), keyWant(page), { ...keyWant(page), idempotencyKey: 'none' }],
      })
      same(new Set(known.groups.map(({ pageGroupId }) => pageGroupId)), new Set([wanted.pageGroupId]))
      same(new Set(known.pages.map(({ pageId }) => pageId)), new Set([page.pageId]))
    },

    'a page is recalled by its idempotency key, in its own group and tenant only': async (given) => {
      const { addGroup, newGroup, added, recall } = given
      const group = await newGroup()
      const page = await added(group, { ...keyFields('one'), createdAt: at(77) })
      same((await recall({ keys: [keyWant(page)] })).pages, only([page as RecalledPage], ...PAGE_FIELDS))
      const sibling = await addGroup(group)
      same((await recall({ keys: [keyWant({ ...page, ...parentOf(sibling) })] })).pages, [])
      same((await recall({ keys: [{ ...keyWant(page), tenantId: newId('tenant') }] })).pages, [])
    },

    'another tenant recalls, lists and finds nothing': async (given) => {
      const { store, pages, newGroup, added, listed, recall } = given
      const group = await newGroup()
      const page = await added(group)
      const { tenantId } = await addTenant(store)
      same(await recall({ groups: [{ ...group, tenantId }] }), { groups: [], pages: [] })
      equal(await listed({ ...group, tenantId }), null)
      same(await pages.find({ ...page, tenantId }), 'page_group_not_found')
    },

    'another tenant that records under our group changes nothing of ours': async (given) => {
      const { store, pages, newGroup, added, listed, countOf } = given
      const group = await newGroup()
      const page = await added(group)
      const { tenantId } = await addTenant(store)
      await pages.record([somePage({ ...group, tenantId })])
      equal(await countOf(group), 1)
      same(await listed(group), [storedPage(page)])
    },

    'a taken idempotency key is overtaken, and nothing of the list is saved': async (given) => {
      const { pages, addGroup, newGroup, added, listed, countOf } = given
      const group = await newGroup()
      const page = await added(group, keyFields('taken'))
      const other = await addGroup(group)
      const late = [somePage(other), somePage(group, keyFields('free')), somePage(group, keyFields('taken'))]
      equal(await pages.record(late), 'overtaken')
      same(await listed(group), [storedPage(page)])
      same(await listed(other), [])
      same([await countOf(group), await countOf(other)], [1, 0])
      same(await readEach(pages.find, late), ['page_not_found', 'page_not_found', 'page_not_found'])
      equal(await pages.record(late.slice(0, 2)), 'recorded')
    },

    'pages of a group archived or deleted meanwhile are overtaken, and nothing of the list is saved': async (
      given,
    ) => {
      const { pageGroups, pages, addGroup, newGroup, listed, recall, countOf } = given
      for (const status of ['archived', 'deleted'] as const) {
        const group = await newGroup()
        const other = await addGroup(group)
        const known = await recall({ groups: [group] })
        like(known.groups, [{ status: 'active' }])
        const deletedAt = status === 'deleted' ? at(1) : null
        await pageGroups.change({ ...group, status, deletedAt }, group.updatedAt)
        const late = [somePage(other), somePage(group)]
        equal(await pages.record(late), 'overtaken')
        same([await countOf(group), await countOf(other)], [0, 0])
        same(await listed(other), [])
        equal(await pages.record(late.slice(0, 1)), 'recorded')
      }
    },

    'an idempotency key belongs to its group and its tenant': async (given) => {
      const { pages, addGroup, newGroup, added, countOf } = given
      const group = await newGroup()
      const [sibling, stranger] = [await addGroup(group), await newGroup()]
      for (const parent of [group, sibling, stranger]) await added(parent, keyFields('one'))
      const without = [somePage(group), somePage(group)]
      equal(await pages.record(without), 'recorded')
      same([await countOf(group), await countOf(sibling), await countOf(stranger)], [3, 1, 1])
    },

    'pages are listed newest first by id, in whichever order they were recorded': async (given) => {
      const { pages, newGroup, listed } = given
      const group = await newGroup()
      const rows = Array.from({ length: 9 }, () => somePage(group))
      const shuffled = [4, 0, 8, 2, 6, 1, 7, 3, 5].map((i) => rows[i] as NewPageRow)
      await pages.record(shuffled.slice(0, 4))
      await pages.record(shuffled.slice(4))
      same(await listed(group), rows.toReversed().map(storedPage))
    },

    'a list continues before an id, even if that page never existed': async ({ newGroup, added, listed }) => {
      const group = await newGroup()
      const oldest = await added(group)
      const never = newId('page')
      const newest = await added(group)
      same(await listed(group, { beforeId: newest.pageId }), [storedPage(oldest)])
      same(await listed(group, { beforeId: never }), [storedPage(oldest)])
      same(await listed(group, { beforeId: oldest.pageId }), [])
    },

    'a list has the newest rows, one more than its limit': async ({ newGroup, added, listed }) => {
      const group = await newGroup()
      const rows = [await added(group), await added(group), await added(group)].reverse().map(storedPage)
      for (const limit of [1, 2, 3, 100]) same(await listed(group, { limit }), rows.slice(0, limit + 1))
    },

    'a list ends once the names of all its rows but the last fill a slice': async (given) => {
      const { newGroup, added, listed } = given
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
        ok(isDeepStrictEqual(await listed(group), rows.slice(0, count)), `${kilobytes} KB`)
      }
    },

    'an empty or an archived group has a list, a deleted or unknown one has none': async (given) => {
      const { pageGroups, newGroup, added, listed } = given
      const group = await newGroup()
      same(await listed(group), [])
      const page = await added(group)
      await pageGroups.change({ ...group, status: 'archived' }, group.updatedAt)
      same(await listed(group), [storedPage(page)])
      await pageGroups.change({ ...group, status: 'deleted', deletedAt: at(1) }, group.updatedAt)
      equal(await listed(group), null)
      equal(await listed({ ...group, pageGroupId: newId('pagegroup') }), null)
    },

    'many lists in one call are each answered in their place': async (given) => {
      const { pages, addGroup, newGroup, added } = given
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
      same(
        await readEach(
          pages.list,
          answers.map(([want]) => want),
        ),
        answers.map(([, rows]) => rows?.map(storedPage) ?? null),
      )
    },

    'many reads in one call distinguish a missing page from a missing group': async (given) => {
      const { pageGroups, pages, addGroup, newGroup, added } = given
      const [ours, theirs] = [await newGroup(), await newGroup()]
      const sibling = await addGroup(ours)
      const gone = await addGroup(ours)
      const [mine, hidden, foreign] = [await added(ours), await added(gone), await added(theirs)]
      await pageGroups.change({ ...gone, status: 'deleted', deletedAt: at(1) }, gone.updatedAt)
      const found = await readEach(pages.find, [
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
      same(
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
    },

    'every text field keeps every text as it is': async ({ pages, newGroup, listed, recall }) => {
      const group = await newGroup()
      const rows = AWKWARD_TEXTS.map((text) =>
        somePage(group, {
          customName: text,
          computedName: text || 'never blank',
          supplementaryContext: text,
          ...keyFields(text),
        }),
      )
      equal(await pages.record(rows), 'recorded')
      same(await listed(group), rows.toReversed().map(storedPage))
      const found = await readEach(pages.find, rows)
      same(
        found.map((page) => typeof page === 'object' && page.latest.supplementaryContext),
        AWKWARD_TEXTS,
      )
      const known = await recall({ keys: rows.map(keyWant) })
      same(known.pages.map(({ idempotencyKey }) => idempotencyKey).sort(), [...AWKWARD_TEXTS].sort())
    },

    'a context of a hundred thousand characters and the longest idempotency key are kept': async (given) => {
      const { pages, newGroup, added, recall } = given
      const group = await newGroup()
      const key = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7)).join('')
      const page = await added(group, { supplementaryContext: 'long '.repeat(20_000), ...keyFields(key) })
      const found = await pages.find(page)
      like(found, { latest: { supplementaryContext: page.supplementaryContext } })
      same(only((await recall({ keys: [keyWant(page)] })).pages, 'pageId'), [{ pageId: page.pageId }])
    },

    'two hundred pages of several groups are one list, and each group counts its own': async (given) => {
      const { store, pages, addGroup, newGroup, countOf } = given
      const tenant = await addTenant(store)
      const groups = [await addGroup(tenant), await addGroup(tenant), await newGroup()]
      const rows = Array.from({ length: 200 }, (_, i) => somePage(groups[i % 3] as StoredPageGroup))
      equal(await pages.record(rows), 'recorded')
      same(await Promise.all(groups.map(countOf)), [67, 67, 66])
      const lists = await readEach(
        pages.list,
        groups.map((group) => wantOf(group)),
      )
      same(
        lists.map((list) => list?.length),
        [67, 67, 66],
      )
    },

    'a caller that changes what was recalled, listed or found changes nothing in the store': async (
      given,
    ) => {
      const { pages, newGroup, added, listed, recall } = given
      const group = await newGroup()
      const page = await added(group, keyFields('one'))
      const seen = async () => ({
        known: await recall({ groups: [group], keys: [keyWant(page)] }),
        list: await listed(group),
        found: await pages.find(page),
      })
      const before = structuredClone(await seen())
      scribbleOn(await pages.recall({ groups: [group], keys: [keyWant(page)] }))
      scribbleOn(await pages.list(wantOf(group)))
      scribbleOn(await pages.find(page))
      same(await seen(), before)
    },

    'a caller that changes what it recorded changes nothing in the store': async (given) => {
      const { newGroup, added, listed } = given
      const group = await newGroup()
      const page = await added(group, keyFields('one'))
      const before = structuredClone(page)
      scribbleOn(page)
      same(await listed(group), [storedPage(before)])
    },
  },
)

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
