import type { PageKey } from 'prospect-pages/store'
import { equal, ok, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { outboxOf } from './outbox.ts'
import { at, someGroup } from './rows.ts'
import { stoppedClock } from './setting.ts'

const ROUNDS = 5
const NEVER = new AbortController().signal
const MINUTE = 60_000
const HOUR = 3_600_000
type Page = Omit<PageKey, 'tenantId' | 'pageGroupId'> & { publishAt?: string; versionId: string }

/** A page group, people who change its pages, and publishers in two processes. */
const settingOf = async ({ core, store, another }: Subject) => {
  const clock = stoppedClock()
  const outbox = await outboxOf(store)
  await outbox.addEndpoint()
  const { pageGroupId } = someGroup(outbox.tenant)
  await store.pageGroups.add(someGroup(outbox.tenant, { pageGroupId }))
  const group = { tenantId: outbox.tenantId, pageGroupId }
  const processes = [store, await another()].map((store) => ({ store, clock, newId: core.createNewId() }))
  const [process] = processes as [(typeof processes)[0]]

  const publish = async () => {
    const step = core.publishVersions({ ...process, namer: null, claimMax: 100, leaseMs: 60_000 })
    while (await step(NEVER));
  }
  /** Does what is due, and returns how long it would wait then; null if for nothing. */
  const run = async (by = process): Promise<number | null> => {
    let waitsMs: number | null = null
    const errors: unknown[] = []
    const sleep = async (ms: number) => {
      waitsMs = ms
    }
    const step = core.runSchedules({
      ...by,
      aheadMs: 15_000,
      sleep,
      onError: (error) => void errors.push(error),
    })
    while (waitsMs === null && (await step(NEVER, Promise.race([]))));
    same(errors, [])
    return waitsMs
  }
  const hand = {
    createVersion: core.createVersion(process),
    publishOne: core.publishVersion(process),
    unschedule: async (version: PageKey & Page) => (await core.unscheduleVersion(process)(version)).value,
    unpublish: core.unpublishPage(process),
    update: core.updatePage(process),
    remove: core.deletePage(process),
    updateGroup: core.updatePageGroup(process),
  }
  const read = async (want: PageKey) => {
    return (await core.getPage(process)(want)).value
  }
  return {
    ...hand,
    clock,
    outbox,
    group,
    publish,
    run,
    read,
    processes,
    newPage: async (publishAt?: string): Promise<PageKey & Page> => {
      const made = await core.createPageWithVersion(process)({ ...group, ...(publishAt && { publishAt }) })
      const { pageId } = made.value
      await publish()
      return { ...group, pageId, versionId: (await read({ ...group, pageId })).latestVersion.versionId }
    },
    newVersion: async (page: PageKey, publishAt?: string): Promise<PageKey & Page> => {
      const { pageId } = page
      const made = await hand.createVersion({ ...group, pageId, publish: publishAt !== undefined, publishAt })
      await publish()
      return { ...group, pageId, versionId: made.value.versionId }
    },
    statusOf: async (version: PageKey & Page) => {
      const found = await store.versions.find(version)
      return [found?.status, found?.publishAt, found?.failureReason]
    },
    publishedIn: async (want: PageKey) => (await read(want)).publishedVersion?.versionId,
    /** The types of the events since the last call. */
    happened: (() => {
      let last = 0
      return async () => {
        while ((await outbox.number()) > 0);
        const events = await outbox.read(last)
        last += events.length
        return events.map(({ type }) => type)
      }
    })(),
  }
}

export const schedules = section('schedules', settingOf, {
  'a page is named, waits, and is published at its time, not before': async (the) => {
    const page = await the.newPage(at(HOUR))
    same(await the.statusOf(page), ['scheduled', at(HOUR), null])
    equal(await the.publishedIn(page), undefined)
    the.clock.advance(HOUR - 1)
    equal(await the.run(), 1)
    equal(await the.publishedIn(page), undefined)
    the.clock.advance(1)
    equal(await the.run(), null)
    equal(await the.publishedIn(page), page.versionId)
    same(await the.statusOf(page), ['published', null, null])
    same(await the.happened(), ['page.created', 'page_version.scheduled', 'page_version.published'])
  },

  'nothing of a suspended tenant is published at its time, but once it is resumed': async ({
    store,
    ...the
  }) => {
    const page = await the.newPage(at(HOUR))
    const { tenantId } = the.group
    await store.tenants.setState(tenantId, { suspendedAt: at(1), deletedAt: null })
    the.clock.advance(HOUR)
    await the.run()
    same(await the.statusOf(page), ['scheduled', at(HOUR), null])
    await store.tenants.setState(tenantId, { suspendedAt: null, deletedAt: null })
    await the.run()
    equal(await the.publishedIn(page), page.versionId)
  },

  'a version that is named after its time is published then': async ({ core, ...the }) => {
    const [process] = the.processes
    const made = await core.createPageWithVersion(process as NonNullable<typeof process>)({
      ...the.group,
      publishAt: at(5),
    })
    const want = { ...the.group, pageId: made.value.pageId }
    the.clock.advance(10)
    equal(await the.run(), null)
    equal((await the.read(want)).latestVersion.status, 'processing')
    await the.publish()
    await the.run()
    equal((await the.read(want)).latestVersion.status, 'published')
  },

  'what is due at once on a page is done by time': async (the) => {
    const page = await the.newPage()
    const later = await the.newVersion(page, at(3 * MINUTE))
    const one = await the.newVersion(page, at(2 * MINUTE))
    const other = await the.newVersion(page, at(MINUTE))
    await the.happened()
    the.clock.advance(HOUR)
    await the.run()
    equal(await the.publishedIn(page), later.versionId)
    const published = await Promise.all([one, other, later].map(the.statusOf))
    same(published, Array(3).fill(['published', null, null]))
    same(await the.happened(), Array(3).fill('page_version.published'))
  },

  'at its time a version replaces a newer one, and none that was requested before overtakes it': async (
    the,
  ) => {
    const page = await the.newPage(at(HOUR))
    const newer = await the.newVersion(page)
    await the.publishOne(newer)
    equal(await the.publishedIn(page), newer.versionId)
    await the.createVersion({ ...page, publish: true })
    the.clock.advance(HOUR)
    await the.run()
    await the.publish()
    equal(await the.publishedIn(page), page.versionId)
    equal((await the.read(page)).latestVersion.status, 'ready')
    await the.createVersion({ ...page, publish: true })
    await the.publish()
    equal((await the.read(page)).publishedVersion?.versionNumber, 4)
  },

  'what a person does after the time counts as later, even if publishers are late': async (the) => {
    const first = await the.newPage(at(10))
    const second = await the.newPage(at(10))
    const third = await the.newPage(at(10))
    const draft = await the.newVersion(first)
    the.clock.advance(HOUR)
    await the.publishOne(draft)
    await the.unpublish(second)
    const requested = await the.newVersion(third, at(20))
    await the.run()
    equal(await the.publishedIn(first), draft.versionId)
    equal(await the.publishedIn(second), undefined)
    equal(await the.publishedIn(third), requested.versionId)
    same(await the.statusOf(first), ['published', null, null])
  },

  'a schedule is moved, ended, or replaced by publishing at once': async (the) => {
    const moved = await the.newPage(at(10))
    const ended = await the.newPage(at(10))
    const hurried = await the.newPage(at(10))
    await the.publishOne({ ...moved, publishAt: at(HOUR) })
    const { status, publishAt } = await the.unschedule(ended)
    same([status, publishAt], ['ready', null])
    same(await the.unschedule(ended), { ...(await the.unschedule(ended)), status })
    await the.publishOne(hurried)
    await the.happened()
    the.clock.advance(20)
    await the.run()
    same(await the.happened(), [])
    same(await the.statusOf(moved), ['scheduled', at(HOUR), null])
    same(await the.statusOf(hurried), ['published', null, null])
    // One that was published before is scheduled again, and is what it was if that ends.
    await the.publishOne({ ...hurried, publishAt: at(HOUR) })
    same(await the.statusOf(hurried), ['scheduled', at(HOUR), null])
    equal((await the.unschedule(hurried)).status, 'published')
  },

  'in an archived group nothing is published at its time, and the version says why': async (the) => {
    const page = await the.newPage(at(10))
    await the.updateGroup({ ...the.group, status: 'archived' })
    await the.happened()
    the.clock.advance(10)
    await the.run()
    const [status, publishAt, reason] = await the.statusOf(page)
    same([status, publishAt], ['ready', null])
    ok(reason?.includes('archived'), String(reason))
    same(await the.happened(), ['page_version.ready'])
    await the.updateGroup({ ...the.group, status: 'active' })
    await the.publishOne(page)
    same(await the.statusOf(page), ['published', null, null])
  },

  'a window that is over when it is processed is not opened, and the version says why': async (the) => {
    const page = await the.newPage(at(HOUR))
    await the.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await the.happened()
    the.clock.advance(2 * HOUR)
    await the.run()
    const [status, publishAt, reason] = await the.statusOf(page)
    same([status, publishAt], ['ready', null])
    ok(reason?.includes('had passed'), String(reason))
    same(await the.run(), null)
    same(await the.happened(), ['page_version.skipped'])
    const { publishedVersion, unpublishAt } = await the.read(page)
    same([publishedVersion, unpublishAt], [null, null])
    await the.publishOne(page)
    same(await the.statusOf(page), ['published', null, null])
  },

  'a window is opened until its last millisecond': async (the) => {
    const page = await the.newPage(at(HOUR))
    await the.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await the.happened()
    the.clock.advance(2 * HOUR - 1)
    equal(await the.run(), 1)
    equal(await the.publishedIn(page), page.versionId)
    the.clock.advance(1)
    await the.run()
    equal(await the.publishedIn(page), undefined)
    same(await the.happened(), ['page_version.published', 'page.unpublished'])
  },

  'a window that is over ends what was published before it, but not what was to follow it': async (the) => {
    const page = await the.newPage()
    const window = await the.newVersion(page)
    await the.publishOne({ ...window, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    const other = await the.newPage()
    const otherWindow = await the.newVersion(other)
    const next = await the.newVersion(other, at(HOUR + 30 * MINUTE))
    await the.publishOne({ ...otherWindow, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await the.happened()
    the.clock.advance(3 * HOUR)
    // A change by hand does first what is due.
    equal((await the.update({ ...page, customName: 'Mine' })).value.publishedVersion, null)
    same(await the.happened(), ['page_version.skipped', 'page.unpublished', 'page.updated'])
    await the.run()
    equal(await the.publishedIn(other), next.versionId)
    same(await the.happened(), ['page_version.skipped', 'page_version.published'])
  },

  'what was requested before the end of a window is not published after it': async ({ core, ...the }) => {
    const page = await the.newPage(at(HOUR))
    await the.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await the.createVersion({ ...page, publish: true })
    const [process] = the.processes
    const pages: PageKey[] = [page]
    for (let i = 0; i < 2; i++) {
      const made = await core.createPageWithVersion(process as NonNullable<typeof process>)(the.group)
      const want = { ...the.group, pageId: made.value.pageId }
      await the.update({ ...want, unpublishAt: at(2 * HOUR) })
      pages.push(want)
    }
    await the.happened()
    the.clock.advance(3 * HOUR)
    // The schedules come first for two of these pages, and the publisher for the third.
    for (const want of pages.slice(0, 2)) await the.update(want)
    await the.publish()
    await the.run()
    for (const want of pages) {
      const { publishedVersion, latestVersion, unpublishAt } = await the.read(want)
      same([publishedVersion, latestVersion.status, unpublishAt], [null, 'ready', null])
    }
    ok(!(await the.happened()).includes('page_version.published'))
  },

  'a page or group that was deleted has nothing to do any more': async (the) => {
    const page = await the.newPage(at(10))
    const other = await the.newPage(at(10))
    await the.update({ ...other, unpublishAt: at(10) })
    await the.remove(page)
    await the.updateGroup({ ...the.group, status: 'deleted' })
    await the.happened()
    the.clock.advance(10)
    await the.run()
    same(await the.store.schedules.due({ tenantId: the.group.tenantId, until: at(HOUR), max: 9 }), [])
    same(await the.happened(), [])
  },

  'a page is unpublished at its time': async (the) => {
    const page = await the.newPage()
    await the.update({ ...page, unpublishAt: at(HOUR) })
    equal((await the.read(page)).unpublishAt, at(HOUR))
    the.clock.advance(HOUR)
    await the.createVersion({ ...page, publish: true })
    await the.run()
    await the.publish()
    const { publishedVersion, unpublishAt, latestVersion } = await the.read(page)
    same([publishedVersion?.versionNumber, unpublishAt, latestVersion.status], [2, null, 'published'])
    const types = await the.happened()
    same(types.slice(2), ['page.updated', 'page.unpublished', 'page_version.published'])
  },

  'a publication by hand or at a time removes the time at which a page is unpublished, or names another':
    async (the) => {
      const page = await the.newPage()
      const next = await the.newVersion(page, at(10))
      const unpublishAt = async () => (await the.read(page)).unpublishAt
      await the.update({ ...page, unpublishAt: at(HOUR) })
      await the.newVersion(page)
      equal(await unpublishAt(), at(HOUR))
      await the.publishOne(page)
      equal(await unpublishAt(), null)
      await the.publishOne({ ...page, unpublishAt: at(20) })
      equal(await unpublishAt(), at(20))
      await the.publishOne({ ...next, publishAt: at(10), unpublishAt: at(30) })
      the.clock.advance(15)
      await the.run()
      same([await the.publishedIn(page), await unpublishAt()], [next.versionId, at(30)])
      the.clock.advance(15)
      await the.run()
      same([await the.publishedIn(page), await unpublishAt()], [undefined, null])
      await the.update({ ...page, unpublishAt: at(40) })
      await the.update({ ...page, unpublishAt: null })
      equal(await unpublishAt(), null)
    },

  'of many schedules of a page for the same minute at once one is made': async (the) => {
    const page = await the.newPage()
    const drafts: (PageKey & Page)[] = []
    for (let i = 0; i < 5; i++) drafts.push(await the.newVersion(page))
    const answers = await Promise.allSettled(
      drafts.map((draft, i) => the.publishOne({ ...draft, publishAt: at(HOUR + i) })),
    )
    const scheduled = drafts.filter((_, i) => answers[i]?.status === 'fulfilled')
    equal(scheduled.length, 1)
    const found = await the.store.schedules.ofPage(page)
    same(
      found.map(({ versionId }) => versionId),
      scheduled.map(({ versionId }) => versionId),
    )
  },

  'however many publishers and people act at that moment, each publication happens once': async (the) => {
    for (let round = 1; round <= ROUNDS; round++) {
      const time = at(round * HOUR)
      const pages = [await the.newPage(time), await the.newPage(time), await the.newPage(time)]
      const first = pages[0] as (typeof pages)[0]
      const draft = await the.newVersion(pages[0] as PageKey)
      await the.happened()
      the.clock.advance(HOUR)
      await Promise.all([...the.processes.map((process) => the.run(process)), the.publishOne(draft)])
      await the.run()
      same(await the.happened(), Array(4).fill('page_version.published'))
      equal(await the.publishedIn(first), draft.versionId)
      for (const page of pages) same(await the.statusOf(page), ['published', null, null])
    }
  },

  'a clock that jumps, in whatever direction, makes nothing happen early or twice': async (the) => {
    const page = await the.newPage(at(HOUR))
    const next = await the.newVersion(page, at(2 * HOUR))
    the.clock.advance(-30 * HOUR)
    equal(await the.run(), null)
    the.clock.advance(31 * HOUR)
    await the.run()
    equal(await the.publishedIn(page), page.versionId)
    the.clock.advance(-HOUR)
    await the.run()
    same(await the.statusOf(next), ['scheduled', at(2 * HOUR), null])
    the.clock.advance(2 * HOUR)
    await the.run()
    equal(await the.publishedIn(page), next.versionId)
    equal((await the.happened()).filter((type) => type === 'page_version.published').length, 2)
  },

  'a clock that leaps over a window does not open it, and one that is set back again neither': async (
    the,
  ) => {
    const page = await the.newPage(at(HOUR))
    await the.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await the.happened()
    the.clock.advance(400 * 24 * HOUR)
    await the.run()
    the.clock.advance(-400 * 24 * HOUR)
    await the.run()
    the.clock.advance(HOUR)
    await the.run()
    equal(await the.publishedIn(page), undefined)
    same(await the.happened(), ['page_version.skipped'])
  },

  'a clock that is set back within a window leaves the page public until the end': async (the) => {
    const page = await the.newPage(at(HOUR))
    await the.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await the.happened()
    the.clock.advance(HOUR)
    await the.run()
    the.clock.advance(-30 * MINUTE)
    await the.run()
    equal(await the.publishedIn(page), page.versionId)
    the.clock.advance(90 * MINUTE - 1)
    equal(await the.run(), 1)
    equal(await the.publishedIn(page), page.versionId)
    the.clock.advance(1)
    await the.run()
    same(await the.happened(), ['page_version.published', 'page.unpublished'])
  },

  'what was due while nothing ran is done in its order, however long that was': async (the) => {
    const page = await the.newPage()
    const versions: (PageKey & Page)[] = []
    for (const days of [1, 58, 59, 60, 700]) versions.push(await the.newVersion(page, at(days * 24 * HOUR)))
    await the.update({ ...page, unpublishAt: at(59 * 24 * HOUR + MINUTE) })
    await the.happened()
    the.clock.advance(60 * 24 * HOUR)
    await the.run()
    equal(await the.publishedIn(page), versions[3]?.versionId)
    same(await the.statusOf(versions[4] as PageKey & Page), ['scheduled', at(700 * 24 * HOUR), null])
    same(await the.happened(), Array(4).fill('page_version.published'))
  },

  'a tenant is asked for when it has something to do, and for what': async (the) => {
    const late = await the.newPage(at(30))
    const early = await the.newPage(at(10))
    await the.publishOne(late)
    await the.update({ ...late, unpublishAt: at(20) })
    await the.newVersion(late, at(25))
    const { waiting, due } = the.store.schedules
    const { tenantId } = the.group
    const tenants = async (afterTenantId: string, until: string) => [
      ...new Set(await waiting({ afterTenantId, until, max: 9 })),
    ]
    const timesOf = async (until: string, max = 9) =>
      (await due({ tenantId, until, max })).map(({ pageId, at }) => [at, pageId]).sort()
    same(await tenants('', at(9)), [])
    same(await tenants('', at(10)), [tenantId])
    same(await tenants('', at(20)), [tenantId])
    same(await tenants(tenantId, at(99)), [])
    const all = [
      [at(10), early.pageId],
      [at(20), late.pageId],
      [at(25), late.pageId],
    ]
    same(await timesOf(at(25)), all)
    same(await timesOf(at(24)), all.slice(0, 2))
    same((await timesOf(at(25), 1)).slice(0, 1), all.slice(0, 1))
  },
})
