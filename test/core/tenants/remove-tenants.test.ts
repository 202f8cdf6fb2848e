import t from 'tap'
import { deleteTenant } from '../../../src/core/tenants/delete-tenant.ts'
import { removeTenants } from '../../../src/core/tenants/remove-tenants.ts'
import { resumeTenant } from '../../../src/core/tenants/resume-tenant.ts'
import { suspendTenant } from '../../../src/core/tenants/suspend-tenant.ts'
import { refusalOf, scene } from '../scene.ts'

const NEVER_ABORTED = AbortSignal.any([])
const onError = (error: unknown) => {
  throw error
}

t.test(
  'a deleted tenant is removed once the writes that began before have ended, and no other is',
  async (t) => {
    const world = await scene()
    const { store, clock, tenantId, strangerId } = world
    await world.newGroup()
    let now = 0
    let endedBefore = 0
    const moments = {
      now: async () => `${now}`,
      arePast: async (some: readonly string[]) => some.map((moment) => Number(moment) <= endedBefore),
    }
    const remove = removeTenants({ store: { ...store, moments }, clock, onError })
    await deleteTenant(world)(tenantId)
    await suspendTenant(world)(strangerId)
    now = 7
    for (endedBefore of [0, 6]) {
      clock.advance(24 * 3_600_000)
      t.equal(await remove(NEVER_ABORTED), false)
    }
    now = 9
    t.equal(await remove(NEVER_ABORTED), false)
    t.strictSame(await store.tenants.left(tenantId), ['page_groups'])
    endedBefore = 7
    while (await remove(NEVER_ABORTED));
    t.equal(await store.tenants.find(tenantId), null)
    t.match(await store.tenants.find(strangerId), { suspendedAt: /Z$/, deletedAt: null })
  },
)

t.test('a tenant stays until the store has removed what its rows leave on disk', async (t) => {
  const world = await scene()
  let isTime = false
  const erasures = { ...world.store.erasures, purgeDeleted: async () => isTime }
  const remove = removeTenants({ store: { ...world.store, erasures }, clock: world.clock, onError })
  await deleteTenant(world)(world.tenantId)
  t.equal(await remove(NEVER_ABORTED), false)
  t.ok(await world.store.tenants.find(world.tenantId))
  isTime = true
  await remove(NEVER_ABORTED)
  t.equal(await world.store.tenants.find(world.tenantId), null)
})

t.test('rows that another process leaves behind are found again', async (t) => {
  const world = await scene()
  await world.newGroup()
  let passes = 0
  const tenants = {
    ...world.store.tenants,
    // The first time it comes back empty-handed: another process held the rows.
    removeSome: async (want: Parameters<typeof world.store.tenants.removeSome>[0]) =>
      passes++ === 0 ? null : world.store.tenants.removeSome(want),
  }
  const remove = removeTenants({ store: { ...world.store, tenants }, clock: world.clock, onError })
  await deleteTenant(world)(world.tenantId)
  t.equal(await remove(NEVER_ABORTED), true)
  t.ok(await world.store.tenants.find(world.tenantId))
  await remove(NEVER_ABORTED)
  t.equal(await world.store.tenants.find(world.tenantId), null)
})

t.test(
  'a tenant that is being deleted is not resumed; deleting may be repeated; an unknown one is not found',
  async (t) => {
    const world = await scene()
    const deleted = await deleteTenant(world)(world.tenantId)
    world.clock.advance(1)
    t.strictSame(await deleteTenant(world)(world.tenantId), deleted)
    t.strictSame(await suspendTenant(world)(world.tenantId), deleted)
    t.match(await refusalOf(resumeTenant(world)(world.tenantId)), {
      kind: 'invalid_request',
      message: /being deleted/,
    })
    t.equal((await refusalOf(world.newGroup())).kind, 'not_found')
    for (const change of [suspendTenant, resumeTenant, deleteTenant])
      t.equal((await refusalOf(change(world)('tenant_unknown'))).kind, 'not_found')
  },
)

t.test(
  'a tenant that fails holds up no other, and a deletion by a clock that was ahead is carried out',
  async (t) => {
    const world = await scene()
    const errors: unknown[] = []
    const tenants = {
      ...world.store.tenants,
      left: async (tenantId: string) => {
        if (tenantId === world.tenantId) throw new Error('locked')
        return world.store.tenants.left(tenantId)
      },
    }
    await deleteTenant(world)(world.tenantId)
    world.clock.advance(1e12)
    await deleteTenant(world)(world.strangerId)
    world.clock.advance(-1e12)
    const deps = { store: { ...world.store, tenants }, clock: world.clock }
    const remove = removeTenants({ ...deps, onError: (error) => errors.push(error) })
    while (await remove(NEVER_ABORTED));
    t.match(errors, [{ message: 'locked' }])
    t.ok(await world.store.tenants.find(world.tenantId))
    t.equal(await world.store.tenants.find(world.strangerId), null)
  },
)
