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

  t.test('another store on the same database knows the tenant', async (t) => {
    const tenant = await addTenant(await another())
    t.strictSame(await tenants.brands(tenant.tenantId), [tenant.brandId])
  })

  t.test('a store that is migrated is ready', async (t) => {
    await t.resolves(store.ready())
    await t.resolves((await another()).ready())
  })
}, EVERY_STORE)
