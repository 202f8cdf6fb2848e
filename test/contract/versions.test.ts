import { openPostgres } from '../../src/adapters/postgres/open.ts'
import type { StoredPageGroup } from '../../src/core/ports/page-groups.ts'
import type { NewPageRow } from '../../src/core/ports/pages.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { ClaimedVersion, Settlement } from '../../src/core/ports/versions.ts'
import { AWKWARD_TEXTS, addTenant, at, scribbleOn, someGroup, somePage } from '../support/rows.ts'
import { EVERY_STORE, opened, overStores } from '../support/stores.ts'

overStores(async (t, kind) => {
  const { store, another } = await opened(t, kind)
  /** The store, with nothing waiting of what the tests before have left: a claim knows no tenant. */
  const drained = async () => {
    for (const left of await claim(store, 1e9, { max: 1_000 }))
      await settle(store, left, [failed(left, 'left')])
    return store
  }

  t.test('a new version is claimed', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const page = await addPage(store, group)
    t.strictSame(await claim(store, 0), [
      {
        tenantId: group.tenantId,
        pageGroupId: group.pageGroupId,
        pageId: page.pageId,
        versionId: page.versionId,
        attempt: 1,
      },
    ])
  })

  t.test('a namer gets the title and context of the group, and the context of the page', async (t) => {
    const store = await drained()
    const group = await addGroup(store, { title: 'Offers', pageContext: 'For friends' })
    const page = await addPage(store, group, { supplementaryContext: 'Spring' })
    const context = { groupTitle: 'Offers', pageContext: 'For friends', supplementaryContext: 'Spring' }
    t.strictSame({ ...(await store.versions.context(page)) }, context)
    t.equal(await store.versions.context({ ...page, tenantId: (await addTenant(store)).tenantId }), null)
  })

  t.test('where nothing waits nothing is claimed', async (t) => {
    const store = await drained()
    t.strictSame(await claim(store, 0), [])
  })

  t.test('a claimed version is claimed again only when its lease ends, as the next attempt', async (t) => {
    const store = await drained()
    const other = await another()
    await addPage(store, await addGroup(store))
    t.equal((await claim(store, 0, { leaseMs: 1_000 })).length, 1)
    t.strictSame(await claim(other, 999), [])
    t.strictSame(attempts(await claim(other, 1_000, { leaseMs: 500 })), [2])
    t.strictSame(attempts(await claim(store, 1_500)), [3])
  })

  t.test('a version is not claimed before its time', async (t) => {
    const store = await drained()
    const page = await addPage(store, await addGroup(store), { createdAt: at(10) })
    t.strictSame(await claim(store, 9), [])
    t.strictSame(ids(await claim(store, 10)), [page.versionId])
  })

  t.test('those that have waited longest are claimed first, as many as wanted', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const pages: NewPageRow[] = []
    for (const ms of [40, 10, 50, 20, 30]) pages.push(await addPage(store, group, { createdAt: at(ms) }))
    const [fourth, first, fifth, second, third] = pages.map(({ versionId }) => versionId)
    t.strictSame(ids(await claim(store, 100, { max: 2 })), [first, second].sort())
    t.strictSame(ids(await claim(store, 100, { max: 2 })), [third, fourth].sort())
    t.strictSame(ids(await claim(store, 100, { max: 2 })), [fifth])
    t.strictSame(ids(await claim(store, 100, { max: 2 })), [])
  })

  t.test('of versions of the very same moment no more are claimed than wanted', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const pages = Array.from({ length: 20 }, () => somePage(group))
    await store.pages.record(pages)
    const claimed: ClaimedVersion[] = []
    for (const took of [7, 7, 6, 0]) {
      const some = await claim(store, 0, { max: 7 })
      t.equal(some.length, took)
      claimed.push(...some)
    }
    t.strictSame(ids(claimed), pages.map(({ versionId }) => versionId).sort())
  })

  t.test('versions of all tenants are claimed together', async (t) => {
    const store = await drained()
    const groups = [await addGroup(store), await addGroup(store)]
    for (const group of groups) await addPage(store, group)
    const claimed = await claim(store, 0)
    t.strictSame(
      claimed.map(({ tenantId, pageGroupId }) => [tenantId, pageGroupId]).sort(),
      groups.map(({ tenantId, pageGroupId }) => [tenantId, pageGroupId]).sort(),
    )
  })

  t.test('a long backlog of one tenant does not hold up the single page of another', async (t) => {
    const store = await drained()
    const [busy, calm] = [await addGroup(store), await addGroup(store)]
    const backlog = Array.from({ length: 30 }, (_, ms) => somePage(busy, { createdAt: at(ms) }))
    await store.pages.record(backlog)
    const single = await addPage(store, calm, { createdAt: at(99) })
    const first = await claim(store, 100, { max: 3 })
    t.strictSame(ids(first), ids(backlog.slice(0, 3)))
    const second = await claim(store, 100, { max: 3, afterTenantId: busy.tenantId })
    t.strictSame(ids(second), [single.versionId])
    t.strictSame(await claim(store, 100, { max: 3, afterTenantId: calm.tenantId }), [])
  })

  t.test('a claim goes on with the next tenant until it has as many as wanted', async (t) => {
    const store = await drained()
    const groups = [await addGroup(store), await addGroup(store), await addGroup(store)]
    for (const group of groups) await store.pages.record([somePage(group), somePage(group)])
    const claimed = await claim(store, 0, { max: 3 })
    t.strictSame(
      claimed.map(({ tenantId }) => tenantId).sort(),
      [0, 0, 1].map((i) => groups[i]?.tenantId),
    )
    t.equal((await claim(store, 0, { max: 99 })).length, 3)
  })

  t.test('a version that a wrong clock would let wait beyond the horizon is claimed at once', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const near = await addPage(store, group, { createdAt: at(5_000) })
    const far = await addPage(store, group, { createdAt: at(5_001) })
    t.strictSame(ids(await claim(store, 0, { horizonMs: 5_000 })), [far.versionId])
    t.strictSame(await claim(store, 0, { horizonMs: 60_000 }), [])
    t.strictSame(ids(await claim(store, 5_000)), [near.versionId])
  })

  t.test('two who claim at once never share a version, nor get none while enough wait', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const pages = Array.from({ length: 40 }, (_, ms) => somePage(group, { createdAt: at(ms) }))
    await store.pages.record(pages)
    const stores = [store, await another(), store, await another()]
    const claimed: ClaimedVersion[] = []
    while (claimed.length < pages.length) {
      const some = await Promise.all(stores.map((one) => claim(one, 100, { max: 3 })))
      if (pages.length - claimed.length >= 3 * stores.length)
        t.strictSame(
          some.map(({ length }) => length),
          stores.map(() => 3),
        )
      claimed.push(...some.flat())
    }
    t.strictSame(ids(claimed), pages.map(({ versionId }) => versionId).sort())
    t.ok(claimed.every(({ attempt }) => attempt === 1))
  })

  if (kind.name === 'postgres' || kind.name === 'instance')
    t.test('versions that another claim has locked are skipped, not waited for', async (t) => {
      const { store, address } = await opened(t, kind)
      const group = await addGroup(store)
      const pages = Array.from({ length: 6 }, (_, ms) => somePage(group, { createdAt: at(ms) }))
      await store.pages.record(pages)
      const sql = openPostgres(String(address), { max: 1 })
      t.teardown(() => sql.end())
      await sql.unsafe('begin')
      await sql.unsafe('select 1 from page_versions order by claimable_at limit 3 for update')
      t.strictSame(ids(await claim(store, 100, { max: 3 })), ids(pages.slice(3)))
      await sql.unsafe('rollback')
      t.strictSame(ids(await claim(store, 100, { max: 3 })), ids(pages.slice(0, 3)))
    })

  t.test('a published version is read with its page, under its new name and time', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const page = await addPage(store, group, { customName: 'Mine' })
    const [claimed] = await claim(store, 0)
    await settle(store, group, [published(claimed, 'Thought of')])
    const version = {
      versionId: page.versionId,
      versionNumber: 1,
      status: 'published',
      publishedAt: at(500),
      failureReason: null,
    }
    t.match(await read(store, page), {
      customName: 'Mine',
      computedName: 'Thought of',
      createdAt: at(0),
      updatedAt: at(500),
      published: version,
      latest: version,
    })
    const [list] = await store.pages.list([{ ...page, beforeId: null, limit: 10 }])
    t.match(list, [{ computedName: 'Thought of', updatedAt: at(500) }])
  })

  t.test('published without a name it keeps the one that is there', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const page = await addPage(store, group, { computedName: 'Built in' })
    await settle(store, group, [published((await claim(store, 0))[0], null)])
    t.match(await read(store, page), { computedName: 'Built in', published: { versionId: page.versionId } })
  })

  t.test('a failed version says why, publishes nothing and is never claimed again', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const page = await addPage(store, group)
    await settle(store, group, [failed((await claim(store, 0))[0], 'no namer')])
    t.match(await read(store, page), {
      computedName: page.computedName,
      updatedAt: page.updatedAt,
      published: null,
      latest: { status: 'failed', failureReason: 'no namer', publishedAt: null },
    })
    t.strictSame(await claim(store, 1_000_000), [])
  })

  t.test('a version that rests is claimed again when its pause is over, not before', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const page = await addPage(store, group)
    await settle(store, group, [resting((await claim(store, 0, { leaseMs: 90_000 }))[0], 5_000)])
    t.match(await read(store, page), { published: null, latest: { status: 'processing', publishedAt: null } })
    t.strictSame(await claim(store, 4_999), [])
    t.strictSame(attempts(await claim(store, 5_000)), [2])
  })

  t.test('an attempt that does not count is made again, under its number', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const pages = [await addPage(store, group), await addPage(store, group)]
    const byPage = (a: ClaimedVersion, b: ClaimedVersion) => (a.pageId < b.pageId ? -1 : 1)
    const [stopped, resumed] = (await claim(store, 0)).sort(byPage)
    await settle(store, group, [resting(stopped, 10, false), resting(resumed, 10)])
    t.match(await readAll(store, pages), [
      { published: null, latest: { status: 'processing' } },
      { published: null, latest: { status: 'processing' } },
    ])
    t.strictSame(await claim(store, 9), [])
    t.strictSame(attempts((await claim(store, 10)).sort(byPage)), [1, 2])
  })

  t.test('whoever lost a claim settles nothing, in whatever way', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const page = await addPage(store, group)
    const [slow] = await claim(store, 0, { leaseMs: 10 })
    const [quick] = await claim(await another(), 10, { leaseMs: 1_000 })
    const before = await read(store, page)
    for (const lost of [published(slow, 'Slow'), failed(slow, 'slow'), resting(slow, 11)])
      await settle(store, group, [lost])
    t.strictSame(await read(store, page), before)
    t.strictSame(await claim(store, 500), [])
    await settle(store, group, [published(quick, 'Quick')])
    t.match(await read(store, page), { computedName: 'Quick', published: { versionId: page.versionId } })
  })

  t.test('an attempt that nobody has made yet settles nothing', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const page = await addPage(store, group)
    const before = await read(store, page)
    const [claimed] = await claim(store, 0)
    await settle(store, group, [{ ...published(claimed, 'Early'), attempt: 2 }])
    await settle(store, group, [{ ...published(claimed, 'Never'), attempt: 0 }])
    t.strictSame(await read(store, page), before)
  })

  t.test('what is settled stays so', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const pages = [await addPage(store, group), await addPage(store, group)]
    const [one, two] = await claim(store, 0)
    await settle(store, group, [published(one, 'Once'), failed(two, 'once')])
    const before = await readAll(store, pages)
    for (const version of [one, two])
      for (const again of [published(version, 'Twice'), failed(version, 'twice'), resting(version, 0)])
        await settle(store, group, [again])
    t.strictSame(await readAll(store, pages), before)
    t.strictSame(await claim(store, 1_000_000), [])
  })

  t.test('a stranger settles nothing', async (t) => {
    const store = await drained()
    const page = await addPage(store, await addGroup(store))
    const before = await read(store, page)
    const [claimed] = await claim(store, 0, { leaseMs: 10 })
    const stranger = await addTenant(store)
    for (const theirs of [published(claimed, 'Theirs'), failed(claimed, 'theirs'), resting(claimed, 99)])
      await settle(store, stranger, [theirs])
    t.strictSame(await read(store, page), before)
    t.strictSame(attempts(await claim(store, 10)), [2])
  })

  t.test(
    'several are settled in one call, each in its way; the lost ones are ignored, and not answered',
    async (t) => {
      const store = await drained()
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
      t.strictSame([...settled].sort(), [one, three, four].map((version) => version?.versionId).sort())
      const found = await readAll(store, pages)
      t.match(found, [
        { computedName: 'One', latest: { status: 'published' } },
        { computedName: 'Offers 1', latest: { status: 'processing' }, published: null },
        { latest: { status: 'failed' }, published: null },
        { latest: { status: 'processing' }, published: null },
      ])
      t.strictSame(ids(await claim(store, 20)), [four?.versionId])
      await settle(store, group, [])
    },
  )

  t.test('names and reasons keep every text as it is', async (t) => {
    const store = await drained()
    const texts = AWKWARD_TEXTS.filter((text) => text !== '')
    for (const settled of [published, failed]) {
      const group = await addGroup(store)
      const pages = texts.map((text) => somePage(group, { supplementaryContext: text }))
      await store.pages.record(pages)
      const claimed = await claim(store, 0)
      await settle(
        store,
        group,
        claimed.map((version) => {
          const page = pages.find(({ versionId }) => versionId === version.versionId)
          return settled(version, page?.supplementaryContext as string)
        }),
      )
      t.strictSame(
        (await readAll(store, pages)).map((page) => page.latest.failureReason ?? page.computedName),
        texts,
      )
    }
  })

  t.test('scribbling on what was claimed changes nothing inside', async (t) => {
    const store = await drained()
    const group = await addGroup(store)
    const page = await addPage(store, group)
    const before = await read(store, page)
    scribbleOn(await claim(store, 0, { leaseMs: 1 }))
    scribbleOn(await store.versions.context(page))
    t.strictSame(await read(store, page), before)
    t.match(await claim(store, 1), [{ pageId: page.pageId, attempt: 2 }])
    t.match(await store.versions.context(page), { groupTitle: group.title })
  })
}, EVERY_STORE)

const addGroup = async (store: Store, fields: Partial<StoredPageGroup> = {}) => {
  const group = someGroup(await addTenant(store), fields)
  await store.pageGroups.add(group)
  return group
}

const addPage = async (store: Store, group: StoredPageGroup, fields: Partial<NewPageRow> = {}) => {
  const page = somePage(group, fields)
  await store.pages.record([page])
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
  (await store.pages.find(pages)).map((page) => {
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
