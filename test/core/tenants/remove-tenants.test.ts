import t from 'tap'
import { deleteTenant } from '../../../src/core/tenants/delete-tenant.ts'
import { removeTenants } from '../../../src/core/tenants/remove-tenants.ts'
import { resumeTenant } from '../../../src/core/tenants/resume-tenant.ts'
import { suspendTenant } from '../../../src/core/tenants/suspend-tenant.ts'
import { refusalOf, scene } from '../scene.ts'

const GO_ON = AbortSignal.any([])
const onError = (error: unknown) => {
  throw error
}

t.test(
  'a deleted tenant is removed once the writes that began before have ended, and no other is',
  async (t) => {
    const it = await scene()
    const { store, clock, tenantId, strangerId } = it
    await it.newGroup()
    let now = 0
    let endedBefore = 0
    const moments = {
      now: async () => `${now}`,
      arePast: async (some: readonly string[]) => some.map((moment) => Number(moment) <= endedBefore),
    }
    const remove = removeTenants({ store: { ...store, moments }, clock, onError })
    await deleteTenant(it)(tenantId)
    await suspendTenant(it)(strangerId)
    now = 7
    for (endedBefore of [0, 6]) {
      clock.advance(24 * 3_600_000)
      t.equal(await remove(GO_ON), false)
    }
    now = 9
    t.equal(await remove(GO_ON), false)
    t.strictSame(await store.tenants.left(tenantId), ['page_groups'])
    endedBefore = 7
    while (await remove(GO_ON));
    t.equal(await store.tenants.find(tenantId), null)
    t.match(await store.tenants.find(strangerId), { suspendedAt: /Z$/, deletedAt: null })
  },
)

t.test('a tenant stays until the store has removed what its rows leave on disk', async (t) => {
  const it = await scene()
  let isTime = false
  const erasures = { ...it.store.erasures, purgeDeleted: async () => isTime }
  const remove = removeTenants({ store: { ...it.store, erasures }, clock: it.clock, onError })
  await deleteTenant(it)(it.tenantId)
  t.equal(await remove(GO_ON), false)
  t.ok(await it.store.tenants.find(it.tenantId))
  isTime = true
  await remove(GO_ON)
  t.equal(await it.store.tenants.find(it.tenantId), null)
})

t.test('rows that another process leaves behind are found again', async (t) => {
  const it = await scene()
  await it.newGroup()
  let passes = 0
  const tenants = {
    ...it.store.tenants,
    // The first time it comes back empty-handed: another process held the rows.
    removeSome: async (want: Parameters<typeof it.store.tenants.removeSome>[0]) =>
      passes++ === 0 ? null : it.store.tenants.removeSome(want),
  }
  const remove = removeTenants({ store: { ...it.store, tenants }, clock: it.clock, onError })
  await deleteTenant(it)(it.tenantId)
  t.equal(await remove(GO_ON), true)
  t.ok(await it.store.tenants.find(it.tenantId))
  await remove(GO_ON)
  t.equal(await it.store.tenants.find(it.tenantId), null)
})

t.test(
  'a tenant that is being deleted is not resumed; deleting may be repeated; an unknown one is not found',
  async (t) => {
    const it = await scene()
    const deleted = await deleteTenant(it)(it.tenantId)
    it.clock.advance(1)
    t.strictSame(await deleteTenant(it)(it.tenantId), deleted)
    t.strictSame(await suspendTenant(it)(it.tenantId), deleted)
    t.match(await refusalOf(resumeTenant(it)(it.tenantId)), {
      kind: 'invalid_request',
      message: /being deleted/,
    })
    t.equal((await refusalOf(it.newGroup())).kind, 'not_found')
    for (const change of [suspendTenant, resumeTenant, deleteTenant])
      t.equal((await refusalOf(change(it)('tenant_unknown'))).kind, 'not_found')
  },
)

t.test(
  'a tenant that fails holds up no other, and a deletion by a clock that was ahead is carried out',
  async (t) => {
    const it = await scene()
    const errors: unknown[] = []
    const tenants = {
      ...it.store.tenants,
      left: async (tenantId: string) => {
        if (tenantId === it.tenantId) throw new Error('locked')
        return it.store.tenants.left(tenantId)
      },
    }
    await deleteTenant(it)(it.tenantId)
    it.clock.advance(1e12)
    await deleteTenant(it)(it.strangerId)
    it.clock.advance(-1e12)
    const deps = { store: { ...it.store, tenants }, clock: it.clock }
    const remove = removeTenants({ ...deps, onError: (error) => errors.push(error) })
    while (await remove(GO_ON));
    t.match(errors, [{ message: 'locked' }])
    t.ok(await it.store.tenants.find(it.tenantId))
    t.equal(await it.store.tenants.find(it.strangerId), null)
  },
)
