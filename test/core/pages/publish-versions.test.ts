import t from 'tap'
import { withHandOver } from '../../../src/adapters/stores/hand-over.ts'
import { createPageWithVersion } from '../../../src/core/pages/create-page-with-version.ts'
import type { PatientNamer } from '../../../src/core/pages/name-patiently.ts'
import { ATTEMPTS_MAX } from '../../../src/core/pages/name-version.ts'
import { publishVersions } from '../../../src/core/pages/publish-versions.ts'
import type { NewEvent } from '../../../src/core/ports/events.ts'
import type { PageKey } from '../../../src/core/ports/pages.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { someClaim } from '../../support/rows.ts'
import { countedIds } from '../../support/setting.ts'
import { ticks } from '../../support/ticks.ts'
import { scene } from '../scene.ts'

const LEASE_MS = 30_000
const NEVER_ABORTED = new AbortController().signal

/** A page that waits to be published, and publishers with different namers. */
const setUp = async () => {
  const world = await scene()
  const group = await world.newGroup({ pageContext: 'For florists' })
  const newPage = async () =>
    (await world.createPage({ ...group, supplementaryContext: 'The spring sale' })).value
  const page = await newPage()
  const stepper = (namer: PatientNamer | null, claimMax = 10) =>
    publishVersions({ ...world, namer, claimMax, leaseMs: LEASE_MS })
  /** Publishes until nothing waits and nothing is in progress; answers the number of steps. */
  const publisher = (namer: PatientNamer | null, claimMax?: number) => {
    const step = stepper(namer, claimMax)
    return async (stop: AbortSignal) => {
      let steps = 0
      while (await step(stop)) steps++
      return steps
    }
  }
  return {
    ...world,
    group,
    newPage,
    stepper,
    publisher,
    publish: (namer: PatientNamer | null, claimMax?: number) => publisher(namer, claimMax)(NEVER_ABORTED),
    read: () => world.readPage(page),
    updatedAt: async () => (await world.listPages({ ...page, limit: 1 })).items[0]?.updatedAt,
  }
}

const naming =
  (name: string | null): PatientNamer =>
  async () =>
    name
/** A namer that answers on demand. */
const slowNamer = () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  return { namer: () => promise, answer: resolve }
}
/** Publishers that claim everything and then die. */
const die = async ({ clock, store }: Awaited<ReturnType<typeof setUp>>, times: number) => {
  for (let i = 0; i < times; i++) {
    await store.versions.claim(someClaim({ now: iso(clock()), until: iso(clock() + LEASE_MS) }))
    clock.advance(LEASE_MS)
  }
}
const iso = (ms: number) => new Date(ms).toISOString()

t.test('a waiting version is published under the name that the namer answers', async (t) => {
  const { clock, publish, read, updatedAt } = await setUp()
  clock.advance(1_000)
  t.equal(await publish(naming('Spring Flowers')), 1)
  const page = await read()
  t.match(page, {
    computedName: 'Spring Flowers',
    effectiveName: 'Spring Flowers',
    publishedVersion: { versionNumber: 1, publishedAt: '2026-01-01T00:00:01.000Z' },
    latestVersion: { status: 'published', failureReason: null },
  })
  t.equal(page.publishedVersion?.versionId, page.latestVersion.versionId)
  t.equal(await updatedAt(), '2026-01-01T00:00:01.000Z')
})

for (const [what, namer] of [['without a namer', null] as const, ['without a name', naming(null)] as const])
  t.test(`${what} it is published under its built-in name`, async (t) => {
    const { publish, read } = await setUp()
    await publish(namer)
    t.match(await read(), { computedName: 'The spring sale', latestVersion: { status: 'published' } })
  })

t.test('where nothing waits, nothing is taken', async (t) => {
  const { publish } = await setUp()
  await publish(null)
  t.equal(await publish(null), 0)
})

t.test('the namer gets the group’s title and context, and the page’s own', async (t) => {
  const { publish } = await setUp()
  const asked: unknown[] = []
  await publish(async (page, stop) => {
    asked.push([page.groupTitle, page.pageContext, page.supplementaryContext, stop])
    return 'Name'
  })
  t.strictSame(asked, [['Offers', 'For florists', 'The spring sale', NEVER_ABORTED]])
})

t.test('a custom name stays the effective one', async (t) => {
  const { createPage, group, publish, readPage } = await setUp()
  const { value: page } = await createPage({ ...group, customName: 'Mine' })
  await publish(naming('Spring Flowers'))
  t.match(await readPage(page), { effectiveName: 'Mine', computedName: 'Spring Flowers' })
})

t.test('a version that five publishers died over is failed, with a reason', async (t) => {
  const world = await setUp()
  await die(world, 5)
  t.equal(await world.publish(naming('Spring Flowers')), 1)
  t.match(await world.read(), {
    computedName: 'The spring sale',
    publishedVersion: null,
    latestVersion: { status: 'failed', failureReason: 'Gave up after 5 interrupted attempts.' },
  })
})

t.test('the fifth attempt after four dead publishers still counts', async (t) => {
  const world = await setUp()
  await die(world, 4)
  await world.publish(naming('Spring Flowers'))
  t.equal((await world.read()).latestVersion.status, 'published')
})

t.test('published and failed are final', async (t) => {
  const world = await setUp()
  await die(world, 5)
  await world.publish(null)
  await world.newPage()
  await world.publish(null)
  world.clock.advance(24 * 3_600_000)
  t.equal(await world.publish(naming('Too late')), 0)
})

t.test('no other publisher gets a claimed version until its lease ends', async (t) => {
  const world = await setUp()
  await world.store.versions.claim(
    someClaim({ now: iso(world.clock()), until: iso(world.clock() + LEASE_MS) }),
  )
  world.clock.advance(LEASE_MS - 1)
  t.equal(await world.publish(null), 0)
  world.clock.advance(1)
  t.equal(await world.publish(null), 1)
})

/** A publisher, and how often it has claimed. */
const countingPublisher = (world: Awaited<ReturnType<typeof setUp>>, options: object = {}) => {
  let claims = 0
  const claim: Store['versions']['claim'] = (want) => {
    claims++
    return world.store.versions.claim(want)
  }
  const store = { versions: { ...world.store.versions, claim } }
  const step = publishVersions({ ...world, store, namer: null, claimMax: 10, leaseMs: LEASE_MS, ...options })
  return { step, claims: () => claims }
}

t.test('a claim that left nothing is not repeated until the publisher is woken', async (t) => {
  const world = await setUp()
  const { step, claims } = countingPublisher(world)
  t.equal(await step(NEVER_ABORTED), true)
  t.equal(await step(NEVER_ABORTED, undefined, false), false)
  t.equal(claims(), 1)
  for (let i = 0; i < 11; i++) await world.newPage()
  t.equal(await step(NEVER_ABORTED), true)
  t.equal(await step(NEVER_ABORTED, undefined, false), true)
  t.equal(claims(), 4, 'a full claim may have left versions behind')
})

/** A publisher that takes at most two versions from the hand-over, and pages that are created through it. */
const setUpHandOver = async () => {
  const world = await setUp()
  await world.publish(null)
  const { pages, handOver } = withHandOver(world.store.pages, 2)
  const create = createPageWithVersion({ ...world, store: { pages } })
  const input = { ...world.group, supplementaryContext: 'Sale' }
  const createThree = async (): Promise<PageKey[]> => {
    const created = await Promise.all([create(input), create(input), create(input)])
    return created.map(({ value }) => value)
  }
  const statuses = (pages: readonly PageKey[]) =>
    Promise.all(pages.map(async (page) => (await world.readPage(page)).latestVersion.status))
  return { ...world, ...countingPublisher(world, { handOver }), handOver, createThree, statuses }
}

t.test('versions that no publisher accepts are left to a claim', async (t) => {
  const { createThree, statuses, store, publish } = await setUpHandOver()
  const pages = await createThree()
  t.equal((await store.versions.backlog(10)).count, 3)
  await publish(null)
  t.strictSame(await statuses(pages), ['published', 'published', 'published'])
})

t.test('versions that are handed over are published without a claim', async (t) => {
  const { createThree, statuses, handOver, step, claims } = await setUpHandOver()
  let wakes = 0
  handOver.register(() => wakes++, LEASE_MS)
  const pages = await createThree()
  t.equal(wakes, 1, 'one wake-up for all pending versions')
  t.equal(await step(NEVER_ABORTED, undefined, false), true)
  t.strictSame(await statuses(pages), ['published', 'published', 'processing'])
  t.equal(claims(), 0)
  await step(NEVER_ABORTED)
  t.strictSame(await statuses(pages), ['published', 'published', 'published'])
  t.equal(claims(), 1)
})

t.test('versions that are handed over are leased, and claimed when the lease ends', async (t) => {
  const { clock, createThree, statuses, handOver, publish, readPage, step } = await setUpHandOver()
  handOver.register(() => {}, LEASE_MS)
  const pages = await createThree()
  await publish(null)
  t.strictSame(await statuses(pages), ['processing', 'processing', 'published'], 'two are leased')
  clock.advance(LEASE_MS)
  await publish(naming('Taken Over'))
  await step(NEVER_ABORTED, undefined, false)
  t.match(await readPage(pages[0] as PageKey), { computedName: 'Taken Over' })
})

t.test('after a stop no version is handed over', async (t) => {
  const { createThree, handOver, step } = await setUpHandOver()
  let wakes = 0
  handOver.register(() => wakes++, LEASE_MS)
  await createThree()
  await step(AbortSignal.abort(), undefined, false)
  await createThree()
  t.equal(wakes, 1)
})

t.test(
  'a version that is claimed again beside its slow first attempt is published once, with one event',
  async (t) => {
    const world = await setUp()
    await world.publish(null)
    const { pages, handOver } = withHandOver(world.store.pages)
    handOver.register(() => {}, LEASE_MS)
    await createPageWithVersion({ ...world, store: { pages } })(world.group)
    world.clock.advance(LEASE_MS)
    const events: NewEvent[] = []
    const settle: Store['versions']['settle'] = (tenantId, settlements, saved = []) => {
      events.push(...saved)
      return world.store.versions.settle(tenantId, settlements, saved)
    }
    const store = { ...world.store, versions: { ...world.store.versions, settle } }
    const step = publishVersions({ ...world, store, handOver, namer: null, claimMax: 10, leaseMs: LEASE_MS })
    await step(NEVER_ABORTED)
    t.strictSame(
      events.map(({ type }) => type),
      ['page_version.published'],
    )
    t.equal((await world.store.versions.backlog(10)).count, 0)
  },
)

t.test('what a publisher saves too late is ignored', async (t) => {
  const { clock, publish, read } = await setUp()
  const slow = slowNamer()
  const late = publish(slow.namer)
  await ticks()
  clock.advance(LEASE_MS)
  await publish(naming('In time'))
  const before = await read()
  clock.advance(1_000)
  slow.answer('Too late')
  await late
  t.strictSame(await read(), before)
  t.equal(before.computedName, 'In time')
})

t.test('what a publisher saves too late does not end the attempt of another', async (t) => {
  const { clock, publish, read } = await setUp()
  const first = slowNamer()
  const second = slowNamer()
  const late = publish(first.namer)
  await ticks()
  clock.advance(LEASE_MS)
  const inTime = publish(second.namer)
  await ticks()
  first.answer('Too late')
  await late
  t.equal((await read()).latestVersion.status, 'processing')
  second.answer('In time')
  await inTime
  t.equal((await read()).computedName, 'In time')
})

t.test('several publishers share the work', async (t) => {
  const { newPage, publish } = await setUp()
  for (let i = 0; i < 5; i++) await newPage()
  let named = 0
  const namer = async () => `Name ${++named}`
  await Promise.all([publish(namer, 3), publish(namer, 3), publish(namer, 3)])
  t.equal(named, 6)
})

t.test('those that have waited longest come first, as many as may be', async (t) => {
  const { clock, newPage, stepper, read, readPage } = await setUp()
  clock.advance(1)
  const younger = await newPage()
  t.equal(await stepper(null, 1)(NEVER_ABORTED), true)
  t.equal((await read()).latestVersion.status, 'published')
  t.equal((await readPage(younger)).latestVersion.status, 'processing')
})

t.test('tenants take turns: a long backlog of one does not hold up the page of another', async (t) => {
  const { createPage, newGroup, newPage, readPage, stepper, strangerId } = await setUp()
  for (let i = 0; i < 20; i++) await newPage()
  const { value: page } = await createPage(await newGroup({ tenantId: strangerId }))
  const step = stepper(naming('Name'), 2)
  for (let i = 0; i < 3; i++) await step(NEVER_ABORTED)
  t.equal((await readPage(page)).latestVersion.status, 'published')
})

t.test('while one call to the namer is slow the others go on', async (t) => {
  const { newPage, publish, read, readPage } = await setUp()
  const pages = [await newPage(), await newPage(), await newPage()]
  const slow = slowNamer()
  let calls = 0
  const publishing = publish(() => (++calls === 1 ? slow.namer() : Promise.resolve('Quick')), 2)
  await ticks()
  t.equal((await read()).latestVersion.status, 'processing')
  for (const page of pages) t.equal((await readPage(page)).latestVersion.status, 'published')
  slow.answer('Slow')
  await publishing
  t.equal((await read()).computedName, 'Slow')
})

t.test(
  'a page created while a call to the namer is slow is published when the publisher is woken',
  async (t) => {
    const { newPage, stepper, readPage } = await setUp()
    const slow = slowNamer()
    let calls = 0
    const step = stepper(() => (++calls === 1 ? slow.namer() : Promise.resolve('Quick')), 2)
    const woken = Promise.withResolvers<void>()
    const waiting = step(NEVER_ABORTED, woken.promise)
    await ticks()
    const page = await newPage()
    woken.resolve()
    t.equal(await waiting, true)
    await step(NEVER_ABORTED)
    t.equal((await readPage(page)).latestVersion.status, 'published')
    slow.answer('Slow')
  },
)

t.test('a lease from a clock that was far ahead ends at once', async (t) => {
  const world = await setUp()
  const aheadMs = 24 * 3_600_000
  world.clock.advance(aheadMs)
  await die(world, 1)
  world.clock.advance(-aheadMs - LEASE_MS)
  await world.publish(naming('In time'))
  t.equal((await world.read()).computedName, 'In time')
})

t.test('a lease is respected by a publisher whose own leases are much shorter', async (t) => {
  const world = await setUp()
  const slow = slowNamer()
  const patient = publishVersions({ ...world, namer: slow.namer, claimMax: 1, leaseMs: 620_000 })
  const step = patient(NEVER_ABORTED)
  await ticks()
  world.clock.advance(60_000)
  t.equal(await world.publish(naming('Stolen')), 0)
  slow.answer('Patient')
  await step
  t.equal((await world.read()).computedName, 'Patient')
})

t.test('an error of the store ends no other attempt, and is thrown', async (t) => {
  const { clock, newGroup, createPage, read, readPage, store, strangerId, tenantId } = await setUp()
  const { value: page } = await createPage(await newGroup({ tenantId: strangerId }))
  const away: Store['versions']['settle'] = async (owner, settlements) => {
    if (owner === tenantId) throw new Error('away')
    return store.versions.settle(owner, settlements)
  }
  const broken = { versions: { ...store.versions, settle: away } }
  const step = publishVersions({
    store: broken,
    clock,
    newId: countedIds(),
    namer: null,
    claimMax: 10,
    leaseMs: LEASE_MS,
  })
  await t.rejects(step(NEVER_ABORTED), { message: 'away' })
  t.equal((await read()).latestVersion.status, 'processing')
  t.equal((await readPage(page)).latestVersion.status, 'published')
  t.equal(await step(NEVER_ABORTED), false)
})

t.test('a version whose context cannot be read is tried again, and the others are published', async (t) => {
  const { clock, newPage, read, readPage, store } = await setUp()
  const neighbour = await newPage()
  let isAway = true
  const context: Store['versions']['context'] = async (page) => {
    if (isAway && page.pageId !== neighbour.pageId) throw new Error('away')
    return store.versions.context(page)
  }
  const broken = { versions: { ...store.versions, context } }
  const step = publishVersions({
    store: broken,
    clock,
    newId: countedIds(),
    namer: naming('Name'),
    claimMax: 9,
    leaseMs: LEASE_MS,
  })
  await t.rejects(step(NEVER_ABORTED), { message: 'away' })
  t.equal((await read()).latestVersion.status, 'processing')
  t.equal((await readPage(neighbour)).latestVersion.status, 'published')
  isAway = false
  clock.advance(1_000)
  await step(NEVER_ABORTED)
  t.match(await read(), { computedName: 'Name', latestVersion: { status: 'published' } })
})

t.test('a publisher that is stopped gives its version back at once', async (t) => {
  const { publish, publisher, read } = await setUp()
  const stop = new AbortController()
  await publisher(async () => {
    stop.abort()
    throw new Error('stopped')
  })(stop.signal)
  t.equal((await read()).latestVersion.status, 'processing')
  t.equal(await publish(null), 1)
})

t.test('after a stop nothing more is claimed', async (t) => {
  const { publisher, read } = await setUp()
  t.equal(await publisher(null)(AbortSignal.abort()), 0)
  t.equal((await read()).latestVersion.status, 'processing')
})

t.test('an attempt that a stop has ended does not count', async (t) => {
  const { publish, publisher, read } = await setUp()
  for (let i = 0; i < 2 * ATTEMPTS_MAX; i++) {
    const stop = new AbortController()
    await publisher(async () => {
      stop.abort()
      throw new Error('stopped')
    })(stop.signal)
  }
  t.match(await read(), { publishedVersion: null, latestVersion: { status: 'processing' } })
  await publish(naming('Spring Flowers'))
  t.match(await read(), { computedName: 'Spring Flowers', latestVersion: { status: 'published' } })
})
