import { isDeepStrictEqual } from 'node:util'
import type {
  ListedPage,
  NewPageLookup,
  NewPageRow,
  PagesQuery,
  StoredPage,
  StoredPageGroup,
} from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  keyFields,
  newId,
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
      equal(await pages.record(page), 'recorded')
      return page
    }
    const listed = (group: Parent, query: Partial<PagesQuery> = {}) => pages.list(queryOf(group, query))
    /** What the port promises to recall; a store may return more. */
    const recall = async (group: Parent, lookup: Partial<NewPageLookup> = {}) => {
      const known = await pages.recall({ ...newPageIn(group), ...lookup })
      return {
        group: known.group && recalledGroup(known.group),
        page: known.page && recalledPage(known.page),
        slugOwnerId: known.slugOwnerId,
      }
    }
    const numberOf = async (page: NewPageRow) => (await versions.context(page))?.pageNumber
    const countOf = async (group: Parent) => (await pageGroups.find(group))?.pagesCount

    return { pageGroups, pages, addGroup, newGroup, added, listed, recall, numberOf, countOf }
  },
  {
    'a recorded page is listed, and found with a version in processing': async (scene) => {
      const { pages, newGroup, added, listed } = scene
      const group = await newGroup()
      const page = await added(group, {
        customName: 'Mine',
        computedName: 'Spring sale',
        supplementaryContext: 'Spring sale of 2026',
        createdAt: at(123),
      })
      same(await listed(group), [listedPage(page)])
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
      const namesake = await added(other, { slug: 'spring-sale' })
      await added(group)
      equal(await pages.findSlug({ ...parentOf(group), slug: 'spring-sale' }), page.pageId)
      equal(await pages.findSlug({ ...parentOf(other), slug: 'spring-sale' }), namesake.pageId)
      equal(await pages.findSlug({ ...parentOf(group), slug: 'spring' }), null)
      like(await pages.find(page), { slug: 'spring-sale' })
    },

    'a page with a slug of another page of the group is overtaken': async ({ pages, newGroup, added }) => {
      const group = await newGroup()
      await added(group, { slug: 'sale' })
      equal(await pages.record(somePage(group, { slug: 'sale' })), 'overtaken')
    },

    'of ten pages at once with one slug, exactly one is recorded': async ({ pages, newGroup }) => {
      const group = await newGroup()
      const rows = Array.from({ length: 10 }, () => somePage(group, { slug: 'sale' }))
      const recorded = await Promise.all(rows.map((row) => pages.record(row)))
      equal(recorded.filter((outcome) => outcome === 'recorded').length, 1)
    },

    'the slug of a deleted page is free': async ({ pages, newGroup, added }) => {
      const group = await newGroup()
      const page = await added(group, { slug: 'sale' })
      equal(await pages.remove({ ...page, revision: 1 }), 'recorded')
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

    'a group is recalled with its status and its title, unless it is deleted': async (scene) => {
      const { store, pageGroups, addGroup, recall } = scene
      const tenant = await addTenant(store)
      for (const status of ['active', 'archived', 'deleted'] as const) {
        const group = await addGroup(tenant, { title: `Is ${status}` })
        const changed = { ...group, status, deletedAt: status === 'deleted' ? at(0) : null }
        await pageGroups.change(changed, group.updatedAt)
        const expected = status === 'deleted' ? null : recalledGroup(changed)
        same(await recall(group), { group: expected, page: null, slugOwnerId: null })
      }
    },

    'a page that is named by a title which its group no longer has is overtaken': async (scene) => {
      const { pages, pageGroups, newGroup, listed } = scene
      const group = await newGroup()
      await pageGroups.change({ ...group, title: 'Summer' }, group.updatedAt)
      const named = { computedName: 'Spring', groupTitle: group.title }
      equal(await pages.record(somePage(group, named)), 'overtaken')
      equal(await pages.record(somePage(group, { ...named, groupTitle: null })), 'recorded')
      equal(await pages.record(somePage(group, { computedName: 'Summer', groupTitle: 'Summer' })), 'recorded')
      like(await listed(group), [{ computedName: 'Summer 2' }, { computedName: 'Spring' }])
    },

    'a page is recalled by its slug': async ({ newGroup, added, recall }) => {
      const group = await newGroup()
      const page = await added(group, { slug: 'sale' })
      like(await recall(group, { slug: 'sale' }), { page: null, slugOwnerId: page.pageId })
      like(await recall(group, { slug: 'other' }), { page: null, slugOwnerId: null })
    },

    'of many look-ups at once, each gets its own group and page': async (scene) => {
      const { store, pages, addGroup, newGroup, added } = scene
      const tenant = await addTenant(store)
      const ours = await addGroup(tenant)
      const sibling = await addGroup(tenant)
      const foreign = await newGroup()
      const second = await added(ours, keyFields('two'))
      await added(sibling, keyFields('one'))
      const first = await added(ours, keyFields('one'))
      const lookups: readonly { lookup: NewPageLookup; group: Parent | null; page: NewPageRow | null }[] = [
        { lookup: newPageIn(ours), group: ours, page: null },
        { lookup: newPageIn(ours, 'one'), group: ours, page: first },
        { lookup: newPageIn(ours, 'two'), group: ours, page: second },
        { lookup: newPageIn({ ...ours, tenantId: foreign.tenantId }), group: null, page: null },
        { lookup: newPageIn(foreign), group: foreign, page: null },
        { lookup: newPageIn(ours, 'one'), group: ours, page: first },
        { lookup: newPageIn(ours, 'none'), group: ours, page: null },
        { lookup: newPageIn(foreign, 'one'), group: foreign, page: null },
        { lookup: newPageIn(ours), group: ours, page: null },
      ]
      const known = await Promise.all(lookups.map(({ lookup }) => pages.recall(lookup)))
      for (const [i, { group, page }] of lookups.entries()) {
        equal(known[i]?.group?.pageGroupId, group?.pageGroupId)
        equal(known[i]?.page?.pageId, page?.pageId)
      }
    },

    'a page is recalled by its idempotency key, in its own group and tenant only': async (scene) => {
      const { addGroup, newGroup, added, recall } = scene
      const group = await newGroup()
      const page = await added(group, { ...keyFields('one'), createdAt: at(77) })
      same((await recall(group, keyOf(page))).page, recalledPage(page))
      const sibling = await addGroup(group)
      equal((await recall(sibling, { idempotencyKey: 'one' })).page, null)
      same(await recall(group, { ...keyOf(page), tenantId: newId('tenant') }), {
        group: null,
        page: null,
        slugOwnerId: null,
      })
    },

    'another tenant recalls, lists and finds nothing': async (scene) => {
      const { store, pages, newGroup, added, listed, recall } = scene
      const group = await newGroup()
      const page = await added(group)
      const { tenantId } = await addTenant(store)
      same(await recall({ ...group, tenantId }), { group: null, page: null, slugOwnerId: null })
      equal(await listed({ ...group, tenantId }), null)
      same(await pages.find({ ...page, tenantId }), 'page_group_not_found')
    },

    'another tenant that records under our group changes nothing of ours': async (scene) => {
      const { store, pages, newGroup, added, listed, countOf } = scene
      const group = await newGroup()
      const page = await added(group)
      const { tenantId } = await addTenant(store)
      await pages.record(somePage({ ...group, tenantId }))
      equal(await countOf(group), 1)
      same(await listed(group), [listedPage(page)])
    },

    'a taken idempotency key is overtaken alone: pages recorded at once with it are saved': async (scene) => {
      const { pages, addGroup, newGroup, added, listed, countOf } = scene
      const group = await newGroup()
      const sibling = await addGroup(group)
      const first = await added(group, keyFields('taken'))
      const free = somePage(group, keyFields('free'))
      const taken = somePage(group, keyFields('taken'))
      const recorded = await readEach(pages.record, [somePage(sibling), taken, free])
      same(recorded, ['recorded', 'overtaken', 'recorded'])
      same(await listed(group), [free, first].map(listedPage))
      equal(await countOf(group), 2)
      equal(await countOf(sibling), 1)
      equal(await pages.find(taken), 'page_not_found')
      equal(await pages.record(taken), 'overtaken')
    },

    'a page whose idempotency key is taken takes no number': async (scene) => {
      const { pages, newGroup, added, numberOf } = scene
      const group = await newGroup()
      const first = await added(group, keyFields('taken'))
      const taken = somePage(group, keyFields('taken'))
      const second = somePage(group, keyFields('free'))
      same(await readEach(pages.record, [taken, second]), ['overtaken', 'recorded'])
      equal(await pages.record(taken), 'overtaken')
      const third = await added(group)
      equal(await numberOf(first), 1)
      equal(await numberOf(second), 2)
      equal(await numberOf(third), 3)
    },

    'pages of a group archived or deleted meanwhile are overtaken alone: the others are saved': async (
      scene,
    ) => {
      const { pageGroups, pages, addGroup, newGroup, recall, countOf } = scene
      for (const status of ['archived', 'deleted'] as const) {
        const group = await newGroup()
        const sibling = await addGroup(group)
        like(await recall(group), { group: { status: 'active' } })
        const deletedAt = status === 'deleted' ? at(1) : null
        await pageGroups.change({ ...group, status, deletedAt }, group.updatedAt)
        const late = somePage(group)
        const recorded = await readEach(pages.record, [somePage(sibling), late, somePage(sibling)])
        same(recorded, ['recorded', 'overtaken', 'recorded'])
        equal(await countOf(group), 0)
        equal(await countOf(sibling), 2)
        ok(typeof (await pages.find(late)) === 'string', 'the page is not found')
      }
    },

    'a page has the next number of its group, with which its name ends if it is numbered': async (scene) => {
      const { pages, newGroup, numberOf } = scene
      const group = await newGroup()
      const other = await newGroup()
      const expected = [
        {
          row: somePage(group, { computedName: 'Offers', groupTitle: group.title }),
          number: 1,
          name: 'Offers 1',
        },
        { row: somePage(group, { computedName: 'Sale', groupTitle: null }), number: 2, name: 'Sale' },
        {
          row: somePage(other, { computedName: 'Offers', groupTitle: other.title }),
          number: 1,
          name: 'Offers 1',
        },
        { row: somePage(group, { computedName: 'New', groupTitle: group.title }), number: 3, name: 'New 3' },
        { row: somePage(other, { computedName: '', groupTitle: other.title }), number: 2, name: '2' },
      ]
      for (const { row } of expected) equal(await pages.record(row), 'recorded')
      for (const { row, number, name } of expected) {
        equal(await numberOf(row), number)
        like(await pages.find(row), { computedName: name, latest: { computedName: name } })
      }
    },

    'a list shows the numbered names': async ({ pages, newGroup, listed }) => {
      const group = await newGroup()
      const numbered = { computedName: 'Offers', groupTitle: group.title }
      await pages.record(somePage(group, numbered))
      await pages.record(somePage(group, { ...numbered, customName: 'Mine' }))
      like(await listed(group), [{ computedName: 'Offers 2' }, { computedName: 'Offers 1' }])
    },

    'pages that two processes record at once have each a number and a name of their own': async (scene) => {
      const { pages, another, newGroup, added, listed, numberOf, countOf } = scene
      const rounds = 5
      const pagesAtOnce = 20
      const group = await newGroup()
      const first = await added(group)
      const elsewhere = (await another()).pages
      let lastNumber = 1
      for (let round = 0; round < rounds; round++) {
        const rows = Array.from({ length: pagesAtOnce }, () =>
          somePage(group, { computedName: 'Offers', groupTitle: group.title }),
        )
        const recorded = await Promise.all(
          rows.map((row, i) => (i % 2 === 0 ? pages : elsewhere).record(row)),
        )
        for (const outcome of recorded) equal(outcome, 'recorded')
        const numbers = new Set<number | null | undefined>()
        for (const row of rows) {
          const number = await numberOf(row)
          numbers.add(number)
          like(await pages.find(row), { computedName: `Offers ${number}` })
        }
        same(numbers, new Set(rows.map((_, i) => lastNumber + 1 + i)))
        lastNumber += pagesAtOnce
      }
      equal(await numberOf(first), 1)
      equal(await countOf(group), 101)
      equal((await listed(group, { limit: 200 }))?.length, 101)
    },

    'of the pages that two processes record at once under one idempotency key one is saved': async (
      scene,
    ) => {
      const { pages, another, newGroup, added, listed, recall, numberOf, countOf } = scene
      const elsewhere = (await another()).pages
      const group = await newGroup()
      for (let round = 1; round <= 5; round++) {
        const key = keyFields(`round ${round}`)
        const rows = Array.from({ length: 8 }, () =>
          somePage(group, { computedName: 'Offers', groupTitle: group.title, ...key }),
        )
        const recorded = await Promise.all(
          rows.map((row, i) => (i % 2 === 0 ? pages : elsewhere).record(row)),
        )
        const [saved, ...others] = rows.filter((_, i) => recorded[i] === 'recorded')
        ok(saved !== undefined)
        same(others, [])
        const { page } = await recall(group, { idempotencyKey: key.idempotencyKey })
        equal(page?.pageId, saved.pageId)
        equal(await numberOf(saved), round, 'the others took no number')
      }
      const next = await added(group)
      equal(await numberOf(next), 6)
      equal(await countOf(group), 6)
      equal((await listed(group))?.length, 6)
    },

    'an idempotency key belongs to its group and its tenant': async ({
      addGroup,
      newGroup,
      added,
      countOf,
    }) => {
      const group = await newGroup()
      const sibling = await addGroup(group)
      const stranger = await newGroup()
      for (const parent of [group, sibling, stranger]) {
        await added(parent, keyFields('one'))
        equal(await countOf(parent), 1)
      }
    },

    'pages without an idempotency key are all recorded': async ({ pages, newGroup, countOf }) => {
      const group = await newGroup()
      equal(await recordPages(pages, [somePage(group), somePage(group)]), 'recorded')
      equal(await countOf(group), 2)
    },

    'pages are listed newest first by id, in whichever order they were recorded': async (scene) => {
      const { pages, newGroup, listed } = scene
      const group = await newGroup()
      const rows = Array.from({ length: 9 }, () => somePage(group))
      const shuffled = [4, 0, 8, 2, 6, 1, 7, 3, 5].map((i) => rows[i] as NewPageRow)
      for (const row of shuffled.slice(0, 4)) await pages.record(row)
      const atOnce = shuffled.slice(4)
      await recordPages(pages, atOnce)
      same(await listed(group), rows.toReversed().map(listedPage))
    },

    'a list continues before an id, even if that page never existed': async ({ newGroup, added, listed }) => {
      const group = await newGroup()
      const oldest = await added(group)
      const never = newId('page')
      const newest = await added(group)
      same(await listed(group, { beforeId: newest.pageId }), [listedPage(oldest)])
      same(await listed(group, { beforeId: never }), [listedPage(oldest)])
      same(await listed(group, { beforeId: oldest.pageId }), [])
    },

    'a list has the newest rows, one more than its limit': async ({ newGroup, added, listed }) => {
      const group = await newGroup()
      const newestFirst: ListedPage[] = []
      for (let i = 0; i < 3; i++) newestFirst.unshift(listedPage(await added(group)))
      for (const limit of [1, 2, 3, 100])
        same(await listed(group, { limit }), newestFirst.slice(0, limit + 1))
    },

    'a list ends once the names of all its rows but the last fill a slice': async (scene) => {
      const { newGroup, added, listed } = scene
      // The sizes of the names of a group's pages, newest first, and how many of them a slice has.
      for (const { kilobytes, count } of [
        { kilobytes: [2_000, 0, 0], count: 2 },
        { kilobytes: [0, 700, 700, 0, 0], count: 4 },
        { kilobytes: [300, 300, 300, 300, 0, 0], count: 5 },
        { kilobytes: [100, 100, 100, 100, 100, 100], count: 6 },
      ]) {
        const group = await newGroup()
        const newestFirst: ListedPage[] = []
        for (const size of kilobytes.toReversed()) {
          const page = await added(group, { customName: 'x'.repeat(size * 1_000) })
          newestFirst.unshift(listedPage(page))
        }
        // A difference between such long texts would not be readable.
        const isExpected = isDeepStrictEqual(await listed(group), newestFirst.slice(0, count))
        ok(isExpected, `${kilobytes} KB`)
      }
    },

    'an empty or an archived group has a list, a deleted or unknown one has none': async (scene) => {
      const { pageGroups, newGroup, added, listed } = scene
      const group = await newGroup()
      same(await listed(group), [])
      const page = await added(group)
      await pageGroups.change({ ...group, status: 'archived' }, group.updatedAt)
      same(await listed(group), [listedPage(page)])
      await pageGroups.change({ ...group, status: 'deleted', deletedAt: at(1) }, group.updatedAt)
      equal(await listed(group), null)
      equal(await listed({ ...group, pageGroupId: newId('pagegroup') }), null)
    },

    'of many lists at once, each is returned to its own query': async (scene) => {
      const { pages, addGroup, newGroup, added } = scene
      const ours = await newGroup()
      const theirs = await newGroup()
      const empty = await addGroup(ours)
      const deleted = await addGroup(ours, { status: 'deleted' })
      const crowded = await addGroup(ours)
      const oldest = await added(ours)
      const foreign = await added(theirs)
      const newest = await added(ours)
      await added(crowded)
      const secondOfCrowd = await added(crowded)
      const thirdOfCrowd = await added(crowded)
      const lists: readonly { query: PagesQuery; rows: readonly NewPageRow[] | null }[] = [
        { query: queryOf(ours), rows: [newest, oldest] },
        { query: queryOf(deleted), rows: null },
        { query: queryOf(theirs), rows: [foreign] },
        { query: queryOf(ours), rows: [newest, oldest] },
        { query: queryOf(empty), rows: [] },
        { query: queryOf({ ...theirs, tenantId: ours.tenantId }), rows: null },
        { query: queryOf(crowded, { limit: 1 }), rows: [thirdOfCrowd, secondOfCrowd] },
        { query: queryOf(ours, { beforeId: newest.pageId }), rows: [oldest] },
        { query: queryOf(theirs, { beforeId: foreign.pageId }), rows: [] },
      ]
      const found = await Promise.all(lists.map(({ query }) => pages.list(query)))
      for (const [i, { rows }] of lists.entries()) same(found[i], rows?.map(listedPage) ?? null)
    },

    'many reads in one call distinguish a missing page from a missing group': async (scene) => {
      const { pageGroups, pages, addGroup, newGroup, added } = scene
      const ours = await newGroup()
      const theirs = await newGroup()
      const sibling = await addGroup(ours)
      const deleted = await addGroup(ours)
      const mine = await added(ours)
      const hidden = await added(deleted)
      const foreign = await added(theirs)
      await pageGroups.change({ ...deleted, status: 'deleted', deletedAt: at(1) }, deleted.updatedAt)
      const reads = [
        { key: mine, found: mine.pageId },
        { key: hidden, found: 'page_group_not_found' },
        { key: { ...mine, pageGroupId: sibling.pageGroupId }, found: 'page_not_found' },
        { key: { ...mine, pageGroupId: newId('pagegroup') }, found: 'page_group_not_found' },
        { key: foreign, found: foreign.pageId },
        { key: { ...foreign, tenantId: ours.tenantId }, found: 'page_group_not_found' },
        { key: { ...foreign, ...parentOf(ours) }, found: 'page_not_found' },
        { key: mine, found: mine.pageId },
        { key: { ...mine, pageId: 'nonsense' }, found: 'page_not_found' },
      ]
      const pagesFound = await Promise.all(reads.map(({ key }) => pages.find(key)))
      for (const [i, { found }] of reads.entries()) {
        const page = pagesFound[i]
        equal(typeof page === 'object' ? page.pageId : page, found)
      }
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
      same(await listed(group), rows.toReversed().map(listedPage))
      for (const row of rows) {
        const { supplementaryContext, idempotencyKey } = row
        like(await pages.find(row), { latest: { supplementaryContext } })
        like(await recall(group, keyOf(row)), { page: { idempotencyKey } })
      }
    },

    'a context of a hundred thousand characters and the longest idempotency key are kept': async (scene) => {
      const { pages, newGroup, added, recall } = scene
      const group = await newGroup()
      // 255 characters beyond the basic plane, which take the most bytes.
      const characters = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7))
      const supplementaryContext = 'long '.repeat(20_000)
      const page = await added(group, { supplementaryContext, ...keyFields(characters.join('')) })
      like(await pages.find(page), { latest: { supplementaryContext } })
      equal((await recall(group, keyOf(page))).page?.pageId, page.pageId)
    },

    'two hundred pages of several groups at once are saved, and each group counts its own': async (scene) => {
      const { store, pages, addGroup, newGroup, listed, countOf } = scene
      const tenant = await addTenant(store)
      const groups = [await addGroup(tenant), await addGroup(tenant), await newGroup()]
      const rows = Array.from({ length: 200 }, (_, i) => somePage(groups[i % 3] as StoredPageGroup))
      equal(await recordPages(pages, rows), 'recorded')
      for (const [i, count] of [67, 67, 66].entries()) {
        const group = groups[i] as StoredPageGroup
        equal(await countOf(group), count)
        equal((await listed(group))?.length, count)
      }
    },

    'a caller that changes what was recalled, listed or found changes nothing in the store': async (
      scene,
    ) => {
      const { pages, newGroup, added, listed, recall } = scene
      const group = await newGroup()
      const page = await added(group, keyFields('one'))
      const seen = async () => ({
        known: await recall(group, keyOf(page)),
        list: await listed(group),
        found: await pages.find(page),
      })
      const before = structuredClone(await seen())
      scribbleOn(await pages.recall(newPageIn(page, 'one')))
      scribbleOn(await pages.list(queryOf(group)))
      scribbleOn(await pages.find(page))
      same(await seen(), before)
    },

    'a caller that changes what it recorded changes nothing in the store': async (scene) => {
      const { newGroup, added, listed } = scene
      const group = await newGroup()
      const page = await added(group, keyFields('one'))
      const before = structuredClone(page)
      scribbleOn(page)
      same(await listed(group), [listedPage(before)])
    },
  },
)

type Parent = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId'>
const parentOf = ({ tenantId, pageGroupId }: Parent): Parent => ({ tenantId, pageGroupId })

const queryOf = (group: Parent, query: Partial<PagesQuery> = {}): PagesQuery => ({
  ...parentOf(group),
  beforeId: null,
  limit: 100,
  ...query,
})
const newPageIn = (group: Parent, idempotencyKey?: string): NewPageLookup => ({
  ...parentOf(group),
  idempotencyKey,
  wasOvertaken: false,
})
const keyOf = ({ idempotencyKey }: NewPageRow) => ({ idempotencyKey: String(idempotencyKey) })

const recalledGroup = ({ tenantId, pageGroupId, status, title }: RecalledGroup) => ({
  tenantId,
  pageGroupId,
  status,
  title,
})
type RecalledGroup = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId' | 'status' | 'title'>

const recalledPage = (page: RecalledPage) => ({
  tenantId: page.tenantId,
  pageGroupId: page.pageGroupId,
  pageId: page.pageId,
  idempotencyKey: page.idempotencyKey,
  requestHash: page.requestHash,
  createdAt: page.createdAt,
})
type RecalledPage = Pick<
  NewPageRow,
  'tenantId' | 'pageGroupId' | 'pageId' | 'idempotencyKey' | 'requestHash' | 'createdAt'
>

/** A new page as its list shows it. */
const listedPage = (page: NewPageRow): ListedPage => ({ ...storedPage(page), publishedAt: null })
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
