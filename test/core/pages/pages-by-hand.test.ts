import t from 'tap'
import { createPageGroup } from '../../../src/core/pages/create-page-group.ts'
import type { PageToCreate } from '../../../src/core/pages/create-page-with-version.ts'
import { createVersion, type VersionToCreate } from '../../../src/core/pages/create-version.ts'
import { deletePage } from '../../../src/core/pages/delete-page.ts'
import { deletePageGroup } from '../../../src/core/pages/delete-page-group.ts'
import { getPageGroup } from '../../../src/core/pages/get-page-group.ts'
import { getVersion } from '../../../src/core/pages/get-version.ts'
import { listVersions } from '../../../src/core/pages/list-versions.ts'
import type { PatientNamer } from '../../../src/core/pages/name-patiently.ts'
import { publishVersion } from '../../../src/core/pages/publish-version.ts'
import { publishVersions } from '../../../src/core/pages/publish-versions.ts'
import { unpublishPage } from '../../../src/core/pages/unpublish-page.ts'
import { updatePage } from '../../../src/core/pages/update-page.ts'
import { updatePageGroup } from '../../../src/core/pages/update-page-group.ts'
import { statusAfter } from '../../../src/core/pages/version-states.ts'
import type { PageKey } from '../../../src/core/ports/pages.ts'
import { idOf } from '../../support/setting.ts'
import { refusalOf, scene } from '../scene.ts'

const CONTENT = { rawJson: '{ "a":1.0 }' }
const OTHER_CONTENT = { rawJson: '{"b":2}' }

/** A page with version 1 in `processing`, and everything that a person can do with it. */
const setUp = async (fields: Pick<PageToCreate, 'content'> = {}) => {
  const world = await scene()
  const group = await world.newGroup()
  const { tenantId, pageGroupId } = group
  const supplementaryContext = 'The spring sale'
  const { value: page } = await world.createPage({ tenantId, pageGroupId, supplementaryContext, ...fields })
  const want = { tenantId, pageGroupId, pageId: page.pageId }
  const publisher = (namer: PatientNamer | null) => {
    const step = publishVersions({ ...world, namer, claimMax: 10, leaseMs: 30_000 })
    return async () => {
      while (await step(new AbortController().signal));
    }
  }
  const act = {
    read: () => world.readPage(want),
    revision: async () => (await updatePage(world)(want)).revision,
    newVersion: async (fields: Partial<VersionToCreate> = {}) =>
      createVersion(world)({ ...want, publish: false, ...fields }),
    publish: async (versionId: string, ifRevision?: readonly number[]) =>
      publishVersion(world)({ ...want, versionId, ifRevision }),
    schedule: async (versionId: string, publishAt: string) =>
      publishVersion(world)({ ...want, versionId, publishAt }),
    unpublish: async (ifRevision?: readonly number[]) => unpublishPage(world)({ ...want, ifRevision }),
    rename: async (customName: string | null, ifRevision?: readonly number[]) =>
      updatePage(world)({ ...want, customName, ifRevision }),
    remove: async (ifRevision?: readonly number[]) => deletePage(world)({ ...want, ifRevision }),
    versions: async () => (await listVersions(world)({ ...want, limit: 20 })).value.items,
    version: async (versionId: string) => (await getVersion(world)({ ...want, versionId })).value,
  }
  /** Another version that its publisher leaves `ready`. */
  const readyVersion = async (fields: Partial<VersionToCreate> = {}) => {
    const { versionId } = (await act.newVersion(fields)).value
    await publisher(null)()
    return versionId
  }
  const [first] = await act.versions()
  return { ...world, ...act, group, want, firstId: String(first?.versionId), publisher, readyVersion }
}

/** The same, with version 1 published. */
const published = async (fields?: Parameters<typeof setUp>[0]) => {
  const world = await setUp(fields)
  await world.publisher(null)()
  return world
}

t.test('every transition of a version', (t) => {
  t.strictSame(
    [
      statusAfter('processing', 'finish'),
      statusAfter('processing', 'finishUnpublished'),
      statusAfter('processing', 'fail'),
      statusAfter('processing', 'publish'),
      statusAfter('ready', 'publish'),
      statusAfter('published', 'publish'),
      statusAfter('failed', 'publish'),
    ],
    ['published', 'ready', 'failed', null, 'published', 'published', null],
  )
  t.end()
})

t.test('a version that is being processed, or has failed, cannot be published', async (t) => {
  const { clock, firstId, publish, publisher, read, store } = await setUp()
  const before = await read()
  t.match(await refusalOf(publish(firstId)), { kind: 'version_not_ready', message: /`processing`/ })
  for (let attempt = 1; attempt <= 5; attempt++) {
    const now = new Date(clock()).toISOString()
    await store.versions.claim({ now, until: now, horizon: now, afterTenantId: '', max: 1 })
  }
  t.strictSame(await read(), before)
  await publisher(null)()
  t.match(await read(), { publishedVersion: null, latestVersion: { status: 'failed' } })
  t.match(await refusalOf(publish(firstId)), { kind: 'version_not_ready', message: /`failed`/ })
})

t.test('a version to publish later is left ready, and published by hand', async (t) => {
  const { clock, firstId, publish, read, readyVersion, revision } = await published()
  const before = await revision()
  const versionId = await readyVersion({ supplementaryContext: 'Autumn', content: CONTENT })
  t.match(await read(), {
    publishedVersion: { versionId: firstId },
    latestVersion: { versionId, versionNumber: 2, status: 'ready' },
    supplementaryContext: 'The spring sale',
    computedName: 'The spring sale',
  })
  clock.advance(1_000)
  const after = await publish(versionId)
  const publishedAt = '2026-01-01T00:00:01.000Z'
  t.strictSame(after.value.publishedVersion, { versionId, versionNumber: 2, publishedAt, content: CONTENT })
  t.match(after.value, { supplementaryContext: 'Autumn', computedName: 'Autumn' })
  t.equal(after.revision, before + 3, 'it was created, it became ready, it was published')
})

t.test('publishing an older version is the rollback', async (t) => {
  const { clock, firstId, publish, readyVersion, versions } = await published()
  const versionId = await readyVersion({ supplementaryContext: 'Autumn' })
  await publish(versionId)
  clock.advance(2_000)
  const { value: page } = await publish(firstId)
  t.match(page, {
    publishedVersion: { versionId: firstId, publishedAt: '2026-01-01T00:00:02.000Z' },
    latestVersion: { versionId, status: 'published' },
    computedName: 'The spring sale',
    supplementaryContext: 'The spring sale',
  })
  t.notOk('content' in Object(page.publishedVersion))
  t.strictSame(
    (await versions()).map(({ status, publishedAt }) => [status, publishedAt]),
    [
      ['published', '2026-01-01T00:00:00.000Z'],
      ['published', '2026-01-01T00:00:02.000Z'],
    ],
  )
})

t.test(
  'publishing what is published, unpublishing what is not, and the same name change nothing',
  async (t) => {
    const { clock, firstId, publish, rename, unpublish } = await published()
    const before = await rename('Mine')
    clock.advance(1_000)
    t.strictSame(await publish(firstId), before)
    t.strictSame(await rename('Mine'), before)
    const without = await unpublish()
    t.match(without, { value: { publishedVersion: null }, revision: before.revision + 1 })
    t.strictSame(await unpublish(), without)
  },
)

t.test('an unpublished page can be published again', async (t) => {
  const { firstId, publish, unpublish } = await published()
  await unpublish()
  t.match(await publish(firstId), { value: { publishedVersion: { versionId: firstId } } })
})

t.test('without a published version a page has the name and the context of its newest', async (t) => {
  const { newVersion, publisher, read, unpublish } = await setUp()
  await newVersion({ supplementaryContext: 'Autumn' })
  t.match(await read(), { computedName: 'Autumn', supplementaryContext: 'Autumn', publishedVersion: null })
  await publisher(async ({ supplementaryContext }) => `Name of ${supplementaryContext}`)()
  t.match(await read(), { computedName: 'Name of The spring sale', publishedVersion: { versionNumber: 1 } })
  t.match(await unpublish(), { value: { computedName: 'Name of Autumn', supplementaryContext: 'Autumn' } })
})

t.test('what a new version leaves out is as in the newest one, and null clears it', async (t) => {
  const { createPage, group, newVersion, version } = await published({ content: CONTENT })
  await createPage({ tenantId: group.tenantId, pageGroupId: group.pageGroupId })
  const made = async (fields: Partial<VersionToCreate>) => version((await newVersion(fields)).value.versionId)
  const spring = { supplementaryContext: 'The spring sale', computedName: 'The spring sale' }
  const autumn = { supplementaryContext: 'Autumn', computedName: 'Autumn' }
  t.match(await made({}), { versionNumber: 2, status: 'processing', ...spring, content: CONTENT })
  t.match(await made({ supplementaryContext: 'Autumn' }), { versionNumber: 3, ...autumn, content: CONTENT })
  t.match(await made({ content: OTHER_CONTENT }), { ...autumn, content: OTHER_CONTENT })
  t.match(await made({ content: null }), { ...autumn, content: null })
  t.match(await made({}), { ...autumn, content: null }, 'the newest one, not the published one')
  t.match(await made({ supplementaryContext: null }), {
    supplementaryContext: null,
    computedName: 'Offers 1', // the number of the page, not of the version
  })
  t.match(await made({ supplementaryContext: ' ' }), { supplementaryContext: ' ', computedName: 'Offers 1' })
})

t.test('a version that is requested again is answered as the first time, and made once', async (t) => {
  const { clock, group, newVersion, updateGroup, versions } = await published()
  const keyed = { idempotencyKey: 'k', supplementaryContext: 'Autumn', content: CONTENT }
  const { value: version, replayed } = await newVersion(keyed)
  t.strictSame([version.versionNumber, version.status, replayed], [2, 'processing', false])
  clock.advance(1_000)
  await newVersion()
  await updateGroup(group.pageGroupId, { status: 'archived' })
  t.strictSame(await newVersion(keyed), { value: version, replayed: true }, 'also in a group archived since')
  const others = [
    { publish: true },
    { supplementaryContext: undefined },
    { supplementaryContext: null },
    { content: undefined },
    { content: null },
    { content: OTHER_CONTENT },
  ]
  for (const other of others) {
    const { kind, facts } = await refusalOf(newVersion({ ...keyed, ...other } as Partial<VersionToCreate>))
    t.strictSame([kind, facts], ['idempotency_key_reused', { versionId: version.versionId }])
  }
  t.equal((await versions()).length, 3)
})

t.test('a version requested fifty times at once is one version', async (t) => {
  const { newVersion, versions } = await published()
  const all = await Promise.all(Array.from({ length: 50 }, () => newVersion({ idempotencyKey: 'k' })))
  t.equal(all.filter(({ replayed }) => !replayed).length, 1)
  t.equal(new Set(all.map(({ value }) => JSON.stringify(value))).size, 1)
  t.equal((await versions()).length, 2)
})

t.test('an idempotency key counts for one page', async (t) => {
  const { createPage, group, newVersion } = await published()
  const { value: page } = await createPage(group)
  t.equal((await newVersion({ idempotencyKey: 'k' })).replayed, false)
  t.equal((await newVersion({ idempotencyKey: 'k', pageId: page.pageId })).replayed, false)
})

t.test('a page group that is requested again is created once', async (t) => {
  const world = await scene()
  const { tenantId, strangerId } = world
  const create = createPageGroup(world)
  const keyed = { tenantId, name: 'offers', title: 'Offers', pageContext: 'x', idempotencyKey: 'k' }
  const first = await create(keyed)
  t.strictSame(await create(keyed), { ...first, replayed: true })
  const reordered = { idempotencyKey: 'k', pageContext: 'x', title: 'Offers', name: 'offers', tenantId }
  t.strictSame(await create(reordered), { ...first, replayed: true })
  const { pageGroupId } = first.value
  world.clock.advance(1_000)
  await world.updateGroup(pageGroupId, { title: 'Changed' })
  t.strictSame(await create(keyed), { ...first, replayed: true }, 'also after a change')
  await deletePageGroup(world)({ tenantId, pageGroupId })
  t.strictSame(await create(keyed), { ...first, replayed: true }, 'and after it was deleted')
  for (const other of [{ title: 'Sales' }, { pageContext: null }, { actions: { rawJson: '[1]' } }])
    t.match(await refusalOf(create({ ...keyed, ...other })), {
      kind: 'idempotency_key_reused',
      facts: { pageGroupId },
    })
  t.equal((await create({ ...keyed, tenantId: strangerId })).replayed, false, 'it counts for one tenant')
  t.equal((await world.listGroups({ tenantId, limit: 20 })).items.length, 0)
})

/** The same, with as many versions as a page can have, the last of them the only one that waits for a publisher. */
const full = async () => {
  const world = await published()
  for (let i = 0; i < 998; i++) await world.newVersion()
  await world.publisher(null)()
  await world.newVersion({ idempotencyKey: 'k' })
  const numbers = async () => {
    const found = await world.store.versions.list({ ...world.want, beforeId: null, limit: 2_000 })
    return found.map(({ versionNumber }) => versionNumber).reverse()
  }
  return { ...world, numbers }
}

t.test('the 1,001st version drops the oldest that nothing needs, and numbers keep rising', async (t) => {
  const { clock, newVersion, numbers, publish, read, schedule, store, want } = await full()
  const all = await numbers()
  t.strictSame([all.length, all[0], all.at(-1)], [1_000, 1, 1_000])
  const second = (await store.versions.list({ ...want, beforeId: null, limit: 2_000 })).at(-2)
  const publishAt = new Date(clock() + 3_600_000).toISOString()
  await schedule(`${second?.versionId}`, publishAt)
  t.equal((await newVersion()).value.versionNumber, 1_001)
  t.equal((await newVersion()).value.versionNumber, 1_002)
  const kept = await numbers()
  t.strictSame([kept.length, ...kept.slice(0, 3), kept.at(-1)], [1_000, 1, 2, 5, 1_002])
  t.match(await read(), { publishedVersion: { versionNumber: 1 }, latestVersion: { versionNumber: 1_002 } })
  const fifth = (await store.versions.list({ ...want, beforeId: null, limit: 2_000 })).at(-3)
  await publish(`${fifth?.versionId}`)
  await newVersion()
  t.strictSame((await numbers()).slice(0, 3), [2, 5, 6], 'the first one is no longer published')
})

t.test('a full page answers a replay, and a refused version drops nothing', async (t) => {
  const { group, newVersion, numbers, updateGroup } = await full()
  const before = await numbers()
  t.match(await newVersion({ idempotencyKey: 'k' }), { value: { versionNumber: 1_000 }, replayed: true })
  t.match(await refusalOf(newVersion({ ifRevision: [1] })), { kind: 'precondition_failed' })
  t.match(await refusalOf(newVersion({ publish: false, publishAt: '2026-02-01T00:00:00.000Z' })), {
    kind: 'invalid_request',
  })
  await updateGroup(group.pageGroupId, { status: 'archived' })
  t.match(await refusalOf(newVersion()), { kind: 'page_group_not_active' })
  t.strictSame(await numbers(), before)
})

t.test('a page whose 1,000 versions are all in use takes no other one', async (t) => {
  const { newVersion, publisher, versions } = await published()
  for (let i = 0; i < 999; i++) await newVersion()
  const message = /1,000 versions.*published, scheduled or processing/
  t.match(await refusalOf(newVersion()), { kind: 'limit_reached', message })
  await publisher(null)()
  t.equal((await newVersion()).value.versionNumber, 1_001)
  t.equal((await versions())[0]?.versionNumber, 1_001)
})

t.test('an archived group can be read, unpublished and emptied, but nothing new comes about', async (t) => {
  const world = await published()
  const { createPage, firstId, group, newVersion, publish, read, readyVersion, remove, rename } = world
  const versionId = await readyVersion()
  await world.updateGroup(group.pageGroupId, { status: 'archived' })
  const before = await read()
  for (const call of [() => publish(versionId), () => newVersion(), () => createPage(group)])
    t.equal((await refusalOf(call())).kind, 'page_group_not_active')
  t.strictSame(await read(), before)
  t.equal((await world.versions()).length, 2)
  t.match(await world.version(versionId), { status: 'ready' })
  t.match(await rename('Mine'), { value: { effectiveName: 'Mine' } })
  t.match(await world.unpublish(), { value: { publishedVersion: null } })
  t.equal((await refusalOf(publish(firstId))).kind, 'page_group_not_active')
  await remove()
  t.match(await getPageGroup(world)(group), { value: { status: 'archived', pagesCount: 0 } })
})

t.test('of a deleted group, and of a stranger’s, nothing is found', async (t) => {
  const world = await published()
  const { group, want, strangerId, tenantId, firstId } = world
  const callsAs = (tenantId: string) => {
    const named: PageKey = { ...want, tenantId }
    return [
      () => listVersions(world)({ ...named, limit: 20 }),
      () => getVersion(world)({ ...named, versionId: firstId }),
      () => createVersion(world)({ ...named, publish: true }),
      () => publishVersion(world)({ ...named, versionId: firstId }),
      () => unpublishPage(world)(named),
      () => updatePage(world)({ ...named, customName: 'Mine' }),
      () => deletePage(world)(named),
      () => getPageGroup(world)(named),
      () => updatePageGroup(world)({ tenantId, pageGroupId: group.pageGroupId, title: 'Theirs' }),
      () => deletePageGroup(world)(named),
    ]
  }
  for (const call of callsAs(strangerId)) t.equal((await refusalOf(call())).kind, 'page_group_not_found')
  await deletePageGroup(world)(group)
  for (const call of callsAs(tenantId)) t.equal((await refusalOf(call())).kind, 'page_group_not_found')
})

t.test('unknown pages and versions are not found', async (t) => {
  const world = await published()
  const { createPage, group, want, publish, firstId } = world
  const unknown = { ...want, pageId: idOf('page', 99_999) }
  for (const call of [
    () => listVersions(world)({ ...unknown, limit: 20 }),
    () => getVersion(world)({ ...unknown, versionId: firstId }),
    () => createVersion(world)({ ...unknown, publish: true }),
    () => publishVersion(world)({ ...unknown, versionId: firstId }),
    () => unpublishPage(world)(unknown),
    () => updatePage(world)({ ...unknown, customName: 'Mine' }),
    () => deletePage(world)(unknown),
  ])
    t.equal((await refusalOf(call())).kind, 'page_not_found')
  const { value: other } = await createPage(group)
  const [others] = (await listVersions(world)({ ...want, pageId: other.pageId, limit: 1 })).value.items
  for (const versionId of [idOf('pageversion', 99_999), 'not an id', String(others?.versionId)]) {
    t.equal((await refusalOf(publish(versionId))).kind, 'version_not_found')
    t.equal((await refusalOf(world.version(versionId))).kind, 'version_not_found')
  }
})

t.test('a change for another revision is refused with the present one, and changes nothing', async (t) => {
  const world = await published()
  const { firstId, group, newVersion, publish, read, rename, remove, revision, unpublish } = world
  const present = await revision()
  const before = await read()
  const stale = [present - 1, present + 1]
  const calls = [
    () => rename('Mine', stale),
    () => publish(firstId, stale),
    () => unpublish(stale),
    () => newVersion({ ifRevision: stale }),
    () => remove([]),
  ]
  for (const call of calls) {
    const { kind, facts } = await refusalOf(call())
    t.strictSame([kind, facts], ['precondition_failed', { revision: present }])
  }
  t.strictSame(await read(), before)
  t.equal((await rename('Mine', [...stale, present])).revision, present + 1)
  await remove([present + 1])

  const { revision: groupRevision } = await getPageGroup(world)(group)
  t.equal(groupRevision, 3, 'a page came, and went')
  const { tenantId, pageGroupId } = group
  for (const call of [
    () => updatePageGroup(world)({ tenantId, pageGroupId, title: 'Sales', ifRevision: [2] }),
    () => deletePageGroup(world)({ tenantId, pageGroupId, ifRevision: [2] }),
  ]) {
    const { kind, facts } = await refusalOf(call())
    t.strictSame([kind, facts], ['precondition_failed', { revision: 3 }])
  }
  await deletePageGroup(world)({ tenantId, pageGroupId, ifRevision: [3] })
})

t.test('without a revision the last writer of a field wins, and others keep theirs', async (t) => {
  const world = await published()
  const { firstId, group, read, readyVersion, rename, unpublish, publish } = world
  const versionId = await readyVersion()
  await Promise.all([rename('Mine'), publish(versionId), unpublish(), rename('Yours'), publish(firstId)])
  const page = await read()
  t.ok(['Mine', 'Yours'].includes(String(page.customName)))
  t.equal((await updatePage(world)({ ...world.want, customName: null })).value.customName, null)
  const { tenantId, pageGroupId } = group
  const change = (fields: object) => updatePageGroup(world)({ tenantId, pageGroupId, ...fields })
  await Promise.all([change({ name: 'n' }), change({ title: 't' }), change({ headerActionId: 'h' })])
  t.match(await getPageGroup(world)(group), { value: { name: 'n', title: 't', headerActionId: 'h' } })
})

/** A namer that answers for a context when it is told to. */
const slowNamer = () => {
  const waiting = new Map<string, (name: string) => void>()
  const namer: PatientNamer = ({ supplementaryContext }) =>
    new Promise((resolve) => waiting.set(String(supplementaryContext), resolve))
  return { namer, answer: (context: string, name: string) => waiting.get(context)?.(name) }
}

t.test(
  'a publisher that ends after a newer version was published by hand leaves its own ready',
  async (t) => {
    const { clock, firstId, publish, publisher, read, readyVersion, version } = await setUp()
    const { namer, answer } = slowNamer()
    const working = publisher(namer)()
    await new Promise(setImmediate)
    const newest = await readyVersion({ supplementaryContext: 'Autumn' })
    await publish(newest)
    const before = await read()
    clock.advance(1_000)
    answer('The spring sale', 'Spring')
    await working
    t.strictSame(await read(), before)
    t.match(await version(firstId), { status: 'ready', computedName: 'Spring', publishedAt: null })
    t.match(await publish(firstId), {
      value: { computedName: 'Spring', publishedVersion: { versionNumber: 1 } },
    })
  },
)

t.test('a version requested before somebody published or unpublished becomes ready', async (t) => {
  for (const by of ['rollback', 'publishing what is published', 'unpublishing']) {
    const { firstId, newVersion, publish, publisher, read, readyVersion, unpublish, version } =
      await published()
    if (by === 'rollback') await publish(await readyVersion())
    const { versionId } = (await newVersion({ publish: true })).value
    await newVersion()
    const act = by === 'unpublishing' ? unpublish : () => publish(firstId)
    const after = await act()
    t.strictSame((await act()).revision, after.revision, 'done again it changes nothing')
    await publisher(null)()
    t.equal((await version(versionId)).status, 'ready', by)
    t.strictSame((await read()).publishedVersion, after.value.publishedVersion)
    const { value: later } = await newVersion({ publish: true })
    await publisher(null)()
    t.equal((await read()).publishedVersion?.versionId, later.versionId, 'a later one is published')
  }
})

t.test('a page that was unpublished before its first version was done stays unpublished', async (t) => {
  const { publisher, read, unpublish } = await setUp()
  await unpublish()
  await publisher(null)()
  t.match(await read(), { publishedVersion: null, latestVersion: { status: 'ready' } })
})

t.test(
  'several versions of a page are published in the order in which they end, but only forwards',
  async (t) => {
    const { newVersion, publisher, read, versions } = await setUp()
    await newVersion({ supplementaryContext: 'Summer', publish: true })
    await newVersion({ supplementaryContext: 'Autumn', publish: true })
    const { namer, answer } = slowNamer()
    const working = publisher(namer)()
    await new Promise(setImmediate)
    for (const [context, number] of [
      ['Summer', 2],
      ['The spring sale', 2],
      ['Autumn', 3],
    ] as const) {
      answer(context, `Name of ${context}`)
      await new Promise(setImmediate)
      t.equal((await read()).publishedVersion?.versionNumber, number)
    }
    await working
    t.strictSame(
      (await versions()).map(({ status }) => status),
      ['published', 'published', 'ready'],
    )
  },
)

t.test('the event of a change names a version only if it was published', async (t) => {
  const { readyVersion, store, want, ...world } = await published()
  const versionId = await readyVersion()
  const events: unknown[] = []
  const change: typeof store.pages.change = (changed, saved) => {
    for (const { type, ids } of saved ?? []) events.push({ type, ids })
    return store.pages.change(changed, saved)
  }
  const deps = { ...world, store: { ...store, pages: { ...store.pages, change } } }
  await updatePage(deps)({ ...want, customName: 'Mine' })
  await publishVersion(deps)({ ...want, versionId })
  await unpublishPage(deps)(want)
  const { tenantId, ...ids } = want
  t.strictSame(events, [
    { type: 'page.updated', ids },
    { type: 'page_version.published', ids: { ...ids, versionId } },
    { type: 'page.unpublished', ids },
  ])
})

t.test('a page that is deleted while its publisher works stays deleted', async (t) => {
  const { group, publisher, read, remove, ...world } = await setUp()
  const { namer, answer } = slowNamer()
  const working = publisher(namer)()
  await new Promise(setImmediate)
  await remove()
  answer('The spring sale', 'Spring')
  await working
  t.equal((await refusalOf(read())).kind, 'page_not_found')
  t.equal((await refusalOf(remove())).kind, 'page_not_found')
  t.match(await getPageGroup(world)(group), { value: { pagesCount: 0 }, revision: 3 })
})
