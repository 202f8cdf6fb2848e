import type {
  ClaimedVersion,
  NewPageRow,
  NewVersionRow,
  PageChange,
  PublishedPagesQuery,
  Settlement,
  Store,
  StoredPageWithVersions,
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
  someClaim,
  someGroup,
  somePage,
  someVersion,
} from './rows.ts'

const EVERY_PUBLISHED = { publishedAfter: null, before: null, limit: 100 }
const CONTENT = { rawJson: '{ "a":1.0, "b": [ ],"a":"\\u00e9" }' }

export const pageChanges = section(
  'page changes',
  async ({ store }) => {
    const { pages, pageGroups, versions } = store
    const group = someGroup(await addTenant(store))
    await pageGroups.add(group)
    const { tenantId, pageGroupId } = group
    const added = async (fields: Partial<NewPageRow> = {}) => {
      const page = somePage(group, fields)
      await pages.record(page)
      return { tenantId, pageGroupId, pageId: page.pageId, versionId: page.versionId }
    }
    const read = async (want: PageName) => {
      const page = await pages.find(want)
      return page as StoredPageWithVersions
    }
    /** As it is, with these fields changed, at its present revision. */
    const change = async (want: PageName, fields: Partial<PageChange>) => {
      const page = await read(want)
      const { tenantId, pageGroupId, pageId, slug, customName, computedName, revision } = page
      return pages.change({
        tenantId,
        pageGroupId,
        pageId,
        slug,
        customName,
        computedName,
        revision,
        publishedVersionId: page.published?.versionId ?? null,
        automaticAfter: page.automaticAfter,
        unpublishAt: page.unpublishAt,
        updatedAt: at(7),
        added: null,
        dropped: null,
        publishes: false,
        schedule: null,
        ...fields,
      })
    }
    const addVersion = async (want: PageName, fields: Partial<NewVersionRow> = {}) => {
      const { latest } = await read(want)
      const version = someVersion({ versionNumber: latest.versionNumber + 1, ...fields })
      equal(await change(want, { added: version }), 'recorded')
      return version
    }
    const revise = (fields: Partial<typeof group>, lastUpdatedAt: string) =>
      pageGroups.change({ ...group, updatedAt: at(50), ...fields }, lastUpdatedAt)
    const publish = async (want: PageName, versionId: string, publishedAt: string) =>
      equal(
        await change(want, { publishes: true, publishedVersionId: versionId, updatedAt: publishedAt }),
        'recorded',
      )
    /** The published pages of the tenant, by their ids. */
    const published = async (query: Partial<PublishedPagesQuery> = {}) => {
      const all = { tenantId, publishedAfter: null, before: null, limit: 100 }
      const rows = await pages.listPublished({ ...all, ...query })
      return rows.map(({ pageId }) => pageId)
    }
    const listed = async (want: PageName, { beforeId = null as string | null, limit = 10 } = {}) =>
      await versions.list({ ...want, beforeId, limit })
    return {
      pages,
      pageGroups,
      versions,
      group,
      added,
      read,
      change,
      addVersion,
      publish,
      published,
      revise,
      listed,
    }
  },
  {
    'a change is saved and raises the revision; one for an older revision saves nothing': async (scene) => {
      const { added, read, change } = scene
      const page = await added()
      like(await read(page), { revision: 1, customName: null })
      equal(await change(page, { customName: 'Mine' }), 'recorded')
      const changed = await read(page)
      like(changed, { revision: 2, customName: 'Mine', updatedAt: at(7), computedName: 'Offers 1' })
      equal(await change(page, { customName: 'Late', revision: 1 }), 'overtaken')
      same(await read(page), changed)
    },

    'the published pages of all groups are listed with their version, those published last first': async (
      scene,
    ) => {
      const { pages, pageGroups, group, added, addVersion, publish } = scene
      const sibling = someGroup(group)
      await pageGroups.add(sibling)
      const first = await added({ content: CONTENT, slug: 'sale', customName: 'Mine' })
      const draft = await added()
      const second = somePage(sibling)
      await pages.record(second)
      const newer = await addVersion(first)
      await publish(second, second.versionId, at(20))
      await publish(first, first.versionId, at(30))
      const listed = await pages.listPublished({ ...EVERY_PUBLISHED, tenantId: group.tenantId })
      like(listed, [
        { pageId: first.pageId, pageGroupId: group.pageGroupId, slug: 'sale', customName: 'Mine' },
        { pageId: second.pageId, pageGroupId: sibling.pageGroupId, slug: null, customName: null },
      ])
      like(listed, [
        { versionId: first.versionId, versionNumber: 1, publishedAt: at(30), content: CONTENT },
        { versionId: second.versionId, versionNumber: 1, publishedAt: at(20), content: null },
      ])
      equal(listed.length, 2, `neither the draft ${draft.pageId} nor the version ${newer.versionId}`)
      like(listed, [{ groupStatus: 'active' }, { groupStatus: 'active' }])
    },

    'a list of a group and the list of published pages say when each page was last published': async (
      scene,
    ) => {
      const { pages, group, added, addVersion, publish, published, change } = scene
      const query = { tenantId: group.tenantId, pageGroupId: group.pageGroupId, beforeId: null, limit: 10 }
      const publishedAt = async () => (await pages.list(query))?.map((page) => page.publishedAt)
      const page = await added()
      const second = await addVersion(page)
      same(await publishedAt(), [null])
      await publish(page, second.versionId, at(20))
      same(await publishedAt(), [at(20)])
      await change(page, { customName: 'Mine' })
      same(await publishedAt(), [at(20)])
      await publish(page, page.versionId, at(30))
      same(await publishedAt(), [at(30)])
      await change(page, { publishedVersionId: null })
      same(await publishedAt(), [null])
      same(await published(), [])
    },

    'the list of published pages goes on after a page, also among those published at once, and back to a time':
      async (scene) => {
        const { added, publish, published } = scene
        const [a, b, c, d] = [await added(), await added(), await added(), await added()]
        for (const page of [c, a, b]) await publish(page, page.versionId, at(20))
        await publish(d, d.versionId, at(10))
        const all = [c, b, a, d].map(({ pageId }) => pageId)
        same(await published(), all)
        same(await published({ limit: 1 }), all.slice(0, 2))
        for (const [i, pageId] of all.entries()) {
          const publishedAt = pageId === d.pageId ? at(10) : at(20)
          same(await published({ before: { publishedAt, pageId } }), all.slice(i + 1))
        }
        same(await published({ publishedAfter: at(10) }), all.slice(0, 3))
        same(await published({ publishedAfter: at(20) }), [])
        same(await published({ publishedAfter: at(9), before: { publishedAt: at(20), pageId: a.pageId } }), [
          d.pageId,
        ])
      },

    'the list of published pages ends once the contents of all its rows but the last fill a slice': async (
      scene,
    ) => {
      const { added, publish, published } = scene
      const content = { rawJson: JSON.stringify({ text: 'x'.repeat(400_000) }) }
      const pageIds: string[] = []
      for (let i = 0; i < 6; i++) {
        const page = await added({ content })
        await publish(page, page.versionId, at(20))
        pageIds.unshift(page.pageId)
      }
      same(await published(), pageIds.slice(0, 4))
    },

    'a deleted page is no longer among the published ones; one of a group that is not active says so': async (
      scene,
    ) => {
      const { pages, group, added, read, publish, published, revise } = scene
      const page = await added()
      const gone = await added()
      for (const { versionId, ...name } of [page, gone]) await publish(name as PageName, versionId, at(20))
      await pages.remove({ ...gone, revision: (await read(gone)).revision })
      same(await published(), [page.pageId])
      await revise({ status: 'archived' }, group.updatedAt)
      like(await pages.listPublished({ ...EVERY_PUBLISHED, tenantId: group.tenantId }), [
        { groupStatus: 'archived' },
      ])
    },

    'of many concurrent changes of one revision exactly one is saved': async ({ added, change, read }) => {
      const page = await added()
      const changes = Array.from({ length: 50 }, (_, i) => change(page, { customName: `${i}`, revision: 1 }))
      const saved = (await Promise.all(changes)).filter((recorded) => recorded === 'recorded')
      equal(saved.length, 1)
      equal((await read(page)).revision, 2)
    },

    'a version is dropped with the change that names it, or not at all': async (scene) => {
      const { added, addVersion, change, listed, read, versions } = scene
      const page = await added()
      const other = await added()
      await addVersion(page, { idempotencyKey: 'one', requestHash: 'hash' })
      const [second] = await listed(page)
      const third = someVersion({ versionNumber: 3 })
      const dropped = `${second?.versionId}`
      equal(await change(page, { added: third, dropped, revision: 1 }), 'overtaken')
      equal(await change(other, { dropped }), 'recorded')
      equal((await listed(page)).length, 2)
      equal(await change(page, { added: third, dropped }), 'recorded')
      same(
        (await listed(page)).map(({ versionNumber }) => versionNumber),
        [3, 1],
      )
      equal(await versions.find({ ...page, versionId: dropped }), null)
      equal(await versions.findByKey({ ...page, idempotencyKey: 'one' }), null)
      equal((await read(page)).latest.versionId, third.versionId)
    },

    'versions are counted, with the oldest that nothing needs': async (scene) => {
      const { store, added, addVersion, change, group, revise, versions } = scene
      const page = await added()
      await added()
      same(await versions.tally(page), { count: 1, oldestSpare: null })
      // Other versions may wait, too.
      const claimed = (await store.versions.claim(someClaim())).find(
        ({ versionId }) => versionId === page.versionId,
      )
      const settled = { status: 'published', at: at(1), computedName: null } as const
      const { tenantId } = page
      await versions.settle(tenantId, [{ ...(claimed as ClaimedVersion), ...settled } as Settlement])
      const second = await addVersion(page, { publish: false })
      same(await versions.tally(page), { count: 2, oldestSpare: null })
      await change(page, { publishedVersionId: null })
      same(await versions.tally(page), { count: 2, oldestSpare: page.versionId })
      const schedule = { versionId: page.versionId, publishAt: at(99), unpublishAt: null, scheduleNote: null }
      await change(page, { schedule })
      same(await versions.tally(page), { count: 2, oldestSpare: null })
      for (const claimed of await store.versions.claim(someClaim()))
        await versions.settle(tenantId, [{ ...claimed, status: 'failed', reason: 'no namer' }])
      same(await versions.tally(page), { count: 2, oldestSpare: second.versionId })
      const nothing = { count: 0, oldestSpare: null }
      same(await versions.tally({ ...page, pageId: newId('page') }), nothing)
      same(await versions.tally({ ...page, tenantId: (await addTenant(store)).tenantId }), nothing)
      await revise({ status: 'deleted', deletedAt: at(50) }, group.updatedAt)
      same(await versions.tally(page), nothing)
    },

    'a change of a page that does not exist, and of another tenant, is overtaken': async (scene) => {
      const { store, added, change, read } = scene
      const page = await added()
      const before = await read(page)
      const { tenantId } = await addTenant(store)
      equal(await change(page, { tenantId }), 'overtaken')
      equal(await change(page, { pageId: newId('page') }), 'overtaken')
      same(await read(page), before)
    },

    'a new version is the latest one, keeps every field, and waits for a publisher': async (scene) => {
      const { added, addVersion, read, versions } = scene
      const page = await added()
      const fields = {
        supplementaryContext: 'New',
        computedName: 'New name',
        content: CONTENT,
        publish: false,
      }
      const version = await addVersion(page, fields)
      const { publish, content, idempotencyKey, requestHash, ...shown } = version
      const stored = {
        ...shown,
        status: 'processing',
        failureReason: null,
        publishedAt: null,
        unpublishAt: null,
      }
      like(await read(page), { published: null, latest: stored })
      const found = { ...stored, content }
      same(await versions.find({ ...page, versionId: version.versionId }), found)
      const claimed = await versions.claim(someClaim())
      const { tenantId, pageGroupId, pageId } = page
      const claim = {
        tenantId,
        pageGroupId,
        pageId,
        versionId: version.versionId,
        attempt: 1,
        publish: false,
        publishAt: null,
      }
      same(
        claimed.filter(({ versionId }) => versionId === version.versionId),
        [claim],
      )
      like(await versions.context({ ...page, versionId: version.versionId }), { supplementaryContext: 'New' })
    },

    'content is kept byte for byte, also of the first version': async (scene) => {
      const { added, read, versions, addVersion } = scene
      const page = await added({ content: CONTENT })
      const texts = AWKWARD_TEXTS.map((text) => ({ rawJson: JSON.stringify({ text }) }))
      const made = []
      for (const content of texts) made.push(await addVersion(page, { content }))
      const found = await readEach(
        versions.find,
        made.map(({ versionId }) => ({ ...page, versionId })),
      )
      same(
        found.map((version) => version?.content),
        texts,
      )
      like(await versions.find(page), { content: CONTENT })
      equal((await read(page)).published, null)
    },

    'versions are listed newest first, slice by slice; an unknown page has none': async (scene) => {
      const { store, added, addVersion, listed } = scene
      const page = await added({ content: CONTENT })
      await added()
      const second = await addVersion(page)
      const third = await addVersion(page)
      const ids = [third.versionId, second.versionId, page.versionId]
      same(
        (await listed(page))?.map(({ versionId }) => versionId),
        ids,
      )
      equal((await listed(page, { limit: 1 }))?.length, 2)
      same(
        (await listed(page, { beforeId: second.versionId }))?.map(({ versionId }) => versionId),
        [page.versionId],
      )
      ok((await listed(page))?.every((version) => !('content' in version)))
      same(await listed({ ...page, pageId: newId('page') }), [])
      same(await listed({ ...page, pageGroupId: newId('pagegroup') }), [])
      same(await listed({ ...page, tenantId: (await addTenant(store)).tenantId }), [])
    },

    'a version is found by its idempotency key, which no other version of the page may have': async (
      scene,
    ) => {
      const { added, addVersion, change, read, versions } = scene
      const page = await added()
      const other = await added()
      const version = await addVersion(page, keyFields('one'))
      await addVersion(other, keyFields('one'))
      const before = await read(page)
      const again = someVersion({ ...keyFields('one'), versionNumber: 3 })
      equal(await change(page, { added: again }), 'overtaken')
      same(await read(page), before)
      const { versionId, requestHash } = version
      like(await versions.findByKey({ ...page, idempotencyKey: 'one' }), { versionId, requestHash })
      same(await versions.findByKey({ ...page, idempotencyKey: 'two' }), null)
    },

    'a published version is what readers get; another one, or none, can take its place': async (scene) => {
      const { added, addVersion, change, read } = scene
      const page = await added({ content: CONTENT })
      const { versionId } = await addVersion(page, { content: null })
      const publish = (id: string | null, ms: number) =>
        change(page, { publishedVersionId: id, publishes: id !== null, updatedAt: at(ms) })
      await publish(versionId, 10)
      like((await read(page)).published, {
        versionId,
        status: 'published',
        publishedAt: at(10),
        content: null,
      })
      await publish(page.versionId, 20)
      const rolledBack = await read(page)
      like(rolledBack.published, { versionId: page.versionId, publishedAt: at(20), content: CONTENT })
      like(rolledBack.latest, { versionId, status: 'published', publishedAt: at(10) })
      await publish(null, 30)
      like(await read(page), { published: null, revision: 5, latest: { status: 'published' } })
    },

    'what needs an active group is overtaken in an archived one; the rest is not': async (scene) => {
      const { added, change, group, read, revise } = scene
      const page = await added()
      equal(await revise({ status: 'archived' }, group.updatedAt), 'recorded')
      equal(await change(page, { added: someVersion({ versionNumber: 2 }) }), 'overtaken')
      equal(await change(page, { publishedVersionId: page.versionId, publishes: true }), 'overtaken')
      equal(await change(page, { customName: 'Mine' }), 'recorded')
      like(await read(page), { customName: 'Mine', groupStatus: 'archived' })
    },

    'a removed page is gone with its versions, and its group counts one page less': async (scene) => {
      const { added, addVersion, group, pageGroups, pages, versions, listed } = scene
      const page = await added(keyFields('one'))
      const other = await added()
      const version = await addVersion(page)
      const claimed = await versions.claim(someClaim())
      equal(await pages.remove({ ...page, revision: 1 }), 'overtaken')
      equal(await pages.remove({ ...page, revision: 2, tenantId: newId('tenant') }), 'overtaken')
      equal(await pages.remove({ ...page, revision: 2 }), 'recorded')
      equal(await pages.remove({ ...page, revision: 2 }), 'overtaken')
      same(await pages.find(page), 'page_not_found')
      same(await listed(page), [])
      same(await readEach(versions.find, [page, { ...page, versionId: version.versionId }]), [null, null])
      like(await pageGroups.find(group), { pagesCount: 1 })
      const lost = claimed.filter(({ pageId }) => pageId === page.pageId).map((one) => published(one))
      same(await versions.settle(group.tenantId, lost), [])
      equal(await pages.record(somePage(group, keyFields('one'))), 'recorded')
      like(await pages.find(other), { revision: 1 })
    },

    'the pointer only moves forwards: an older version is not settled as published, but as ready': async (
      scene,
    ) => {
      const { store, added, addVersion, read } = scene
      const page = await added()
      const { versionId } = await addVersion(page)
      const [newer, older] = await claimed(store, [versionId, page.versionId])
      same(await store.versions.settle(page.tenantId, [published(newer, 'Newer')]), [versionId])
      same(await store.versions.settle(page.tenantId, [published(older, 'Older')]), [])
      same(await store.versions.settle(page.tenantId, [ready(older, 'Older')]), [page.versionId])
      like(await read(page), { computedName: 'Newer', revision: 4, published: { versionId } })
      like(await store.versions.find(page), { status: 'ready', computedName: 'Older', publishedAt: null })
    },

    'a version that is not later than `automaticAfter` is not settled as published': async (scene) => {
      const { store, added, addVersion, change, read } = scene
      const page = await added()
      equal((await read(page)).automaticAfter, null)
      const { versionId: automaticAfter } = await addVersion(page)
      await change(page, { automaticAfter })
      equal((await read(page)).automaticAfter, automaticAfter)
      const { versionId } = await addVersion(page)
      const [newest, ...earlier] = await claimed(store, [versionId, automaticAfter, page.versionId])
      const finished = earlier.map((one) => published(one))
      same(await store.versions.settle(page.tenantId, finished), [])
      like(await read(page), { published: null, revision: 4 })
      same(await store.versions.settle(page.tenantId, [published(newest, 'Name')]), [versionId])
      like(await read(page), { published: { versionId }, automaticAfter })
    },

    'versions of one page that are settled together end with the newest one published': async (scene) => {
      const { store, added, addVersion, read } = scene
      const page = await added()
      const { versionId } = await addVersion(page)
      const both = await claimed(store, [versionId, page.versionId])
      const saved = await store.versions.settle(
        page.tenantId,
        both.map((one) => published(one, 'Name')),
      )
      ok(saved.includes(versionId))
      like(await read(page), { published: { versionId, status: 'published' }, latest: { versionId } })
    },

    'a ready version publishes nothing; it names its page if it is the newest and none is published': async (
      scene,
    ) => {
      const { store, added, addVersion, read } = scene
      const page = await added()
      const { versionId } = await addVersion(page)
      const [newer, older] = await claimed(store, [versionId, page.versionId])
      await store.versions.settle(page.tenantId, [ready(older, 'Older')])
      like(await read(page), { computedName: 'Offers 1', published: null })
      await store.versions.settle(page.tenantId, [ready(newer, 'Newer')])
      like(await read(page), { computedName: 'Newer', published: null, latest: { status: 'ready' } })
    },

    'the revision of a group is raised by its changes and by its pages': async (scene) => {
      const { added, change, group, pageGroups, pages, revise } = scene
      const revision = async () => (await pageGroups.find(group))?.revision
      equal(await revision(), 1)
      equal(await revise({ title: 'Other' }, group.updatedAt), 'recorded')
      equal(await revision(), 2)
      const page = await added()
      equal(await revision(), 3)
      await change(page, { customName: 'Mine' })
      equal(await revision(), 3)
      await pages.remove({ ...page, revision: 2 })
      equal(await revision(), 4)
    },

    'a group is found by its idempotency key, which no other group of the tenant may have': async (scene) => {
      const { store, group, pageGroups } = scene
      const one = { ...someGroup(group), ...keyFields('one') }
      equal(await pageGroups.add(one), 'recorded')
      equal(await pageGroups.add({ ...someGroup(group), ...keyFields('one') }), 'overtaken')
      const { pageGroupId, requestHash } = one
      like(await pageGroups.find({ tenantId: group.tenantId, idempotencyKey: 'one' }), {
        pageGroupId,
        requestHash,
        pagesCount: 0,
      })
      const other = await addTenant(store)
      equal(await pageGroups.find({ tenantId: other.tenantId, idempotencyKey: 'one' }), null)
      equal(await pageGroups.add({ ...someGroup(other), ...keyFields('one') }), 'recorded')
    },
  },
)

type PageName = { readonly tenantId: string; readonly pageGroupId: string; readonly pageId: string }

/** These versions, claimed by one publisher, in this order. */
const claimed = async <Ids extends readonly [string, ...string[]]>(store: Store, ids: Ids) => {
  const all = await store.versions.claim(someClaim())
  const one = (id: string) => all.find(({ versionId }) => versionId === id) as ClaimedVersion
  return ids.map(one) as unknown as { readonly [Index in keyof Ids]: ClaimedVersion }
}
const settled =
  (status: 'published' | 'ready') =>
  ({ pageId, versionId, attempt }: ClaimedVersion, computedName: string | null = null): Settlement => ({
    pageId,
    versionId,
    attempt,
    computedName,
    status,
    at: at(500),
  })
const published = settled('published')
const ready = settled('ready')
