import { isDeepStrictEqual } from 'node:util'
import type { PageGroupsQuery, StoredPageGroup } from 'prospect-pages/store'
import { equal, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  newId,
  readEach,
  recordPages,
  type SomeTenant,
  scribbleOn,
  someGroup,
  somePage,
} from './rows.ts'

export const pageGroups = section(
  'page groups',
  ({ store }) => {
    const { pages } = store
    /** The port, with groups found as they are listed. */
    const pageGroups = {
      list: (query: PageGroupsQuery) => store.pageGroups.list(query),
      change: (group: StoredPageGroup, updatedAt: string) => store.pageGroups.change(group, updatedAt),
      find: async (name: GroupName) => {
        const found = await store.pageGroups.find(name)
        if (found === null) return null
        const { revision, requestHash, ...group } = found
        return group
      },
    }
    const added = async (tenant: SomeTenant, fields: Partial<StoredPageGroup> = {}) => {
      const group = plainGroup(tenant, fields)
      await store.pageGroups.add({ ...group, idempotencyKey: null, requestHash: null })
      return group
    }
    const listed = (tenant: SomeTenant, query: Partial<PageGroupsQuery> = {}) =>
      pageGroups.list(queryOf(tenant, query))

    return { pageGroups, pages, added, listed }
  },
  {
    'an added group is found by its id and listed, with every field': async (scene) => {
      const { store, pageGroups, added, listed } = scene
      const tenant = await addTenant(store)
      const group = await added(tenant, {
        name: 'spring',
        title: 'Spring sale',
        pageContext: 'Everything about spring',
        status: 'archived',
        headerActionId: 'buy',
        createdAt: at(1),
        updatedAt: at(2),
      })
      same(await pageGroups.find(group), group)
      same(await listed(tenant), [group])
    },

    'unset fields of a group are null': async ({ store, pageGroups, added }) => {
      const tenant = await addTenant(store)
      const group = await pageGroups.find(await added(tenant))
      same([group?.pageContext, group?.headerActionId, group?.deletedAt], [null, null, null])
    },

    'an unknown group is null, and so is that of another tenant': async ({ store, pageGroups, added }) => {
      const tenant = await addTenant(store)
      equal(await pageGroups.find({ ...tenant, pageGroupId: newId('pagegroup') }), null)
      equal(await pageGroups.find({ ...tenant, pageGroupId: '' }), null)
      equal(await pageGroups.find({ ...(await added(tenant)), ...(await addTenant(store)) }), null)
    },

    'groups are listed newest first by id, in whichever order they were added': async (scene) => {
      const { store, added, listed } = scene
      const tenant = await addTenant(store)
      const groups = Array.from({ length: 9 }, () => plainGroup(tenant))
      for (const i of [4, 0, 8, 2, 6, 1, 7, 3, 5]) await added(tenant, groups[i])
      same(await listed(tenant), groups.toReversed())
    },

    'a list continues before an id, even if that group is deleted or never existed': async (scene) => {
      const { store, pageGroups, added, listed } = scene
      const tenant = await addTenant(store)
      const oldest = await added(tenant)
      const never = newId('pagegroup')
      const middle = await added(tenant)
      const newest = await added(tenant)
      same(await listed(tenant, { beforeId: newest.pageGroupId }), [middle, oldest])
      same(await listed(tenant, { beforeId: never }), [oldest])
      same(await listed(tenant, { beforeId: oldest.pageGroupId }), [])
      await pageGroups.change({ ...middle, status: 'deleted', deletedAt: at(1) }, middle.updatedAt)
      same(await listed(tenant, { beforeId: middle.pageGroupId }), [oldest])
    },

    'a list has the newest rows, one more than its limit': async ({ store, added, listed }) => {
      const tenant = await addTenant(store)
      const groups = [await added(tenant), await added(tenant), await added(tenant)].reverse()
      for (const limit of [1, 2, 3, 100]) same(await listed(tenant, { limit }), groups.slice(0, limit + 1))
    },

    'a list ends once the texts of all its rows but the last fill a slice': async (scene) => {
      const { store, added, listed } = scene
      const text = 'x'.repeat(TEXT_LENGTH)
      const raw = { rawJson: JSON.stringify([text]) }
      const heavy: Partial<StoredPageGroup>[] = [
        { pageContext: text },
        { actions: raw },
        { footerLinks: raw },
        { scripts: raw },
        {},
      ]
      const tenant = await addTenant(store)
      const groups: StoredPageGroup[] = []
      for (const fields of heavy.toReversed()) groups.unshift(await added(tenant, fields))
      for (const status of [null, 'active'] as const) {
        ok(isDeepStrictEqual(await listed(tenant, { status }), groups.slice(0, heavy.length - 1)))
        const [first] = groups
        const rest = await listed(tenant, { status, beforeId: first?.pageGroupId ?? null })
        ok(isDeepStrictEqual(rest, groups.slice(1)))
      }
    },

    'without a status all groups are listed except the deleted ones': async ({ store, added, listed }) => {
      const tenant = await addTenant(store)
      const active = await added(tenant, { status: 'active' })
      const deleted = await added(tenant, { status: 'deleted' })
      const archived = await added(tenant, { status: 'archived' })
      same(await listed(tenant), [archived, active])
      same(await listed(tenant, { status: 'active' }), [active])
      same(await listed(tenant, { status: 'archived' }), [archived])
      same(await listed(tenant, { status: 'deleted' }), [deleted])
    },

    'deleted groups take no room in a list': async ({ store, added, listed }) => {
      const tenant = await addTenant(store)
      const old = [await added(tenant), await added(tenant)]
      for (let i = 0; i < 5; i++) await added(tenant, { status: 'deleted' })
      const young = await added(tenant)
      same(await listed(tenant, { limit: 1 }), [young, old[1]])
      same(await listed(tenant, { limit: 1, beforeId: young.pageGroupId }), old.toReversed())
    },

    'groups of another tenant are never listed': async ({ store, added, listed }) => {
      const ours = await addTenant(store)
      const theirs = await addTenant(store)
      const older = await added(ours)
      await added(theirs)
      const newer = await added(ours)
      await added(theirs)
      same(await listed(ours), [newer, older])
      same(await listed({ tenantId: newId('tenant'), brandId: '' }), [])
    },

    'concurrent calls each get their own list': async ({ store, pageGroups, added }) => {
      const ours = await addTenant(store)
      const theirs = await addTenant(store)
      const ourOldest = await added(ours)
      const theirArchived = await added(theirs, { status: 'archived' })
      const ourArchived = await added(ours, { status: 'archived' })
      const ourDeleted = await added(ours, { status: 'deleted' })
      const theirNewest = await added(theirs)
      const crowded = await addTenant(store)
      await added(crowded)
      const middle = await added(crowded)
      const newest = await added(crowded)
      // Some are asked for twice.
      const lists: { readonly query: PageGroupsQuery; readonly rows: readonly StoredPageGroup[] }[] = [
        { query: queryOf(ours), rows: [ourArchived, ourOldest] },
        { query: queryOf(ours, { status: 'deleted' }), rows: [ourDeleted] },
        { query: queryOf(theirs), rows: [theirNewest, theirArchived] },
        { query: queryOf(ours), rows: [ourArchived, ourOldest] },
        { query: queryOf(theirs, { status: 'deleted' }), rows: [] },
        { query: queryOf(crowded, { limit: 1 }), rows: [newest, middle] },
        { query: queryOf(ours, { status: 'deleted' }), rows: [ourDeleted] },
        { query: queryOf(theirs, { status: 'archived', limit: 1 }), rows: [theirArchived] },
        { query: queryOf(crowded, { status: 'active', limit: 1 }), rows: [newest, middle] },
        { query: queryOf(ours, { beforeId: ourArchived.pageGroupId }), rows: [ourOldest] },
        { query: queryOf(theirs, { status: 'active', beforeId: theirNewest.pageGroupId }), rows: [] },
      ]
      const found = await readEach(
        pageGroups.list,
        lists.map(({ query }) => query),
      )
      same(
        found,
        lists.map(({ rows }) => rows),
      )
    },

    'a change saves every field that a person sets, but never the count of pages': async (scene) => {
      const { store, pageGroups, pages, added } = scene
      const tenant = await addTenant(store)
      const group = await added(tenant)
      await recordPages(pages, [somePage(group), somePage(group)])
      const changed: StoredPageGroup = {
        ...group,
        name: 'changed',
        title: 'Changed',
        pageContext: 'Changed context',
        status: 'deleted',
        pagesCount: 77,
        actions: { rawJson: '[1]' },
        footerLinks: { rawJson: '[2]' },
        scripts: { rawJson: '[3]' },
        headerActionId: 'changed',
        updatedAt: at(60_000),
        deletedAt: at(60_000),
      }
      equal(await pageGroups.change(changed, group.updatedAt), 'recorded')
      same(await pageGroups.find(group), { ...changed, pagesCount: 2 })
      equal(await pageGroups.change({ ...group, updatedAt: at(61_000) }, changed.updatedAt), 'recorded')
      same(await pageGroups.find(group), { ...group, updatedAt: at(61_000), pagesCount: 2 })
    },

    'a change by another tenant, or of an unknown group, is overtaken and changes nothing': async (scene) => {
      const { store, pageGroups, added, listed } = scene
      const ours = await addTenant(store)
      const theirs = await addTenant(store)
      const group = await added(ours)
      equal(await pageGroups.change({ ...group, ...theirs, title: 'Theirs' }, group.updatedAt), 'overtaken')
      const nowhere = someGroup(ours, { title: 'Nowhere' })
      equal(await pageGroups.change(nowhere, nowhere.updatedAt), 'overtaken')
      same(await listed(ours), [group])
      same(await listed(theirs), [])
    },

    'a change is overtaken if the group has changed since it was read': async (scene) => {
      const { store, pageGroups, added } = scene
      const group = await added(await addTenant(store))
      const archived = { ...group, status: 'archived', updatedAt: at(60_000) } as const
      equal(await pageGroups.change(archived, group.updatedAt), 'recorded')
      equal(await pageGroups.change({ ...group, title: 'Late' }, group.updatedAt), 'overtaken')
      same(await pageGroups.find(group), archived)
    },

    'each group counts its recorded pages': async ({ store, pages, added, listed }) => {
      const tenant = await addTenant(store)
      const first = await added(tenant)
      const second = await added(tenant)
      await recordPages(pages, [somePage(first), somePage(second), somePage(first)])
      await pages.record(somePage(first))
      same(await listed(tenant), [
        { ...second, pagesCount: 1 },
        { ...first, pagesCount: 3 },
      ])
    },

    'every text field keeps every text as it is': async ({ store, pageGroups, added, listed }) => {
      const tenant = await addTenant(store)
      const groups = []
      for (const text of AWKWARD_TEXTS)
        groups.push(await added(tenant, { name: text, title: text, pageContext: text, headerActionId: text }))
      same(await listed(tenant), groups.toReversed())
      const changed = groups.map((group, i) => {
        const text = AWKWARD_TEXTS.at(-1 - i) as string
        return { ...group, name: text, title: text, pageContext: text, headerActionId: text }
      })
      for (const group of changed) await pageGroups.change(group, group.updatedAt)
      same(await listed(tenant), changed.toReversed())
    },

    'actions, links and scripts are kept byte for byte': async ({ store, pageGroups, added, listed }) => {
      const tenant = await addTenant(store)
      const actions = {
        rawJson: '[ 12345678901234567890, 1e131071, "\\u0000", "\\ud800", {"b":1, "a":2, "a":3} ]',
      }
      const footerLinks = { rawJson: '[{"href":"https://x/?a=1&b=\\"2\\"","title":"\\\\ é 😀 \' {NULL}"}]' }
      const scripts = { rawJson: '["<script>alert(1)</script>",\n\tnull,true,-0]' }
      const group = await added(tenant, { actions, footerLinks, scripts })
      same(await pageGroups.find(group), group)
      await pageGroups.change(
        { ...group, actions: scripts, footerLinks: actions, scripts: footerLinks },
        group.updatedAt,
      )
      const [row] = await listed(tenant)
      same([row?.actions, row?.footerLinks, row?.scripts], [scripts, actions, footerLinks])
    },

    'a caller that changes what was found or listed changes nothing in the store': async (scene) => {
      const { store, pageGroups, added, listed } = scene
      const tenant = await addTenant(store)
      const group = await added(tenant)
      const before = structuredClone(group)
      scribbleOn(await pageGroups.find(group))
      same(await pageGroups.find(group), before)
      scribbleOn(await listed(tenant))
      same(await pageGroups.find(group), before)
    },

    'a caller that changes what it passed in changes nothing in the store': async ({
      store,
      pageGroups,
      added,
    }) => {
      const tenant = await addTenant(store)
      const passed = await added(tenant)
      const before = structuredClone(passed)
      scribbleOn(passed)
      same(await pageGroups.find(before), before)
      const change = structuredClone({ ...before, title: 'Changed' })
      await pageGroups.change(change, before.updatedAt)
      scribbleOn(change)
      same(await pageGroups.find(before), { ...before, title: 'Changed' })
    },
  },
)

const queryOf = ({ tenantId }: SomeTenant, query: Partial<PageGroupsQuery> = {}): PageGroupsQuery => ({
  tenantId,
  status: null,
  beforeId: null,
  limit: 100,
  ...query,
})

/** Four such texts fill a slice. */
const TEXT_LENGTH = 400_000

type GroupName = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId'>

/** A group without the fields that lists do not show. */
const plainGroup = (tenant: SomeTenant, fields: Partial<StoredPageGroup> = {}): StoredPageGroup => {
  const { idempotencyKey, requestHash, ...group } = someGroup(tenant, fields)
  return group
}
