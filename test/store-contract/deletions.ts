import type { NewEvent, Store } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { outboxOf } from './outbox.ts'
import { at, someGroup, somePage } from './rows.ts'
import { stoppedClock } from './setting.ts'

const NEVER = new AbortController().signal
/** More than two slices. */
const MANY = 1_100

/** A tenant with an endpoint, whose page groups are deleted. */
const settingOf = async ({ core, store }: Subject) => {
  const clock = stoppedClock()
  const outbox = await outboxOf(store)
  await outbox.addEndpoint()
  const { tenantId } = outbox
  const newId = core.createNewId()
  const process = (by: Store = store) => ({ store: by, clock, newId })

  const publish = async () => {
    const step = core.publishVersions({ ...process(), namer: null, claimMax: 200, leaseMs: 60_000 })
    while (await step(NEVER));
  }
  /** Every other page is published. */
  const groupWith = async (count: number) => {
    const group = someGroup(outbox.tenant)
    await store.pageGroups.add(group)
    const rows = Array.from({ length: count }, (_, i) => somePage(group, { publish: i % 2 === 0 }))
    await Promise.all(rows.map((page) => store.pages.record(page)))
    await publish()
    const published = rows.flatMap(({ pageId, publish }) => (publish ? [pageId] : []))
    return { key: { tenantId, pageGroupId: group.pageGroupId }, pages: rows, published }
  }
  const errors: unknown[] = []
  const stepBy = (by: Store = store) =>
    core.unpublishDeleted({ ...process(by), onError: (error) => void errors.push(error) })
  /** Completes all deletions. */
  const run = async (by: Store = store) => {
    const step = stepBy(by)
    for (;;) {
      await step(NEVER)
      if ((await store.deletions.waiting('', 100)).length === 0) break
    }
    same(errors, [])
  }
  let last = 0
  /** The events since the last call, as their type and page. */
  const happened = async () => {
    while ((await outbox.number(1_000)) > 0);
    const events = await outbox.read(last, 5_000)
    last += events.length
    return events.map(({ type, ids, apiKeyId }) => ({ type, ids, apiKeyId }))
  }
  const unpublishedIn = (events: Awaited<ReturnType<typeof happened>>) =>
    events.flatMap(({ type, ids }) => (type === 'page.unpublished' ? [String(ids.pageId)] : []))
  const remove = core.deletePageGroup(process())
  return { clock, outbox, groupWith, publish, stepBy, run, happened, unpublishedIn, remove, process, errors }
}

export const deletions = section('deletions', settingOf, {
  'of a deleted group each published page is unpublished, then it is deleted': async (scene) => {
    const { key, published } = await scene.groupWith(5)
    const other = await scene.groupWith(2)
    await scene.happened()
    await scene.remove({ ...key, apiKeyId: 'apikey_1' })
    same(await scene.happened(), [])
    await scene.run()
    const { pageGroupId } = key
    same(await scene.happened(), [
      ...published.map((pageId) => ({
        type: 'page.unpublished',
        ids: { pageGroupId, pageId },
        apiKeyId: 'apikey_1',
      })),
      { type: 'page_group.deleted', ids: { pageGroupId }, apiKeyId: 'apikey_1' },
    ])
    await scene.run()
    same(await scene.happened(), [])
    same(await scene.store.deletions.next(key.tenantId), null)
    await scene.remove(other.key)
    await scene.run()
    same(scene.unpublishedIn(await scene.happened()), other.published)
  },

  'a group is gone for readers from the first moment, with its pages': async ({ core, store, ...scene }) => {
    const { key, pages } = await scene.groupWith(3)
    const [page] = pages
    await scene.remove(key)
    equal((await store.pageGroups.find(key))?.status, 'deleted')
    for (let round = 0; round < 2; round++) {
      equal(await store.pages.list({ ...key, beforeId: null, limit: 10 }), null)
      equal(await store.pages.find({ ...key, pageId: String(page?.pageId) }), 'page_group_not_found')
      await scene.run()
    }
    const again = await scene.remove(key).catch((error) => error.kind)
    equal(again, 'page_group_not_found')
  },

  'the list of published pages reads no page of a group whose deletion is completed': async ({
    store,
    ...scene
  }) => {
    const { key } = await scene.groupWith(3)
    const kept = await scene.groupWith(1)
    await scene.remove(key)
    await scene.run()
    const rows = await store.pages.listPublished({
      tenantId: key.tenantId,
      limit: 10,
      publishedAfter: null,
      before: null,
    })
    same(
      rows.map(({ pageId }) => pageId),
      kept.published,
    )
  },

  'a group without pages is deleted with one event': async (scene) => {
    const { key } = await scene.groupWith(0)
    await scene.remove(key)
    await scene.run()
    same(
      (await scene.happened()).map(({ type }) => type),
      ['page_group.deleted'],
    )
  },

  'a deletion that is killed in the middle goes on there: no event twice, and none missing': async (
    scene,
  ) => {
    const { key, published } = await scene.groupWith(MANY)
    await scene.happened()
    await scene.remove(key)
    // One process is killed after its first slice, the next one before its slice is saved.
    const { store } = scene
    const step = scene.stepBy()
    let first = await store.deletions.next(key.tenantId)
    // On a database that others write to, a step waits until their earlier writes have ended.
    while (first?.afterPageId === '') {
      await step(NEVER)
      first = await store.deletions.next(key.tenantId)
    }
    const dying = { ...store.deletions, record: () => Promise.reject(new Error('killed')) }
    await scene.stepBy({ ...store, deletions: dying })(NEVER)
    scene.errors.length = 0
    same(await store.deletions.next(key.tenantId), first)
    await scene.run()
    const events = await scene.happened()
    same(scene.unpublishedIn(events), published)
    equal(events.at(-1)?.type, 'page_group.deleted')
    equal(events.length, published.length + 1)
  },

  'several processes at once make each event once': async ({ another, ...scene }) => {
    const { key, published } = await scene.groupWith(MANY)
    await scene.happened()
    await scene.remove(key)
    await Promise.all([scene.run(), scene.run(await another()), scene.run()])
    const events = await scene.happened()
    same(scene.unpublishedIn(events), published)
    equal(events.filter(({ type }) => type === 'page_group.deleted').length, 1)
  },

  'a version that was being named when its group was deleted is not published': async (scene) => {
    const { store, clock } = scene
    const { key } = await scene.groupWith(0)
    const group = await store.pageGroups.find(key)
    const page = somePage(group as NonNullable<typeof group>)
    await store.pages.record(page)
    await scene.remove(key)
    clock.advance(1_000)
    await scene.publish()
    await scene.run()
    const types = (await scene.happened()).map(({ type }) => type)
    same(
      types.filter((type) => type === 'page_version.published' || type === 'page.unpublished'),
      [],
    )
  },

  'nothing of a suspended tenant is unpublished until it is resumed': async ({ store, ...scene }) => {
    const { key, published } = await scene.groupWith(3)
    await scene.happened()
    await scene.remove(key)
    await store.tenants.setState(key.tenantId, { suspendedAt: at(1), deletedAt: null })
    same((await store.deletions.waiting('', 100)).includes(key.tenantId), false)
    await store.tenants.setState(key.tenantId, { suspendedAt: null, deletedAt: null })
    await scene.run()
    same(scene.unpublishedIn(await scene.happened()), published)
  },

  'of two deletions of one group, or of one for an older revision, one is saved': async ({
    store,
    ...scene
  }) => {
    const { key } = await scene.groupWith(1)
    const group = await store.pageGroups.find(key)
    const { updatedAt = '', revision = 0 } = group ?? {}
    const deletion = { ...key, apiKeyId: null, deletedAt: at(9) }
    equal(await store.deletions.begin(deletion, updatedAt, revision + 1), 'overtaken')
    equal(await store.deletions.begin(deletion, at(5)), 'overtaken')
    const both = await Promise.all([
      store.deletions.begin(deletion, updatedAt, revision),
      store.deletions.begin(deletion, updatedAt),
    ])
    same(both.sort(), ['overtaken', 'recorded'])
    const found = await store.pageGroups.find(key)
    same([found?.status, found?.deletedAt, found?.revision], ['deleted', at(9), revision + 1])
    const next = await store.deletions.next(key.tenantId)
    same(next, { ...key, apiKeyId: null, afterPageId: '', afterEventId: '' })
    const stale = { ...key, apiKeyId: null, afterPageId: 'page_x', afterEventId: '' }
    const events: NewEvent[] = []
    equal(await store.deletions.record(stale, null, events), 'overtaken')
  },
})
