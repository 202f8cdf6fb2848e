import type { PageRead } from 'prospect-pages'
import type { DomainFailure, PageKey, Store } from 'prospect-pages/store'
import { equal, ok, same } from './assertions.ts'
import { settledAll, times } from './concurrency.ts'
import { type Core, type Subject, section } from './contract.ts'
import { twoProcesses } from './processes.ts'
import { type Random, randomBy } from './random.ts'
import { addTenant, at, newId, readEach, someClaim } from './rows.ts'

const ROUNDS = 5
const SEED = 20_260_101
const NEVER_ABORTED = new AbortController().signal

/** A page group, and two processes in which people and publishers change its pages. */
const settingOf = async (subject: Subject) => {
  const { core, store } = subject
  const { processes, clock } = await twoProcesses(subject)
  const [one, other] = processes.map((process) => byHand(core, process)) as [ByHand, ByHand]
  const { value: pageGroup } = await one.createGroup({
    ...(await addTenant(store)),
    name: 'offers',
    title: 'Offers',
  })
  const { tenantId, pageGroupId } = pageGroup
  const group = { tenantId, pageGroupId }

  const publisher = (process = processes[0], namer: Namer = null) => {
    const step = core.publishVersions({ ...process, namer, claimMax: 100, leaseMs: 60_000 })
    return async () => {
      while (await step(NEVER_ABORTED));
    }
  }
  /** Takes the pending versions, and publishes it once `finish` is called. */
  const publisherAtWork = async () => {
    const { promise: taken, resolve: take } = Promise.withResolvers<void>()
    const { promise: named, resolve: name } = Promise.withResolvers<null>()
    const working = publisher(processes[1], async () => {
      take()
      return named
    })()
    await taken
    return {
      finish: () => {
        name(null)
        return working
      },
    }
  }
  const newPage = async (): Promise<PageKey> => {
    const { value: page } = await core.createPageWithVersion(processes[0])(group)
    return { ...group, pageId: page.pageId }
  }
  /** Creates a version; its publisher leaves it `ready`. */
  const readyVersion = async (page: PageKey) => {
    const { versionId } = (await one.createVersion({ ...page, publish: false })).value
    await publisher()()
    return versionId
  }
  /** A page whose version 1 is published, with so many that are ready. */
  const publishedPage = async (ready = 0) => {
    const page = await newPage()
    await publisher()()
    const versionIds: string[] = []
    while (versionIds.length < ready) versionIds.push(await readyVersion(page))
    return { page, versionIds: versionIds as [string, string], before: await one.read(page) }
  }
  return {
    clock,
    one,
    other,
    group,
    newPage,
    publishedPage,
    readyVersion,
    publisher,
    publisherAtWork,
    processAt: (i: number) => (i % 2 === 0 ? one : other),
    holds: () => holds(store, group),
  }
}
type Namer = Parameters<Core['publishVersions']>[0]['namer']

/** Changes that a person can make to pages and page groups. */
const byHand = (
  core: Core,
  world: Parameters<Core['createVersion']>[0] & Parameters<Core['createPageGroup']>[0],
) => {
  return {
    createGroup: core.createPageGroup(world),
    getGroup: core.getPageGroup(world),
    updateGroup: core.updatePageGroup(world),
    read: core.getPage(world),
    update: core.updatePage(world),
    remove: core.deletePage(world),
    createVersion: core.createVersion(world),
    publish: core.publishVersion(world),
    unpublish: core.unpublishPage(world),
  }
}
type ByHand = ReturnType<typeof byHand>

/** Invariants of every group and its pages, whatever changes were made at once. */
const holds = async ({ pageGroups, pages, versions }: Store, group: Omit<PageKey, 'pageId'>) => {
  const rows = await pages.list({ ...group, beforeId: null, limit: 1_000 })
  equal((await pageGroups.find(group))?.pagesCount, rows?.length)
  for (const { pageId } of rows ?? []) {
    const want = { ...group, pageId }
    const page = await pages.find(want)
    const all = await versions.list({ ...want, beforeId: null, limit: 1_000 })
    if (typeof page !== 'object') throw new Error(`${pageId}: ${page}`)
    same(
      all.map(({ versionNumber }) => versionNumber),
      all.map((_, i) => all.length - i),
    )
    same(page.latest, all[0])
    const { content, ...published } = page.published ?? { content: null, ...all[0] }
    same(
      all.find(({ versionId }) => versionId === published.versionId),
      published,
    )
    ok(page.published === null || page.published.status === 'published')
    equal(page.computedName, published.computedName)
  }
}

export const changesAtOnce = section('changes at once', settingOf, {
  'of two versions published at once both are, one after the other': async (scene) => {
    const { one, other, publishedPage, holds } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const { page, versionIds, before } = await publishedPage(2)
      await Promise.all(versionIds.map((versionId, i) => [one, other][i]?.publish({ ...page, versionId })))
      const after = await one.read(page)
      equal(after.revision, before.revision + 2)
      ok(versionIds.includes(String(after.value.publishedVersion?.versionId)))
      equal(after.value.latestVersion.status, 'published')
      await holds()
    }
  },

  'a version published by hand stays published when the publisher finishes an older one at that moment':
    async ({ one, publisherAtWork, newPage, readyVersion, store, holds }) => {
      for (let round = 0; round < ROUNDS; round++) {
        const page = await newPage()
        const { finish } = await publisherAtWork()
        const { latestVersion: first } = (await one.read(page)).value
        const versionId = await readyVersion(page)
        await Promise.all([finish(), one.publish({ ...page, versionId })])
        equal((await one.read(page)).value.publishedVersion?.versionId, versionId)
        const older = await store.versions.find({ ...page, versionId: first.versionId })
        ok(older?.status === 'ready' || older?.status === 'published', older?.status)
        await holds()
      }
    },

  'an older version published by hand stays published when the publisher finishes a newer one at that moment':
    async ({ one, publisherAtWork, publishedPage, holds }) => {
      for (let round = 0; round < ROUNDS; round++) {
        const { page, versionIds, before } = await publishedPage(1)
        const [versionId] = versionIds
        await one.createVersion({ ...page, publish: true })
        const { finish } = await publisherAtWork()
        await Promise.all([finish(), one.publish({ ...page, versionId })])
        const after = await one.read(page)
        equal(after.value.publishedVersion?.versionId, versionId)
        ok(['ready', 'published'].includes(after.value.latestVersion.status))
        equal(after.revision, before.revision + 3)
        await holds()
      }
    },

  'of unpublishing and publishing at once the later one counts': async ({
    one,
    other,
    publishedPage,
    holds,
  }) => {
    for (let round = 0; round < ROUNDS; round++) {
      const { page, versionIds, before } = await publishedPage(1)
      const [versionId] = versionIds
      await Promise.all([one.unpublish(page), other.publish({ ...page, versionId })])
      const after = await one.read(page)
      equal(after.revision, before.revision + 2)
      ok([undefined, versionId].includes(after.value.publishedVersion?.versionId))
      await holds()
    }
  },

  'a page deleted while it gets a version, or its publisher finishes one, leaves no version behind': async ({
    core,
    store,
    one,
    other,
    newPage,
    publishedPage,
    publisherAtWork,
    group,
    holds,
  }) => {
    for (let round = 0; round < ROUNDS; round++) {
      const { page } = await publishedPage()
      const [made, removed] = await settledAll<unknown>(core, [
        one.createVersion({ ...page, publish: true }),
        other.remove(page),
      ])
      equal(removed, undefined)
      if (made instanceof core.DomainFailure) equal(made.kind, 'page_not_found')

      const processing = await newPage()
      const { finish } = await publisherAtWork()
      await Promise.all([finish(), one.remove(processing)])
      const slices = [page, processing].map((want) => ({ ...want, beforeId: null, limit: 10 }))
      same(await readEach(store.versions.list, slices), [[], []])
      same(await store.versions.claim(someClaim({ now: at(1e9), until: at(1e9) })), [])
      equal((await one.getGroup(group)).value.pagesCount, 0)
      await holds()
    }
  },

  'of many who delete a page one does, and it is counted off once': async ({
    core,
    one,
    processAt,
    group,
    newPage,
    holds,
  }) => {
    for (let round = 0; round < ROUNDS; round++) {
      await newPage()
      const page = await newPage()
      const outcomes = await settledAll(
        core,
        times(20, (i) => processAt(i).remove(page)),
      )
      equal(outcomes.filter((outcome) => outcome === undefined).length, 1)
      same(kindsOf(core, outcomes), ['page_not_found'])
      equal((await one.getGroup(group)).value.pagesCount, round + 1)
      await holds()
    }
  },

  'a version published or created while its group is archived is saved as a whole, or refused': async ({
    core,
    one,
    other,
    group,
    publishedPage,
    holds,
  }) => {
    for (let round = 0; round < ROUNDS; round++) {
      const { page, versionIds, before } = await publishedPage(1)
      const [versionId] = versionIds
      const outcomes = await settledAll<unknown>(core, [
        one.publish({ ...page, versionId }),
        other.updateGroup({ ...group, status: 'archived' }),
        one.createVersion({ ...page, publish: true }),
      ])
      const refused = outcomes.filter((outcome) => outcome instanceof core.DomainFailure)
      ok(refused.every(({ kind }) => kind === 'page_group_not_active'))
      const after = await one.read(page)
      equal(after.revision, before.revision + 2 - refused.length)
      const archived = await settledAll<unknown>(core, [
        other.publish({ ...page, versionId }),
        other.createVersion({ ...page, publish: true }),
      ])
      // A published version can be published again: nothing changes.
      ok(kindsOf(core, archived).every((kind) => kind === 'page_group_not_active'))
      equal((await one.read(page)).revision, after.revision)
      await other.updateGroup({ ...group, status: 'active' })
      await holds()
    }
  },

  'of fifty changes for one revision exactly one is made, of a page as of a page group': async ({
    core,
    one,
    processAt,
    group,
    publishedPage,
    holds,
  }) => {
    const { page, versionIds, before } = await publishedPage(2)
    let revision = before.revision
    let groupRevision = (await one.getGroup(group)).revision
    for (let round = 0; round < ROUNDS; round++) {
      const ifRevision = [revision]
      // Publishing what is published already would be answered without a change.
      const shown = (await one.read(page)).value.publishedVersion?.versionId
      const versionId = String(versionIds.find((id) => id !== shown))
      const changes = [
        (by: ByHand, i: number) => by.update({ ...page, customName: `${round} ${i}`, ifRevision }),
        (by: ByHand) => by.publish({ ...page, versionId, ifRevision }),
      ]
      const outcomes = await settledAll(
        core,
        times(50, (i) => changes[i % changes.length]?.(processAt(i), i) as Promise<PageRead>),
      )
      revision++
      oneWon(core, outcomes, revision)
      equal((await one.read(page)).revision, revision)

      const renamings = times(50, (i) =>
        processAt(i).updateGroup({ ...group, title: `${round} ${i}`, ifRevision: [groupRevision] }),
      )
      groupRevision++
      oneWon(core, await settledAll(core, renamings), groupRevision)
      equal((await one.getGroup(group)).revision, groupRevision)
    }
    await holds()
  },

  'ten writers who count up what they read, each for the revision that they read, lose no count': async ({
    core,
    one,
    processAt,
    group,
    newPage,
  }) => {
    const page = await newPage()
    const untilDone = async (change: () => Promise<unknown>) => {
      let [outcome] = await settledAll(core, [change()])
      while (outcome instanceof core.DomainFailure) {
        equal(outcome.kind, 'precondition_failed')
        ;[outcome] = await settledAll(core, [change()])
      }
    }
    const countUp = async (by: ByHand) => {
      for (let time = 0; time < 5; time++) {
        await untilDone(async () => {
          const { value: read, revision } = await by.read(page)
          const customName = `${Number(read.customName) + 1}`
          return by.update({ ...page, customName, ifRevision: [revision] })
        })
        await untilDone(async () => {
          const { value: pageGroup, revision } = await by.getGroup(group)
          const pageContext = `${Number(pageGroup.pageContext) + 1}`
          return by.updateGroup({ ...group, pageContext, ifRevision: [revision] })
        })
      }
    }
    await Promise.all(times(10, (i) => countUp(processAt(i))))
    equal((await one.read(page)).value.customName, '50')
    equal((await one.getGroup(group)).value.pageContext, '50')
  },

  'versions requested at once are numbered without gaps, and equal requests make one': async ({
    one,
    processAt,
    newPage,
    holds,
  }) => {
    for (let round = 0; round < ROUNDS; round++) {
      const page = await newPage()
      const key = { idempotencyKey: 'one' }
      const made = await Promise.all(
        times(12, (i) => processAt(i).createVersion({ ...page, ...(i % 2 === 1 && key), publish: true })),
      )
      equal(new Set(made.map(({ value }) => value.versionId)).size, 7)
      equal(made.filter(({ replayed }) => replayed).length, 5)
      equal((await one.read(page)).value.latestVersion.versionNumber, 8)
      await holds()
    }
  },

  'whatever is done at once, in whichever order, every page and its group stay whole': async (scene) => {
    const { core, one, processAt, group, newPage, publisher, store, holds } = scene
    const chance = randomBy(SEED)
    const pages = [await newPage(), await newPage(), await newPage()]
    for (let round = 0; round < 4 * ROUNDS; round++) {
      if (round % 5 === 4) pages.push(await newPage())
      const ids = [newId('pageversion'), ...(await versionIdsOf(store, pages))]
      const actions = times(12, (i) => anyChange(processAt(i), chance, pages, ids))
      const outcomes = await settledAll<unknown>(core, [...actions.map((act) => act()), publisher()()])
      const kinds = kindsOf(core, outcomes).filter((kind) => !USUAL.includes(kind))
      same(kinds, [])
      await one.updateGroup({ ...group, status: 'active' })
      await holds()
    }
    await publisher()()
    await holds()
  },
})

const USUAL = ['page_not_found', 'version_not_found', 'version_not_ready', 'page_group_not_active']

const versionIdsOf = async (store: Store, pages: readonly PageKey[]) => {
  const lists = await readEach(
    store.versions.list,
    pages.map((page) => ({ ...page, beforeId: null, limit: 1_000 })),
  )
  return lists.flat().map(({ versionId }) => versionId)
}

const anyChange = (by: ByHand, chance: Random, pages: readonly PageKey[], ids: readonly string[]) => {
  const page = chance.oneOf(pages)
  const versionId = chance.oneOf(ids)
  const status = chance.oneOf(['active', 'active', 'archived'] as const)
  const customName = `${chance.below(100)}`
  const publish = chance.onceIn(2)
  return chance.oneOf<() => Promise<unknown>>([
    () => by.publish({ ...page, versionId }),
    () => by.publish({ ...page, versionId }),
    () => by.publish({ ...page, versionId }),
    () => by.createVersion({ ...page, publish }),
    () => by.createVersion({ ...page, publish }),
    () => by.unpublish(page),
    () => by.update({ ...page, customName }),
    () => (chance.onceIn(4) ? by.remove(page) : by.read(page)),
    () => by.updateGroup({ tenantId: page.tenantId, pageGroupId: page.pageGroupId, status }),
  ])
}

const kindsOf = (core: Core, outcomes: readonly unknown[]): string[] => [
  ...new Set(outcomes.flatMap((outcome) => (outcome instanceof core.DomainFailure ? [outcome.kind] : []))),
]

const oneWon = (core: Core, outcomes: readonly unknown[], revision: number): void => {
  const refused = outcomes.filter(
    (outcome): outcome is DomainFailure => outcome instanceof core.DomainFailure,
  )
  equal(outcomes.length - refused.length, 1)
  same(kindsOf(core, refused), ['precondition_failed'])
  ok(refused.every(({ facts }) => facts.revision === revision))
}
