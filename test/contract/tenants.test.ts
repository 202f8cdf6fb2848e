import { listTenants } from '../../src/core/list-tenants.ts'
import type { Tenant } from '../../src/core/ports/tenants.ts'
import { AWKWARD_TEXTS, addTenant, at, newId } from '../support/rows.ts'
import { EVERY_STORE, opened, overStores } from '../support/stores.ts'

overStores(async (t, kind) => {
  const { store, another } = await opened(t, kind)
  const { tenants } = store

  t.test('a tenant has its first brand, and nobody else’s', async (t) => {
    const [one, two] = [await addTenant(store), await addTenant(store)]
    t.strictSame(await tenants.brands(one.tenantId), [one.brandId])
    t.strictSame(await tenants.brands(two.tenantId), [two.brandId])
  })

  t.test('a tenant that is not there has no brands, not even none', async (t) => {
    t.equal(await tenants.brands(newId('tenant')), null)
    t.equal(await tenants.brands(''), null)
  })

  t.test('a tenant may have any name', async (t) => {
    for (const name of AWKWARD_TEXTS) {
      const tenant = { tenantId: newId('tenant'), brandId: newId('brand'), name, createdAt: at(0) }
      await tenants.add(tenant)
      t.strictSame(await tenants.brands(tenant.tenantId), [tenant.brandId])
    }
  })

  t.test('a tenant is renamed, and no other', async (t) => {
    const [one, two] = [await addTenant(store), await addTenant(store)]
    t.match(await tenants.update(one.tenantId, { name: 'New' }), { tenantId: one.tenantId, name: 'New' })
    const [after] = (await tenants.list('', 1_000)).filter(({ tenantId }) => tenantId === two.tenantId)
    t.not(after?.name, 'New')
    t.equal(await tenants.update(newId('tenant'), { name: 'New' }), null)
  })

  t.test('all tenants are listed, oldest first, a hundred at a time', async (t) => {
    const { store } = await opened(t, kind)
    const name = AWKWARD_TEXTS[0] as string
    const added = Array.from({ length: 205 }, (_, i) => ({
      tenantId: newId('tenant'),
      name,
      createdAt: at(i),
    }))
    for (const tenant of added) await store.tenants.add({ ...tenant, brandId: newId('brand') })
    const asked: number[] = []
    const list: typeof tenants.list = async (...args) => {
      const found = await store.tenants.list(...args)
      asked.push(found.length)
      return found
    }
    const listed: Tenant[] = []
    for await (const tenant of listTenants({ store: { tenants: { ...store.tenants, list } } })())
      listed.push({ ...tenant })
    t.strictSame(listed, added)
    t.strictSame(asked, [100, 100, 5, 0])
  })

  t.test('another store on the same database knows the tenant', async (t) => {
    const tenant = await addTenant(await another())
    t.strictSame(await tenants.brands(tenant.tenantId), [tenant.brandId])
  })

  t.test('a store that is migrated is ready', async (t) => {
    await t.resolves(store.ready())
    await t.resolves((await another()).ready())
  })
}, EVERY_STORE)
