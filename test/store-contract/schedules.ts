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
  'a page is named, waits, and is published at its time, not before': async (scene) => {
    const page = await scene.newPage(at(HOUR))
    same(await scene.statusOf(page), ['scheduled', at(HOUR), null])
    equal(await scene.publishedIn(page), undefined)
    scene.clock.advance(HOUR - 1)
    equal(await scene.run(), 1)
    equal(await scene.publishedIn(page), undefined)
    scene.clock.advance(1)
    equal(await scene.run(), null)
    equal(await scene.publishedIn(page), page.versionId)
    same(await scene.statusOf(page), ['published', null, null])
    same(await scene.happened(), ['page.created', 'page_version.scheduled', 'page_version.published'])
  },

  'nothing of a suspended tenant is published at its time, but once it is resumed': async ({
    store,
    ...scene
  }) => {
    const page = await scene.newPage(at(HOUR))
    const { tenantId } = scene.group
    await store.tenants.setState(tenantId, { suspendedAt: at(1), deletedAt: null })
    scene.clock.advance(HOUR)
    await scene.run()
    same(await scene.statusOf(page), ['scheduled', at(HOUR), null])
    await store.tenants.setState(tenantId, { suspendedAt: null, deletedAt: null })
    await scene.run()
    equal(await scene.publishedIn(page), page.versionId)
  },

  'a version that is named after its time is published then': async ({ core, ...scene }) => {
    const [process] = scene.processes
    const made = await core.createPageWithVersion(process as NonNullable<typeof process>)({
      ...scene.group,
      publishAt: at(5),
    })
    const want = { ...scene.group, pageId: made.value.pageId }
    scene.clock.advance(10)
    equal(await scene.run(), null)
    equal((await scene.read(want)).latestVersion.status, 'processing')
    await scene.publish()
    await scene.run()
    equal((await scene.read(want)).latestVersion.status, 'published')
  },

  'what is due at once on a page is done by time': async (scene) => {
    const page = await scene.newPage()
    const later = await scene.newVersion(page, at(3 * MINUTE))
    const one = await scene.newVersion(page, at(2 * MINUTE))
    const other = await scene.newVersion(page, at(MINUTE))
    await scene.happened()
    scene.clock.advance(HOUR)
    await scene.run()
    equal(await scene.publishedIn(page), later.versionId)
    const published = await Promise.all([one, other, later].map(scene.statusOf))
    same(published, Array(3).fill(['published', null, null]))
    same(await scene.happened(), Array(3).fill('page_version.published'))
  },

  'at its time a version replaces a newer one, and none that was requested before overtakes it': async (
    scene,
  ) => {
    const page = await scene.newPage(at(HOUR))
    const newer = await scene.newVersion(page)
    await scene.publishOne(newer)
    equal(await scene.publishedIn(page), newer.versionId)
    await scene.createVersion({ ...page, publish: true })
    scene.clock.advance(HOUR)
    await scene.run()
    await scene.publish()
    equal(await scene.publishedIn(page), page.versionId)
    equal((await scene.read(page)).latestVersion.status, 'ready')
    await scene.createVersion({ ...page, publish: true })
    await scene.publish()
    equal((await scene.read(page)).publishedVersion?.versionNumber, 4)
  },

  'what a person does after the time counts as later, even if publishers are late': async (scene) => {
    const first = await scene.newPage(at(10))
    const second = await scene.newPage(at(10))
    const third = await scene.newPage(at(10))
    const draft = await scene.newVersion(first)
    scene.clock.advance(HOUR)
    await scene.publishOne(draft)
    await scene.unpublish(second)
    const requested = await scene.newVersion(third, at(20))
    await scene.run()
    equal(await scene.publishedIn(first), draft.versionId)
    equal(await scene.publishedIn(second), undefined)
    equal(await scene.publishedIn(third), requested.versionId)
    same(await scene.statusOf(first), ['published', null, null])
  },

  'a schedule is moved, ended, or replaced by publishing at once': async (scene) => {
    const moved = await scene.newPage(at(10))
    const ended = await scene.newPage(at(10))
    const hurried = await scene.newPage(at(10))
    await scene.publishOne({ ...moved, publishAt: at(HOUR) })
    const { status, publishAt } = await scene.unschedule(ended)
    same([status, publishAt], ['ready', null])
    same(await scene.unschedule(ended), { ...(await scene.unschedule(ended)), status })
    await scene.publishOne(hurried)
    await scene.happened()
    scene.clock.advance(20)
    await scene.run()
    same(await scene.happened(), [])
    same(await scene.statusOf(moved), ['scheduled', at(HOUR), null])
    same(await scene.statusOf(hurried), ['published', null, null])
    // One that was published before is scheduled again, and is what it was if that ends.
    await scene.publishOne({ ...hurried, publishAt: at(HOUR) })
    same(await scene.statusOf(hurried), ['scheduled', at(HOUR), null])
    equal((await scene.unschedule(hurried)).status, 'published')
  },

  'in an archived group nothing is published at its time, and the version says why': async (scene) => {
    const page = await scene.newPage(at(10))
    await scene.updateGroup({ ...scene.group, status: 'archived' })
    await scene.happened()
    scene.clock.advance(10)
    await scene.run()
    const [status, publishAt, reason] = await scene.statusOf(page)
    same([status, publishAt], ['ready', null])
    ok(reason?.includes('archived'), String(reason))
    same(await scene.happened(), ['page_version.ready'])
    await scene.updateGroup({ ...scene.group, status: 'active' })
    await scene.publishOne(page)
    same(await scene.statusOf(page), ['published', null, null])
  },

  'a window that is over when it is processed is not opened, and the version says why': async (scene) => {
    const page = await scene.newPage(at(HOUR))
    await scene.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await scene.happened()
    scene.clock.advance(2 * HOUR)
    await scene.run()
    const [status, publishAt, reason] = await scene.statusOf(page)
    same([status, publishAt], ['ready', null])
    ok(reason?.includes('had passed'), String(reason))
    same(await scene.run(), null)
    same(await scene.happened(), ['page_version.skipped'])
    const { publishedVersion, unpublishAt } = await scene.read(page)
    same([publishedVersion, unpublishAt], [null, null])
    await scene.publishOne(page)
    same(await scene.statusOf(page), ['published', null, null])
  },

  'a window is opened until its last millisecond': async (scene) => {
    const page = await scene.newPage(at(HOUR))
    await scene.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await scene.happened()
    scene.clock.advance(2 * HOUR - 1)
    equal(await scene.run(), 1)
    equal(await scene.publishedIn(page), page.versionId)
    scene.clock.advance(1)
    await scene.run()
    equal(await scene.publishedIn(page), undefined)
    same(await scene.happened(), ['page_version.published', 'page.unpublished'])
  },

  'a window that is over ends what was published before it, but not what was to follow it': async (scene) => {
    const page = await scene.newPage()
    const window = await scene.newVersion(page)
    await scene.publishOne({ ...window, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    const other = await scene.newPage()
    const otherWindow = await scene.newVersion(other)
    const next = await scene.newVersion(other, at(HOUR + 30 * MINUTE))
    await scene.publishOne({ ...otherWindow, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await scene.happened()
    scene.clock.advance(3 * HOUR)
    // A change by hand does first what is due.
    equal((await scene.update({ ...page, customName: 'Mine' })).value.publishedVersion, null)
    same(await scene.happened(), ['page_version.skipped', 'page.unpublished', 'page.updated'])
    await scene.run()
    equal(await scene.publishedIn(other), next.versionId)
    same(await scene.happened(), ['page_version.skipped', 'page_version.published'])
  },

  'what was requested before the end of a window is not published after it': async ({ core, ...scene }) => {
    const page = await scene.newPage(at(HOUR))
    await scene.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await scene.createVersion({ ...page, publish: true })
    const [process] = scene.processes
    const pages: PageKey[] = [page]
    for (let i = 0; i < 2; i++) {
      const made = await core.createPageWithVersion(process as NonNullable<typeof process>)(scene.group)
      const want = { ...scene.group, pageId: made.value.pageId }
      await scene.update({ ...want, unpublishAt: at(2 * HOUR) })
      pages.push(want)
    }
    await scene.happened()
    scene.clock.advance(3 * HOUR)
    // The schedules come first for two of these pages, and the publisher for the third.
    for (const want of pages.slice(0, 2)) await scene.update(want)
    await scene.publish()
    await scene.run()
    for (const want of pages) {
      const { publishedVersion, latestVersion, unpublishAt } = await scene.read(want)
      same([publishedVersion, latestVersion.status, unpublishAt], [null, 'ready', null])
    }
    ok(!(await scene.happened()).includes('page_version.published'))
  },

  'a page or group that was deleted has nothing to do any more': async (scene) => {
    const page = await scene.newPage(at(10))
    const other = await scene.newPage(at(10))
    await scene.update({ ...other, unpublishAt: at(10) })
    await scene.remove(page)
    await scene.updateGroup({ ...scene.group, status: 'deleted' })
    await scene.happened()
    scene.clock.advance(10)
    await scene.run()
    same(await scene.store.schedules.due({ tenantId: scene.group.tenantId, until: at(HOUR), max: 9 }), [])
    same(await scene.happened(), [])
  },

  'a page is unpublished at its time': async (scene) => {
    const page = await scene.newPage()
    await scene.update({ ...page, unpublishAt: at(HOUR) })
    equal((await scene.read(page)).unpublishAt, at(HOUR))
    scene.clock.advance(HOUR)
    await scene.createVersion({ ...page, publish: true })
    await scene.run()
    await scene.publish()
    const { publishedVersion, unpublishAt, latestVersion } = await scene.read(page)
    same([publishedVersion?.versionNumber, unpublishAt, latestVersion.status], [2, null, 'published'])
    const types = await scene.happened()
    same(types.slice(2), ['page.updated', 'page.unpublished', 'page_version.published'])
  },

  'a publication by hand or at a time removes the time at which a page is unpublished, or names another':
    async (scene) => {
      const page = await scene.newPage()
      const next = await scene.newVersion(page, at(10))
      const unpublishAt = async () => (await scene.read(page)).unpublishAt
      await scene.update({ ...page, unpublishAt: at(HOUR) })
      await scene.newVersion(page)
      equal(await unpublishAt(), at(HOUR))
      await scene.publishOne(page)
      equal(await unpublishAt(), null)
      await scene.publishOne({ ...page, unpublishAt: at(20) })
      equal(await unpublishAt(), at(20))
      await scene.publishOne({ ...next, publishAt: at(10), unpublishAt: at(30) })
      scene.clock.advance(15)
      await scene.run()
      same([await scene.publishedIn(page), await unpublishAt()], [next.versionId, at(30)])
      scene.clock.advance(15)
      await scene.run()
      same([await scene.publishedIn(page), await unpublishAt()], [undefined, null])
      await scene.update({ ...page, unpublishAt: at(40) })
      await scene.update({ ...page, unpublishAt: null })
      equal(await unpublishAt(), null)
    },

  'of many schedules of a page for the same minute at once one is made': async (scene) => {
    const page = await scene.newPage()
    const drafts: (PageKey & Page)[] = []
    for (let i = 0; i < 5; i++) drafts.push(await scene.newVersion(page))
    const answers = await Promise.allSettled(
      drafts.map((draft, i) => scene.publishOne({ ...draft, publishAt: at(HOUR + i) })),
    )
    const scheduled = drafts.filter((_, i) => answers[i]?.status === 'fulfilled')
    equal(scheduled.length, 1)
    const found = await scene.store.schedules.ofPage(page)
    same(
      found.map(({ versionId }) => versionId),
      scheduled.map(({ versionId }) => versionId),
    )
  },

  'however many publishers and people act at that moment, each publication happens once': async (scene) => {
    for (let round = 1; round <= ROUNDS; round++) {
      const time = at(round * HOUR)
      const pages = [await scene.newPage(time), await scene.newPage(time), await scene.newPage(time)]
      const first = pages[0] as (typeof pages)[0]
      const draft = await scene.newVersion(pages[0] as PageKey)
      await scene.happened()
      scene.clock.advance(HOUR)
      await Promise.all([...scene.processes.map((process) => scene.run(process)), scene.publishOne(draft)])
      await scene.run()
      same(await scene.happened(), Array(4).fill('page_version.published'))
      equal(await scene.publishedIn(first), draft.versionId)
      for (const page of pages) same(await scene.statusOf(page), ['published', null, null])
    }
  },

  'a clock that jumps, in whatever direction, makes nothing happen early or twice': async (scene) => {
    const page = await scene.newPage(at(HOUR))
    const next = await scene.newVersion(page, at(2 * HOUR))
    scene.clock.advance(-30 * HOUR)
    equal(await scene.run(), null)
    scene.clock.advance(31 * HOUR)
    await scene.run()
    equal(await scene.publishedIn(page), page.versionId)
    scene.clock.advance(-HOUR)
    await scene.run()
    same(await scene.statusOf(next), ['scheduled', at(2 * HOUR), null])
    scene.clock.advance(2 * HOUR)
    await scene.run()
    equal(await scene.publishedIn(page), next.versionId)
    equal((await scene.happened()).filter((type) => type === 'page_version.published').length, 2)
  },

  'a clock that leaps over a window does not open it, and one that is set back again neither': async (
    scene,
  ) => {
    const page = await scene.newPage(at(HOUR))
    await scene.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await scene.happened()
    scene.clock.advance(400 * 24 * HOUR)
    await scene.run()
    scene.clock.advance(-400 * 24 * HOUR)
    await scene.run()
    scene.clock.advance(HOUR)
    await scene.run()
    equal(await scene.publishedIn(page), undefined)
    same(await scene.happened(), ['page_version.skipped'])
  },

  'a clock that is set back within a window leaves the page public until the end': async (scene) => {
    const page = await scene.newPage(at(HOUR))
    await scene.publishOne({ ...page, publishAt: at(HOUR), unpublishAt: at(2 * HOUR) })
    await scene.happened()
    scene.clock.advance(HOUR)
    await scene.run()
    scene.clock.advance(-30 * MINUTE)
    await scene.run()
    equal(await scene.publishedIn(page), page.versionId)
    scene.clock.advance(90 * MINUTE - 1)
    equal(await scene.run(), 1)
    equal(await scene.publishedIn(page), page.versionId)
    scene.clock.advance(1)
    await scene.run()
    same(await scene.happened(), ['page_version.published', 'page.unpublished'])
  },

  'what was due while nothing ran is done in its order, however long that was': async (scene) => {
    const page = await scene.newPage()
    const versions: (PageKey & Page)[] = []
    for (const days of [1, 58, 59, 60, 700]) versions.push(await scene.newVersion(page, at(days * 24 * HOUR)))
    await scene.update({ ...page, unpublishAt: at(59 * 24 * HOUR + MINUTE) })
    await scene.happened()
    scene.clock.advance(60 * 24 * HOUR)
    await scene.run()
    equal(await scene.publishedIn(page), versions[3]?.versionId)
    same(await scene.statusOf(versions[4] as PageKey & Page), ['scheduled', at(700 * 24 * HOUR), null])
    same(await scene.happened(), Array(4).fill('page_version.published'))
  },

  'a tenant is asked for when it has something to do, and for what': async (scene) => {
    const late = await scene.newPage(at(30))
    const early = await scene.newPage(at(10))
    await scene.publishOne(late)
    await scene.update({ ...late, unpublishAt: at(20) })
    await scene.newVersion(late, at(25))
    const { waiting, due } = scene.store.schedules
    const { tenantId } = scene.group
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
