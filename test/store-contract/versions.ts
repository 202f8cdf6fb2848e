import type { ClaimedVersion, NewPageRow, Settlement, Store, StoredPageGroup } from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  readEach,
  recordPages,
  scribbleOn,
  someGroup,
  somePage,
} from './rows.ts'

export const versions = section('versions', () => ({}), {
  'a new version is claimed': async ({ store }) => {
    const group = await addGroup(store)
    const page = await addPage(store, group)
    same(await claim(store, 0), [
      {
        tenantId: group.tenantId,
        pageGroupId: group.pageGroupId,
        pageId: page.pageId,
        versionId: page.versionId,
        attempt: 1,
        publish: true,
        publishAt: null,
      },
    ])
    const draft = await addPage(store, group, { publish: false })
    like(await claim(store, 0), [{ versionId: draft.versionId, publish: false }])
  },

  'a namer gets the title and context of the group, and the context of the page': async ({ store }) => {
    const group = await addGroup(store, { title: 'Offers', pageContext: 'For friends' })
    await addPage(store, group)
    const page = await addPage(store, group, { supplementaryContext: 'Spring' })
    const context = {
      groupTitle: 'Offers',
      pageNumber: 2,
      pageContext: 'For friends',
      supplementaryContext: 'Spring',
    }
    same({ ...(await store.versions.context(page)) }, context)
    equal(await store.versions.context({ ...page, tenantId: (await addTenant(store)).tenantId }), null)
  },

  'if nothing waits, nothing is claimed': async ({ store }) => {
    same(await claim(store, 0), [])
  },

  'a claimed version is claimed again only when its lease ends, as the next attempt': async (scene) => {
    const { store, another } = scene
    const other = await another()
    await addPage(store, await addGroup(store))
    equal((await claim(store, 0, { leaseMs: 1_000 })).length, 1)
    same(await claim(other, 999), [])
    same(attempts(await claim(other, 1_000, { leaseMs: 500 })), [2])
    same(attempts(await claim(store, 1_500)), [3])
  },

  'a new version that a publisher has claimed is claimed again when its lease ends': async ({ store }) => {
    const page = await addPage(store, await addGroup(store), { claimedUntil: at(1_000) })
    same(await claim(store, 999), [])
    const published = { ...page, status: 'published', at: at(5), computedName: null } as const
    same(await store.versions.settle(page.tenantId, [{ ...published, attempt: 2 }]), [])
    same(await store.versions.settle(page.tenantId, [{ ...published, attempt: 1 }]), [page.versionId])
    const late = await addPage(store, await addGroup(store), { claimedUntil: at(1_000) })
    like(await claim(store, 1_000), [{ versionId: late.versionId, attempt: 2 }])
  },

  'a version is not claimed before its time': async ({ store }) => {
    const page = await addPage(store, await addGroup(store), { createdAt: at(10) })
    same(await claim(store, 9), [])
    same(ids(await claim(store, 10)), [page.versionId])
  },

  'the versions that have waited longest are claimed first, as many as wanted': async ({ store }) => {
    const group = await addGroup(store)
    const pages: NewPageRow[] = []
    for (const ms of [40, 10, 50, 20, 30]) pages.push(await addPage(store, group, { createdAt: at(ms) }))
    const [fourth, first, fifth, second, third] = pages.map(({ versionId }) => versionId)
    same(ids(await claim(store, 100, { max: 2 })), [first, second].sort())
    same(ids(await claim(store, 100, { max: 2 })), [third, fourth].sort())
    same(ids(await claim(store, 100, { max: 2 })), [fifth])
    same(ids(await claim(store, 100, { max: 2 })), [])
  },

  'of versions of the same millisecond no more are claimed than wanted': async ({ store }) => {
    const group = await addGroup(store)
    const pages = Array.from({ length: 20 }, () => somePage(group))
    await recordPages(store.pages, pages)
    const claimed: ClaimedVersion[] = []
    for (const took of [7, 7, 6, 0]) {
      const some = await claim(store, 0, { max: 7 })
      equal(some.length, took)
      claimed.push(...some)
    }
    same(ids(claimed), pages.map(({ versionId }) => versionId).sort())
  },

  'versions of all tenants are claimed together': async ({ store }) => {
    const groups = [await addGroup(store), await addGroup(store)]
    for (const group of groups) await addPage(store, group)
    const claimed = await claim(store, 0)
    same(
      claimed.map(({ tenantId, pageGroupId }) => [tenantId, pageGroupId]).sort(),
      groups.map(({ tenantId, pageGroupId }) => [tenantId, pageGroupId]).sort(),
    )
  },

  'a long backlog of one tenant does not hold up the single page of another': async ({ store }) => {
    const busy = await addGroup(store)
    const calm = await addGroup(store)
    const backlog = Array.from({ length: 30 }, (_, ms) => somePage(busy, { createdAt: at(ms) }))
    await recordPages(store.pages, backlog)
    const single = await addPage(store, calm, { createdAt: at(99) })
    const first = await claim(store, 100, { max: 3 })
    same(ids(first), ids(backlog.slice(0, 3)))
    const second = await claim(store, 100, { max: 3, afterTenantId: busy.tenantId })
    same(ids(second), [single.versionId])
    same(await claim(store, 100, { max: 3, afterTenantId: calm.tenantId }), [])
  },

  'a claim continues with the next tenant until it has as many as wanted': async ({ store }) => {
    const groups = [await addGroup(store), await addGroup(store), await addGroup(store)]
    for (const group of groups) await recordPages(store.pages, [somePage(group), somePage(group)])
    const claimed = await claim(store, 0, { max: 3 })
    same(
      claimed.map(({ tenantId }) => tenantId).sort(),
      [0, 0, 1].map((i) => groups[i]?.tenantId),
    )
    equal((await claim(store, 0, { max: 99 })).length, 3)
  },

  'a version that a wrong clock would let wait beyond the horizon is claimed at once': async ({ store }) => {
    const group = await addGroup(store)
    const near = await addPage(store, group, { createdAt: at(5_000) })
    const far = await addPage(store, group, { createdAt: at(5_001) })
    same(ids(await claim(store, 0, { horizonMs: 5_000 })), [far.versionId])
    same(await claim(store, 0, { horizonMs: 60_000 }), [])
    same(ids(await claim(store, 5_000)), [near.versionId])
  },

  'concurrent claims never share a version, and none is empty while enough wait': async (scene) => {
    const { store, another } = scene
    const group = await addGroup(store)
    const pages = Array.from({ length: 40 }, (_, ms) => somePage(group, { createdAt: at(ms) }))
    await recordPages(store.pages, pages)
    const stores = [store, await another(), store, await another()]
    const claimed: ClaimedVersion[] = []
    while (claimed.length < pages.length) {
      const some = await Promise.all(stores.map((one) => claim(one, 100, { max: 3 })))
      if (pages.length - claimed.length >= 3 * stores.length)
        same(
          some.map(({ length }) => length),
          stores.map(() => 3),
        )
      claimed.push(...some.flat())
    }
    same(ids(claimed), pages.map(({ versionId }) => versionId).sort())
    ok(claimed.every(({ attempt }) => attempt === 1))
  },

  'a published version is read with its page, under its new name and time': async ({ store }) => {
    const group = await addGroup(store)
    const page = await addPage(store, group, { customName: 'Mine' })
    const [claimed] = await claim(store, 0)
    await settle(store, group, [published(claimed, 'Thought of')])
    const version = {
      versionId: page.versionId,
      versionNumber: 1,
      status: 'published',
      publishedAt: at(500),
      publishAt: null,
      unpublishAt: null,
      failureReason: null,
    }
    like(await read(store, page), {
      customName: 'Mine',
      computedName: 'Thought of',
      createdAt: at(0),
      updatedAt: at(500),
      published: version,
      latest: version,
    })
    const list = await store.pages.list({ ...page, beforeId: null, limit: 10 })
    like(list, [{ computedName: 'Thought of', updatedAt: at(500) }])
  },

  'a page published without a new name keeps its current one': async ({ store }) => {
    const group = await addGroup(store)
    const page = await addPage(store, group, { computedName: 'Built in' })
    await settle(store, group, [published((await claim(store, 0))[0], null)])
    like(await read(store, page), { computedName: 'Built in', published: { versionId: page.versionId } })
  },

  'a failed version has its reason, publishes nothing and is never claimed again': async ({ store }) => {
    const group = await addGroup(store)
    const page = await addPage(store, group)
    await settle(store, group, [failed((await claim(store, 0))[0], 'no namer')])
    like(await read(store, page), {
      computedName: page.computedName,
      updatedAt: page.updatedAt,
      published: null,
      latest: { status: 'failed', failureReason: 'no namer', publishedAt: null },
    })
    same(await claim(store, 1_000_000), [])
  },

  'a version that rests is claimed again when its rest is over, not before': async ({ store }) => {
    const group = await addGroup(store)
    const page = await addPage(store, group)
    await settle(store, group, [resting((await claim(store, 0, { leaseMs: 90_000 }))[0], 5_000)])
    like(await read(store, page), { published: null, latest: { status: 'processing', publishedAt: null } })
    same(await claim(store, 4_999), [])
    same(attempts(await claim(store, 5_000)), [2])
  },

  'an attempt that does not count is made again under the same number': async ({ store }) => {
    const group = await addGroup(store)
    const pages = [await addPage(store, group), await addPage(store, group)]
    const byPage = (a: ClaimedVersion, b: ClaimedVersion) => (a.pageId < b.pageId ? -1 : 1)
    const [stopped, resumed] = (await claim(store, 0)).sort(byPage)
    await settle(store, group, [resting(stopped, 10, false), resting(resumed, 10)])
    like(await readAll(store, pages), [
      { published: null, latest: { status: 'processing' } },
      { published: null, latest: { status: 'processing' } },
    ])
    same(await claim(store, 9), [])
    same(attempts((await claim(store, 10)).sort(byPage)), [1, 2])
  },

  'a publisher that lost its claim settles nothing': async ({ store, another }) => {
    const group = await addGroup(store)
    const page = await addPage(store, group)
    const [slow] = await claim(store, 0, { leaseMs: 10 })
    const [quick] = await claim(await another(), 10, { leaseMs: 1_000 })
    const before = await read(store, page)
    for (const lost of [published(slow, 'Slow'), failed(slow, 'slow'), resting(slow, 11)])
      await settle(store, group, [lost])
    same(await read(store, page), before)
    same(await claim(store, 500), [])
    await settle(store, group, [published(quick, 'Quick')])
    like(await read(store, page), { computedName: 'Quick', published: { versionId: page.versionId } })
  },

  'an attempt that nobody has made yet settles nothing': async ({ store }) => {
    const group = await addGroup(store)
    const page = await addPage(store, group)
    const before = await read(store, page)
    const [claimed] = await claim(store, 0)
    await settle(store, group, [{ ...published(claimed, 'Early'), attempt: 2 }])
    await settle(store, group, [{ ...published(claimed, 'Never'), attempt: 0 }])
    same(await read(store, page), before)
  },

  'a settled version stays as it is': async ({ store }) => {
    const group = await addGroup(store)
    const pages = [await addPage(store, group), await addPage(store, group)]
    const [one, two] = await claim(store, 0)
    await settle(store, group, [published(one, 'Once'), failed(two, 'once')])
    const before = await readAll(store, pages)
    for (const version of [one, two])
      for (const again of [published(version, 'Twice'), failed(version, 'twice'), resting(version, 0)])
        await settle(store, group, [again])
    same(await readAll(store, pages), before)
    same(await claim(store, 1_000_000), [])
  },

  'another tenant settles nothing': async ({ store }) => {
    const page = await addPage(store, await addGroup(store))
    const before = await read(store, page)
    const [claimed] = await claim(store, 0, { leaseMs: 10 })
    const stranger = await addTenant(store)
    for (const theirs of [published(claimed, 'Theirs'), failed(claimed, 'theirs'), resting(claimed, 99)])
      await settle(store, stranger, [theirs])
    same(await read(store, page), before)
    same(attempts(await claim(store, 10)), [2])
  },

  'several versions are settled in one call, each in its way; lost ones are ignored and not answered':
    async ({ store }) => {
      const group = await addGroup(store)
      const pages: NewPageRow[] = []
      for (let ms = 0; ms < 4; ms++) pages.push(await addPage(store, group, { createdAt: at(ms) }))
      const claimed = (await claim(store, 10)).sort((a, b) => (a.pageId < b.pageId ? -1 : 1))
      const [one, two, three, four] = claimed
      const settled = await settle(store, group, [
        published(one, 'One'),
        { ...published(two, 'Two'), attempt: 9 },
        failed(three, 'three'),
        resting(four, 20),
      ])
      same([...settled].sort(), [one, three, four].map((version) => version?.versionId).sort())
      const found = await readAll(store, pages)
      like(found, [
        { computedName: 'One', latest: { status: 'published' } },
        { computedName: 'Offers 1', latest: { status: 'processing' }, published: null },
        { latest: { status: 'failed' }, published: null },
        { latest: { status: 'processing' }, published: null },
      ])
      same(ids(await claim(store, 20)), [four?.versionId])
      await settle(store, group, [])
    },

  'names and reasons keep every text as it is': async ({ store }) => {
    const texts = AWKWARD_TEXTS.filter((text) => text !== '')
    for (const settled of [published, failed]) {
      const group = await addGroup(store)
      const pages = texts.map((text) => somePage(group, { supplementaryContext: text }))
      await recordPages(store.pages, pages)
      const claimed = await claim(store, 0)
      await settle(
        store,
        group,
        claimed.map((version) => {
          const page = pages.find(({ versionId }) => versionId === version.versionId)
          return settled(version, page?.supplementaryContext as string)
        }),
      )
      same(
        (await readAll(store, pages)).map((page) => page.latest.failureReason ?? page.computedName),
        texts,
      )
    }
  },

  'a caller that changes what was claimed changes nothing in the store': async ({ store }) => {
    const group = await addGroup(store)
    const page = await addPage(store, group)
    const before = await read(store, page)
    scribbleOn(await claim(store, 0, { leaseMs: 1 }))
    scribbleOn(await store.versions.context(page))
    same(await read(store, page), before)
    like(await claim(store, 1), [{ pageId: page.pageId, attempt: 2 }])
    like(await store.versions.context(page), { groupTitle: group.title })
  },
})

const addGroup = async (store: Store, fields: Partial<StoredPageGroup> = {}) => {
  const group = someGroup(await addTenant(store), fields)
  await store.pageGroups.add(group)
  return group
}

const addPage = async (store: Store, group: StoredPageGroup, fields: Partial<NewPageRow> = {}) => {
  const page = somePage(group, fields)
  await store.pages.record(page)
  return page
}

const claim = async (
  store: Store,
  nowMs: number,
  { max = 100, leaseMs = 60_000, afterTenantId = '', horizonMs = 1e12 } = {},
) => [
  ...(await store.versions.claim({
    now: at(nowMs),
    until: at(nowMs + leaseMs),
    horizon: at(horizonMs),
    afterTenantId,
    max,
  })),
]
const settle = (store: Store, { tenantId }: { tenantId: string }, settlements: Settlement[]) =>
  store.versions.settle(tenantId, settlements)

const ids = (claimed: readonly { readonly versionId: string }[]) =>
  claimed.map(({ versionId }) => versionId).sort()
const attempts = (claimed: readonly ClaimedVersion[]) => claimed.map(({ attempt }) => attempt)

const readAll = async (store: Store, pages: readonly NewPageRow[]) =>
  (await readEach(store.pages.find, pages)).map((page) => {
    if (typeof page === 'string') throw new Error(page)
    return page
  })
const read = async (store: Store, page: NewPageRow) => (await readAll(store, [page]))[0]

const which = (version: ClaimedVersion | undefined) => {
  if (version === undefined) throw new Error('nothing was claimed')
  const { pageId, versionId, attempt } = version
  return { pageId, versionId, attempt }
}
const published = (version: ClaimedVersion | undefined, computedName: string | null): Settlement => ({
  ...which(version),
  status: 'published',
  at: at(500),
  computedName,
})
const failed = (version: ClaimedVersion | undefined, reason: string): Settlement => ({
  ...which(version),
  status: 'failed',
  reason,
})
const resting = (version: ClaimedVersion | undefined, ms: number, counts = true): Settlement => ({
  ...which(version),
  status: 'processing',
  claimableAt: at(ms),
  counts,
})
