import { equal, like, same } from './assertions.ts'
import { section } from './contract.ts'
import { AWKWARD_TEXTS, addTenant, at, newId } from './rows.ts'

export const tenants = section(
  'tenants',
  ({ store }) => {
    const { tenants } = store

    return { tenants }
  },
  {
    'a tenant has its own first brand, and no other': async ({ store, tenants }) => {
      const [one, two] = [await addTenant(store), await addTenant(store)]
      same(await tenants.brands(one.tenantId), [one.brandId])
      same(await tenants.brands(two.tenantId), [two.brandId])
    },

    'the brands of an unknown tenant are null, not an empty list': async ({ tenants }) => {
      equal(await tenants.brands(newId('tenant')), null)
      equal(await tenants.brands(''), null)
    },

    'a tenant may have any name': async ({ tenants }) => {
      for (const name of AWKWARD_TEXTS) {
        const tenant = { tenantId: newId('tenant'), brandId: newId('brand'), name, createdAt: at(0) }
        await tenants.add(tenant)
        same(await tenants.brands(tenant.tenantId), [tenant.brandId])
      }
    },

    'a tenant is renamed, and no other': async ({ store, tenants }) => {
      const [one, two] = [await addTenant(store), await addTenant(store)]
      like(await tenants.update(one.tenantId, { name: 'New' }), { tenantId: one.tenantId, name: 'New' })
      const [after] = (await tenants.list('', 1_000)).filter(({ tenantId }) => tenantId === two.tenantId)
      equal(after?.name, 'Acme')
      equal(await tenants.update(newId('tenant'), { name: 'New' }), null)
    },

    'how long its logs are kept is changed without its name, and unset again': async ({ store, tenants }) => {
      const { tenantId } = await addTenant(store)
      for (const retentionDays of [30, 0, null])
        like(await tenants.update(tenantId, { retentionDays }), { name: 'Acme', retentionDays })
      await tenants.update(tenantId, { retentionDays: 7 })
      like(await tenants.update(tenantId, { name: 'New' }), { name: 'New', retentionDays: 7 })
    },

    'tenants are listed oldest first, after an id, as many as wanted': async ({ tenants }) => {
      const added = AWKWARD_TEXTS.map((name, i) => ({
        ...{ tenantId: newId('tenant'), name, createdAt: at(i) },
        retentionDays: null,
      }))
      for (const tenant of added) await tenants.add({ ...tenant, brandId: newId('brand') })
      same(await tenants.list('', 1_000), added)
      same(await tenants.list('', 3), added.slice(0, 3))
      same(await tenants.list(added[2]?.tenantId ?? '', 2), added.slice(3, 5))
      same(await tenants.list(added.at(-1)?.tenantId ?? '', 3), [])
    },

    'a tenant added through one store is known to another on the same data': async ({ another, tenants }) => {
      const tenant = await addTenant(await another())
      same(await tenants.brands(tenant.tenantId), [tenant.brandId])
    },

    'a store that is migrated is ready': async ({ store, another }) => {
      await store.ready()
      await (await another()).ready()
    },
  },
)
