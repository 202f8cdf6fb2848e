import { isDeepStrictEqual } from 'node:util'
import type { NewPageLookup, NewPageRow, PagesQuery, StoredPage, StoredPageGroup } from 'prospect-pages/store'
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
  recordPages,
  type SomeTenant,
  scribbleOn,
  someGroup,
  somePage,
} from './rows.ts'

export const pages = section(
  'pages',
  ({ store }) => {
    const { pageGroups, pages, versions } = store
    const addGroup = async (tenant: SomeTenant, fields: Partial<StoredPageGroup> = {}) => {
      const group = someGroup(tenant, fields)
      await pageGroups.add(group)
      return group
    }
    const newGroup = async (fields: Partial<StoredPageGroup> = {}) => addGroup(await addTenant(store), fields)
    const added = async (group: StoredPageGroup, fields: Partial<NewPageRow> = {}) => {
      const page = somePage(group, fields)
      if ((await pages.record(page)) !== 'recorded') throw new Error('not recorded')
      return page
    }
    const listed = async (group: Parent, want: Partial<PagesQuery> = {}) =>
      await pages.list(wantOf(group, want))
    const recall = async (group: Parent, want: Partial<NewPageLookup> = {}) => {
      const known = await pages.recall({ ...newPageIn(group), ...want })
      const [found = null] = known.group === null ? [] : only([known.group], ...GROUP_FIELDS)
      const [page = null] = known.page === null ? [] : only([known.page], ...PAGE_FIELDS)
      return { group: found, page }
    }
    const numberOf = async (page: NewPageRow) => (await versions.context(page))?.pageNumber
    const countOf = async (group: Parent) => (await pageGroups.find(group))?.pagesCount

    return { pageGroups, pages, addGroup, newGroup, added, listed, recall, numberOf, countOf }
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
        versionId,
        versionNumber,
        status: 'processing',
        publishedAt: null,
        failureReason: null,
        supplementaryContext,
        computedName,
        createdAt,
        publishAt: null,
        unpublishAt: null,
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

    'a slug leads to its page, within its group': async ({ pages, newGroup, added }) => {
      const group = await newGroup()
      const other = await newGroup()
      const page = await added(group, { slug: 'spring-sale' })
      const same = await added(other, { slug: 'spring-sale' })
      await added(group)
      const { tenantId, pageGroupId } = group
      equal(await pages.findSlug({ tenantId, pageGroupId, slug: 'spring-sale' }), page.pageId)
      equal(await pages.findSlug({ ...other, slug: 'spring-sale' }), same.pageId)
      equal(await pages.findSlug({ tenantId, pageGroupId, slug: 'spring' }), null)
      like(await pages.find(page), { slug: 'spring-sale' })
    },

    'a slug that another page of the group has is overtaken, until that page is deleted': async (given) => {
      const { pages, newGroup, added } = given
      const group = await newGroup()
      const first = await added(group, { slug: 'sale' })
      equal(await pages.record(somePage(group, { slug: 'sale' })), 'overtaken')
      const atOnce = await Promise.all(
        Array.from({ length: 10 }, () => pages.record(somePage(group, { slug: 'one' }))),
      )
      equal(atOnce.filter((result) => result === 'recorded').length, 1)
      equal(await pages.remove({ ...first, revision: 1 }), 'recorded')
      equal(await pages.findSlug({ ...group, slug: 'sale' }), null)
      equal(await pages.record(somePage(group, { slug: 'sale' })), 'recorded')
    },

    'the slug of a page of a deleted group leads nowhere': async ({ pages, pageGroups, newGroup, added }) => {
      const group = await newGroup()
      await added(group, { slug: 'sale' })
      await pageGroups.change(
        { ...group, status: 'deleted', deletedAt: at(1), updatedAt: at(1) },
        group.updatedAt,
      )
      equal(await pages.findSlug({ ...group, slug: 'sale' }), null)
    },

    'unset fields of a page are null': async ({ pages, newGroup, added }) => {
      const group = await newGroup()
      const found = await pages.find(await added(group))
      like(found, { customName: null, published: null, latest: { supplementaryContext: null } })
    },

    'a group is recalled with its status and its title, unless it is deleted': async (given) => {
      const { store, pageGroups, addGroup, recall } = given
      const tenant = await addTenant(store)
      for (const status of ['active', 'archived', 'deleted'] as const) {
        const group = await addGroup(tenant, { title: `Is ${status}` })
        const changed = { ...group, status, deletedAt: status === 'deleted' ? at(0) : null }
        await pageGroups.change(changed, group.updatedAt)
        const [found] = only([changed], ...GROUP_FIELDS)
        same(await recall(group), { group: status === 'deleted' ? null : found, page: null })
      }
    },

    'a title that is not wanted may be left out, but not the status': async ({
      pageGroups,
      newGroup,
      recall,
    }) => {
      const group = await newGroup()
      like(await recall(group, { isNamedByGroup: false }), { group: { status: 'active' }, page: null })
      await pageGroups.change({ ...group, status: 'archived' }, group.updatedAt)
      like(await recall(group, { isNamedByGroup: false }), { group: { status: 'archived' }, page: null })
    },

    'many wants at once are each recalled in their place': async (given) => {
      const { store, pages, addGroup, newGroup, added } = given
      const tenant = await addTenant(store)
      const wanted = await addGroup(tenant)
      const other = await addGroup(tenant)
      const foreign = await newGroup()
      const two = await added(wanted, keyFields('two'))
      await added(other, keyFields('one'))
      const page = await added(wanted, keyFields('one'))
      const wants: [NewPageLookup, group: string | null, page: string | null][] = [
        [newPageIn(wanted), wanted.pageGroupId, null],
        [newPageIn(wanted, 'one'), wanted.pageGroupId, page.pageId],
        [newPageIn(wanted, 'two'), wanted.pageGroupId, two.pageId],
        [newPageIn({ ...wanted, tenantId: foreign.tenantId }), null, null],
        [newPageIn(foreign), foreign.pageGroupId, null],
        [newPageIn(wanted, 'one'), wanted.pageGroupId, page.pageId],
        [newPageIn(wanted, 'none'), wanted.pageGroupId, null],
        [newPageIn(foreign, 'one'), foreign.pageGroupId, null],
        [newPageIn(wanted), wanted.pageGroupId, null],
      ]
      const known = await readEach(
        pages.recall,
        wants.map(([want]) => want),
      )
      same(
        known.map(({ group, page }) => [group?.pageGroupId ?? null, page?.pageId ?? null]),
        wants.map(([, group, page]) => [group, page]),
      )
    },

    'a page is recalled by its idempotency key, in its own group and tenant only': async (given) => {
      const { addGroup, newGroup, added, recall } = given
      const group = await newGroup()
      const page = await added(group, { ...keyFields('one'), createdAt: at(77) })
      same([(await recall(group, keyWant(page))).page], only([page as RecalledPage], ...PAGE_FIELDS))
      const sibling = await addGroup(group)
      equal((await recall(sibling, { idempotencyKey: 'one' })).page, null)
      same(await recall(group, { ...keyWant(page), tenantId: newId('tenant') }), { group: null, page: null })
    },

    'another tenant recalls, lists and finds nothing': async (given) => {
      const { store, pages, newGroup, added, listed, recall } = given
      const group = await newGroup()
      const page = await added(group)
      const { tenantId } = await addTenant(store)
      same(await recall({ ...group, tenantId }), { group: null, page: null })
      equal(await listed({ ...group, tenantId }), null)
      same(await pages.find({ ...page, tenantId }), 'page_group_not_found')
    },

    'another tenant that records under our group changes nothing of ours': async (given) => {
      const { store, pages, newGroup, added, listed, countOf } = given
      const group = await newGroup()
      const page = await added(group)
      const { tenantId } = await addTenant(store)
      await pages.record(somePage({ ...group, tenantId }))
      equal(await countOf(group), 1)
      same(await listed(group), [storedPage(page)])
    },

    'a taken idempotency key is overtaken alone: the others are saved, and it takes no number': async (
      given,
    ) => {
      const { pages, addGroup, newGroup, added, listed, numberOf, countOf } = given
      const group = await newGroup()
      const page = await added(group, keyFields('taken'))
      const other = await addGroup(group)
      const free = somePage(group, keyFields('free'))
      const taken = somePage(group, keyFields('taken'))
      const late = [somePage(other), taken, free]
      same(await readEach(pages.record, late), ['recorded', 'overtaken', 'recorded'])
      same(await listed(group), [free, page].map(storedPage))
      same([await countOf(group), await countOf(other)], [2, 1])
      equal(await pages.find(taken), 'page_not_found')
      equal(await pages.record(taken), 'overtaken')
      const next = await added(group)
      same([await numberOf(page), await numberOf(free), await numberOf(next)], [1, 2, 3])
    },

    'pages of a group archived or deleted meanwhile are overtaken alone: the others are saved': async (
      given,
    ) => {
      const { pageGroups, pages, addGroup, newGroup, recall, countOf } = given
      for (const status of ['archived', 'deleted'] as const) {
        const group = await newGroup()
        const other = await addGroup(group)
        like(await recall(group), { group: { status: 'active' } })
        const deletedAt = status === 'deleted' ? at(1) : null
        await pageGroups.change({ ...group, status, deletedAt }, group.updatedAt)
        const late = [somePage(other), somePage(group), somePage(other)] as const
        same(await readEach(pages.record, late), ['recorded', 'overtaken', 'recorded'])
        same([await countOf(group), await countOf(other)], [0, 2])
        ok(typeof (await pages.find(late[1])) === 'string')
      }
    },

    'a page has the next number of its group, with which its name ends if it is numbered': async (given) => {
      const { pages, newGroup, numberOf } = given
      const group = await newGroup()
      const other = await newGroup()
      const rows = [
        somePage(group, { computedName: 'Offers', isNumbered: true }),
        somePage(group, { computedName: 'Spring sale', isNumbered: false }),
        somePage(other, { computedName: 'Offers', isNumbered: true }),
        somePage(group, { computedName: 'Renamed', isNumbered: true, customName: 'Mine' }),
        somePage(other, { computedName: '', isNumbered: true }),
      ]
      for (const row of rows) equal(await pages.record(row), 'recorded')
      same(await Promise.all(rows.map(numberOf)), [1, 2, 1, 3, 2])
      const names = ['Offers 1', 'Spring sale', 'Offers 1', 'Renamed 3', '2']
      const found = await readEach(pages.find, rows)
      same(
        found.map((page) => typeof page === 'object' && [page.computedName, page.latest.computedName]),
        names.map((name) => [name, name]),
      )
      same(
        (await pages.list(wantOf(group)))?.map(({ computedName }) => computedName),
        ['Renamed 3', 'Spring sale', 'Offers 1'],
      )
    },

    'pages that two processes record at once have each a number and a name of their own': async (given) => {
      const { pages, another, newGroup, added, listed, numberOf, countOf } = given
      const group = await newGroup()
      const first = await added(group)
      const stores = [pages, (await another()).pages]
      for (let round = 0; round < 5; round++) {
        const rows = Array.from({ length: 20 }, () =>
          somePage(group, { computedName: 'Offers', isNumbered: true }),
        )
        const recorded = await Promise.all(rows.map((row, i) => stores[i % 2]?.record(row)))
        same(new Set(recorded), new Set(['recorded']))
        const numbers = await Promise.all(rows.map(numberOf))
        const from = 2 + round * rows.length
        same(
          numbers.toSorted((a, b) => Number(a) - Number(b)),
          rows.map((_, i) => from + i),
        )
        const found = await readEach(pages.find, rows)
        same(
          found.map((page) => typeof page === 'object' && page.computedName),
          numbers.map((number) => `Offers ${number}`),
        )
      }
      same([await numberOf(first), await countOf(group)], [1, 101])
      equal((await listed(group, { limit: 200 }))?.length, 101)
    },

    'of the pages that two processes record at once under one idempotency key one is saved': async (
      given,
    ) => {
      const { pages, another, newGroup, added, listed, recall, numberOf, countOf } = given
      const stores = [pages, (await another()).pages]
      const group = await newGroup()
      for (let round = 1; round <= 5; round++) {
        const key = keyFields(`round ${round}`)
        const rows = Array.from({ length: 8 }, () =>
          somePage(group, { computedName: 'Offers', isNumbered: true, ...key }),
        )
        const recorded = await Promise.all(rows.map((row, i) => stores[i % 2]?.record(row)))
        const saved = rows.filter((_, i) => recorded[i] === 'recorded')
        same(
          recorded.toSorted(),
          rows.map((_, i) => (i < 7 ? 'overtaken' : 'recorded')),
        )
        equal((await recall(group, { idempotencyKey: key.idempotencyKey })).page?.pageId, saved[0]?.pageId)
        same(await Promise.all(saved.map(numberOf)), [round])
      }
      const next = await added(group)
      same([await numberOf(next), await countOf(group), (await listed(group))?.length], [6, 6, 6])
    },

    'an idempotency key belongs to its group and its tenant': async (given) => {
      const { pages, addGroup, newGroup, added, countOf } = given
      const group = await newGroup()
      const sibling = await addGroup(group)
      const stranger = await newGroup()
      for (const parent of [group, sibling, stranger]) await added(parent, keyFields('one'))
      const without = [somePage(group), somePage(group)]
      equal(await recordPages(pages, without), 'recorded')
      same([await countOf(group), await countOf(sibling), await countOf(stranger)], [3, 1, 1])
    },

    'pages are listed newest first by id, in whichever order they were recorded': async (given) => {
      const { pages, newGroup, listed } = given
      const group = await newGroup()
      const rows = Array.from({ length: 9 }, () => somePage(group))
      const shuffled = [4, 0, 8, 2, 6, 1, 7, 3, 5].map((i) => rows[i] as NewPageRow)
      for (const row of shuffled.slice(0, 4)) await pages.record(row)
      await recordPages(pages, shuffled.slice(4))
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
      const ours = await newGroup()
      const theirs = await newGroup()
      const empty = await addGroup(ours)
      const gone = await addGroup(ours, { status: 'deleted' })
      const a = await added(ours)
      const b = await added(theirs)
      const c = await added(ours)
      const crowded = await addGroup(ours)
      const [d, e] = [await added(crowded), await added(crowded), await added(crowded)].slice(1) as [
        NewPageRow,
        NewPageRow,
      ]
      const answers: [PagesQuery, NewPageRow[] | null][] = [
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
      const ours = await newGroup()
      const theirs = await newGroup()
      const sibling = await addGroup(ours)
      const gone = await addGroup(ours)
      const mine = await added(ours)
      const hidden = await added(gone)
      const foreign = await added(theirs)
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
      equal(await recordPages(pages, rows), 'recorded')
      same(await listed(group), rows.toReversed().map(storedPage))
      const found = await readEach(pages.find, rows)
      same(
        found.map((page) => typeof page === 'object' && page.latest.supplementaryContext),
        AWKWARD_TEXTS,
      )
      const known = await Promise.all(rows.map((row) => recall(group, keyWant(row))))
      same(
        known.map(({ page }) => page?.idempotencyKey),
        AWKWARD_TEXTS,
      )
    },

    'a context of a hundred thousand characters and the longest idempotency key are kept': async (given) => {
      const { pages, newGroup, added, recall } = given
      const group = await newGroup()
      const key = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7)).join('')
      const page = await added(group, { supplementaryContext: 'long '.repeat(20_000), ...keyFields(key) })
      const found = await pages.find(page)
      like(found, { latest: { supplementaryContext: page.supplementaryContext } })
      equal((await recall(group, keyWant(page))).page?.pageId, page.pageId)
    },

    'two hundred pages of several groups at once are saved, and each group counts its own': async (given) => {
      const { store, pages, addGroup, newGroup, countOf } = given
      const tenant = await addTenant(store)
      const groups = [await addGroup(tenant), await addGroup(tenant), await newGroup()]
      const rows = Array.from({ length: 200 }, (_, i) => somePage(groups[i % 3] as StoredPageGroup))
      equal(await recordPages(pages, rows), 'recorded')
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
        known: await recall(group, keyWant(page)),
        list: await listed(group),
        found: await pages.find(page),
      })
      const before = structuredClone(await seen())
      scribbleOn(await pages.recall(newPageIn(page, 'one')))
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

const wantOf = (group: Parent, want: Partial<PagesQuery> = {}): PagesQuery => ({
  ...parentOf(group),
  beforeId: null,
  limit: 100,
  ...want,
})
const newPageIn = (group: Parent, idempotencyKey?: string): NewPageLookup => ({
  ...parentOf(group),
  idempotencyKey,
  isNamedByGroup: true,
})
const keyWant = (page: NewPageRow) => ({ ...parentOf(page), idempotencyKey: String(page.idempotencyKey) })

const GROUP_FIELDS = ['tenantId', 'pageGroupId', 'status', 'title'] as const
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
  slug: page.slug,
  customName: page.customName,
  computedName: page.computedName,
  createdAt: page.createdAt,
  updatedAt: page.updatedAt,
})
