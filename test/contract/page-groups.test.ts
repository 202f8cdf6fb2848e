import { isDeepStrictEqual } from 'node:util'
import type { PageGroupsWant, StoredPageGroup } from '../../src/core/ports/page-groups.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  newId,
  type SomeTenant,
  scribbleOn,
  someGroup,
  somePage,
} from '../support/rows.ts'
import { EVERY_STORE, opened, overStores } from '../support/stores.ts'

overStores(async (t, kind) => {
  const { store } = await opened(t, kind)
  const { pageGroups, pages } = store
  const added = async (tenant: SomeTenant, fields: Partial<StoredPageGroup> = {}) => {
    const group = someGroup(tenant, fields)
    await pageGroups.add(group)
    return group
  }
  const listed = async (tenant: SomeTenant, want: Partial<PageGroupsWant> = {}) => {
    const [rows = []] = await pageGroups.list([wantOf(tenant, want)])
    return rows
  }

  t.test('an added group is found by its id and listed, with every field', async (t) => {
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
    t.strictSame(await pageGroups.find(group.pageGroupId), group)
    t.strictSame(await listed(tenant), [group])
  })

  t.test('what is unset is null', async (t) => {
    const tenant = await addTenant(store)
    const { pageGroupId } = await added(tenant)
    const group = await pageGroups.find(pageGroupId)
    t.strictSame([group?.pageContext, group?.headerActionId, group?.deletedAt], [null, null, null])
  })

  t.test('a group that is not there is null', async (t) => {
    t.equal(await pageGroups.find(newId('pagegroup')), null)
    t.equal(await pageGroups.find(''), null)
  })

  t.test('groups are listed newest first by id, whatever the order in which they were added', async (t) => {
    const tenant = await addTenant(store)
    const groups = Array.from({ length: 9 }, () => someGroup(tenant))
    for (const i of [4, 0, 8, 2, 6, 1, 7, 3, 5]) await pageGroups.add(groups[i] as StoredPageGroup)
    t.strictSame(await listed(tenant), groups.toReversed())
  })

  t.test('a list goes on before an id, also before one that is gone or was never there', async (t) => {
    const tenant = await addTenant(store)
    const oldest = await added(tenant)
    const never = newId('pagegroup')
    const middle = await added(tenant)
    const newest = await added(tenant)
    t.strictSame(await listed(tenant, { beforeId: newest.pageGroupId }), [middle, oldest])
    t.strictSame(await listed(tenant, { beforeId: never }), [oldest])
    t.strictSame(await listed(tenant, { beforeId: oldest.pageGroupId }), [])
    await pageGroups.change({ ...middle, status: 'deleted', deletedAt: at(1) }, middle.updatedAt)
    t.strictSame(await listed(tenant, { beforeId: middle.pageGroupId }), [oldest])
  })

  t.test('a list has one row more than its limit, the newest', async (t) => {
    const tenant = await addTenant(store)
    const groups = [await added(tenant), await added(tenant), await added(tenant)].reverse()
    for (const limit of [1, 2, 3, 100])
      t.strictSame(await listed(tenant, { limit }), groups.slice(0, limit + 1))
  })

  t.test('a list ends once the texts of all its rows but the last fill a slice', async (t) => {
    const text = 'x'.repeat(400_000)
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
      t.ok(isDeepStrictEqual(await listed(tenant, { status }), groups.slice(0, 4)))
      const [first] = groups
      const rest = await listed(tenant, { status, beforeId: first?.pageGroupId ?? null })
      t.ok(isDeepStrictEqual(rest, groups.slice(1)))
    }
  })

  t.test('without a status every group is listed but the deleted ones', async (t) => {
    const tenant = await addTenant(store)
    const active = await added(tenant, { status: 'active' })
    const deleted = await added(tenant, { status: 'deleted' })
    const archived = await added(tenant, { status: 'archived' })
    t.strictSame(await listed(tenant), [archived, active])
    t.strictSame(await listed(tenant, { status: 'active' }), [active])
    t.strictSame(await listed(tenant, { status: 'archived' }), [archived])
    t.strictSame(await listed(tenant, { status: 'deleted' }), [deleted])
  })

  t.test('deleted groups take no room in a list', async (t) => {
    const tenant = await addTenant(store)
    const old = [await added(tenant), await added(tenant)]
    for (let i = 0; i < 5; i++) await added(tenant, { status: 'deleted' })
    const young = await added(tenant)
    t.strictSame(await listed(tenant, { limit: 1 }), [young, old[1]])
    t.strictSame(await listed(tenant, { limit: 1, beforeId: young.pageGroupId }), old.toReversed())
  })

  t.test('groups of another tenant are never listed', async (t) => {
    const [ours, theirs] = [await addTenant(store), await addTenant(store)]
    const older = await added(ours)
    await added(theirs)
    const newer = await added(ours)
    await added(theirs)
    t.strictSame(await listed(ours), [newer, older])
    t.strictSame(await listed({ tenantId: newId('tenant'), brandId: '' }), [])
  })

  t.test('many wants in one call are each answered in their place', async (t) => {
    const [ours, theirs] = [await addTenant(store), await addTenant(store)]
    const a = await added(ours)
    const b = await added(theirs, { status: 'archived' })
    const c = await added(ours, { status: 'archived' })
    const d = await added(ours, { status: 'deleted' })
    const e = await added(theirs)
    const crowded = await addTenant(store)
    const [, g, h] = [await added(crowded), await added(crowded), await added(crowded)] as const
    const answers: [PageGroupsWant, StoredPageGroup[]][] = [
      [wantOf(ours), [c, a]],
      [wantOf(ours, { status: 'deleted' }), [d]],
      [wantOf(theirs), [e, b]],
      [wantOf(ours), [c, a]],
      [wantOf(theirs, { status: 'deleted' }), []],
      [wantOf(crowded, { limit: 1 }), [h, g]],
      [wantOf(ours, { status: 'deleted' }), [d]],
      [wantOf(theirs, { status: 'archived', limit: 1 }), [b]],
      [wantOf(crowded, { status: 'active', limit: 1 }), [h, g]],
      [wantOf(ours, { beforeId: c.pageGroupId }), [a]],
      [wantOf(theirs, { status: 'active', beforeId: e.pageGroupId }), []],
    ]
    t.strictSame(
      await pageGroups.list(answers.map(([want]) => want)),
      answers.map(([, rows]) => rows),
    )
    t.strictSame(await pageGroups.list([]), [])
  })

  t.test('a change saves every field a person sets, but never the count of pages', async (t) => {
    const tenant = await addTenant(store)
    const group = await added(tenant)
    await pages.record([somePage(group), somePage(group)])
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
    t.equal(await pageGroups.change(changed, group.updatedAt), 'recorded')
    t.strictSame(await pageGroups.find(group.pageGroupId), { ...changed, pagesCount: 2 })
    t.equal(await pageGroups.change({ ...group, updatedAt: at(61_000) }, changed.updatedAt), 'recorded')
    const again = { ...group, updatedAt: at(61_000), pagesCount: 2 }
    t.strictSame(await pageGroups.find(group.pageGroupId), again)
  })

  t.test('a stranger changes nothing, nor does a change of what is not there', async (t) => {
    const [ours, theirs] = [await addTenant(store), await addTenant(store)]
    const group = await added(ours)
    t.equal(await pageGroups.change({ ...group, ...theirs, title: 'Theirs' }, group.updatedAt), 'overtaken')
    const nowhere = someGroup(ours, { title: 'Nowhere' })
    t.equal(await pageGroups.change(nowhere, nowhere.updatedAt), 'overtaken')
    t.strictSame(await listed(ours), [group])
    t.strictSame(await listed(theirs), [])
  })

  t.test('a change is overtaken where the group has changed since it was read', async (t) => {
    const group = await added(await addTenant(store))
    const archived = { ...group, status: 'archived', updatedAt: at(60_000) } as const
    t.equal(await pageGroups.change(archived, group.updatedAt), 'recorded')
    t.equal(await pageGroups.change({ ...group, title: 'Late' }, group.updatedAt), 'overtaken')
    t.strictSame(await pageGroups.find(group.pageGroupId), archived)
  })

  t.test('the count of pages is that of the recorded pages, group by group', async (t) => {
    const tenant = await addTenant(store)
    const [one, two] = [await added(tenant), await added(tenant)]
    await pages.record([somePage(one), somePage(two), somePage(one)])
    await pages.record([somePage(one)])
    t.strictSame(await listed(tenant), [
      { ...two, pagesCount: 1 },
      { ...one, pagesCount: 3 },
    ])
  })

  t.test('every text field keeps every text as it is', async (t) => {
    const tenant = await addTenant(store)
    const groups = []
    for (const text of AWKWARD_TEXTS)
      groups.push(await added(tenant, { name: text, title: text, pageContext: text, headerActionId: text }))
    t.strictSame(await listed(tenant), groups.toReversed())
    const changed = groups.map((group, i) => {
      const text = AWKWARD_TEXTS.at(-1 - i) as string
      return { ...group, name: text, title: text, pageContext: text, headerActionId: text }
    })
    for (const group of changed) await pageGroups.change(group, group.updatedAt)
    t.strictSame(await listed(tenant), changed.toReversed())
  })

  t.test('actions, links and scripts are kept byte for byte', async (t) => {
    const tenant = await addTenant(store)
    const actions = {
      rawJson: '[ 12345678901234567890, 1e131071, "\\u0000", "\\ud800", {"b":1, "a":2, "a":3} ]',
    }
    const footerLinks = { rawJson: '[{"href":"https://x/?a=1&b=\\"2\\"","title":"\\\\ é 😀 \' {NULL}"}]' }
    const scripts = { rawJson: '["<script>alert(1)</script>",\n\tnull,true,-0]' }
    const group = await added(tenant, { actions, footerLinks, scripts })
    t.strictSame(await pageGroups.find(group.pageGroupId), group)
    await pageGroups.change(
      { ...group, actions: scripts, footerLinks: actions, scripts: footerLinks },
      group.updatedAt,
    )
    const [row] = await listed(tenant)
    t.strictSame([row?.actions, row?.footerLinks, row?.scripts], [scripts, actions, footerLinks])
  })

  t.test('scribbling on what was found or listed changes nothing inside', async (t) => {
    const tenant = await addTenant(store)
    const group = await added(tenant)
    const before = structuredClone(group)
    scribbleOn(await pageGroups.find(group.pageGroupId))
    t.strictSame(await pageGroups.find(group.pageGroupId), before)
    scribbleOn(await listed(tenant))
    t.strictSame(await pageGroups.find(group.pageGroupId), before)
  })

  t.test('scribbling on what was added or changed changes nothing inside', async (t) => {
    const tenant = await addTenant(store)
    const given = await added(tenant)
    const before = structuredClone(given)
    scribbleOn(given)
    t.strictSame(await pageGroups.find(before.pageGroupId), before)
    const change = structuredClone({ ...before, title: 'Changed' })
    await pageGroups.change(change, before.updatedAt)
    scribbleOn(change)
    t.strictSame(await pageGroups.find(before.pageGroupId), { ...before, title: 'Changed' })
  })
}, EVERY_STORE)

const wantOf = ({ tenantId }: SomeTenant, want: Partial<PageGroupsWant> = {}): PageGroupsWant => ({
  tenantId,
  status: null,
  beforeId: null,
  limit: 100,
  ...want,
})
