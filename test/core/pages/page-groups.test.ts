import t from 'tap'
import { createTenant } from '../../../src/core/tenants/create-tenant.ts'
import { idOf } from '../../support/setting.ts'
import { refusalOf, scene } from '../scene.ts'

t.test('a tenant comes with a brand, in which its groups are made', async (t) => {
  const { newGroup, ...world } = await scene()
  const { tenantId, brandId } = await createTenant(world)({ name: 'Other' })
  t.match([tenantId, brandId], [/^tenant_[a-z0-9]{26}$/, /^brand_[a-z0-9]{26}$/])
  t.match(await newGroup({ tenantId }), { tenantId, brandId, pageGroupId: /^pagegroup_[a-z0-9]{26}$/ })
})

t.test('the fields of a new group are kept', async (t) => {
  const { listGroups, newGroup, tenantId } = await scene()
  const fields = {
    pageContext: 'Spring',
    status: 'archived' as const,
    actions: { rawJson: '[1.0]' },
    footerLinks: { rawJson: '[{}]' },
    scripts: { rawJson: '["x"]' },
    headerActionId: 'buy',
  }
  const group = await newGroup(fields)
  t.match(group, fields)
  t.strictSame((await listGroups({ tenantId, limit: 1 })).items, [group])
})

t.test('an unknown tenant, and a brand of another tenant, are refused', async (t) => {
  const { listGroups, newGroup, strangerId, tenantId, updateGroup } = await scene()
  const foreign = await newGroup({ tenantId: strangerId })
  t.equal((await refusalOf(newGroup({ tenantId: idOf('tenant', 99) }))).kind, 'not_found')
  t.equal((await refusalOf(newGroup({ brandId: foreign.brandId }))).kind, 'invalid_request')
  const own = await newGroup()
  t.equal(
    (await refusalOf(updateGroup(own.pageGroupId, { brandId: foreign.brandId }))).kind,
    'invalid_request',
  )
  t.strictSame((await listGroups({ tenantId, limit: 20 })).items, [own])
})

t.test('a change leaves what it does not name, and moves updatedAt', async (t) => {
  const { clock, newGroup, store, updateGroup } = await scene()
  const group = await newGroup({ pageContext: 'Spring', actions: { rawJson: '[1]' } })
  clock.advance(1_000)
  const changed = await updateGroup(group.pageGroupId, { title: 'Sales', pageContext: null })
  const expected = { ...group, title: 'Sales', pageContext: null, updatedAt: '2026-01-01T00:00:01.000Z' }
  t.strictSame(changed, expected)
  t.match(await store.pageGroups.find(group), expected)
})

t.test('a change does not touch the count of pages', async (t) => {
  const { createPage, newGroup, updateGroup } = await scene()
  const group = await newGroup()
  await createPage(group)
  t.equal((await updateGroup(group.pageGroupId, { title: 'Sales' })).pagesCount, 1)
})

t.test('deletedAt is set exactly while a group is deleted', async (t) => {
  const { clock, newGroup, updateGroup } = await scene()
  const { pageGroupId } = await newGroup()
  const become = async (status: 'active' | 'archived' | 'deleted') => {
    clock.advance(1_000)
    return (await updateGroup(pageGroupId, { status })).deletedAt
  }
  t.equal(await become('archived'), null)
  t.equal(await become('deleted'), '2026-01-01T00:00:02.000Z')
  t.equal((await refusalOf(become('active'))).kind, 'page_group_not_found')
  t.equal((await newGroup({ status: 'deleted' })).deletedAt, '2026-01-01T00:00:03.000Z')
})

t.test('of two changes at the same moment neither is lost', async (t) => {
  const { newGroup, store, updateGroup } = await scene()
  const group = await newGroup()
  const { pageGroupId } = group
  await Promise.all([
    updateGroup(pageGroupId, { status: 'archived' }),
    updateGroup(pageGroupId, { title: 'Sales' }),
  ])
  t.match(await store.pageGroups.find(group), { status: 'archived', title: 'Sales' })
})
