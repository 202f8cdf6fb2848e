import { equal, like, same } from './assertions.ts'
import { section } from './contract.ts'
import { fillTenant } from './filled-tenant.ts'
import { AWKWARD_TEXTS, addTenant, at, newId, someClaim } from './rows.ts'

export const tenants = section(
  'tenants',
  ({ store }) => {
    const { tenants } = store

    return { tenants }
  },
  {
    'a tenant has its own first brand, and no other': async ({ store, tenants }) => {
      const first = await addTenant(store)
      const second = await addTenant(store)
      same(await tenants.brands(first.tenantId), [first.brandId])
      same(await tenants.brands(second.tenantId), [second.brandId])
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
      const first = await addTenant(store)
      const second = await addTenant(store)
      like(await tenants.update(first.tenantId, { name: 'New' }), { tenantId: first.tenantId, name: 'New' })
      const [after] = (await tenants.list('', 1_000)).filter(({ tenantId }) => tenantId === second.tenantId)
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
        tenantId: newId('tenant'),
        name,
        createdAt: at(i),
        retentionDays: null,
        suspendedAt: null,
        deletedAt: null,
      }))
      for (const tenant of added) await tenants.add({ ...tenant, brandId: newId('brand') })
      same(await tenants.list('', 1_000), added)
      same(await tenants.list('', 3), added.slice(0, 3))
      same(await tenants.list(added[2]?.tenantId ?? '', 2), added.slice(3, 5))
      same(await tenants.list(added.at(-1)?.tenantId ?? '', 3), [])
    },

    'a suspended tenant keeps the time of its suspension until it is resumed': async ({ store, tenants }) => {
      const { tenantId } = await addTenant(store)
      const other = await addTenant(store)
      const suspend = (second: number) =>
        tenants.setState(tenantId, { suspendedAt: at(second), deletedAt: null })
      like(await suspend(1), { tenantId, suspendedAt: at(1), deletedAt: null })
      like(await suspend(2), { suspendedAt: at(1) })
      like(await tenants.find(other.tenantId), { suspendedAt: null })
      like(await tenants.setState(tenantId, { suspendedAt: null, deletedAt: null }), { suspendedAt: null })
      like(await suspend(3), { suspendedAt: at(3) })
      equal(await tenants.setState(newId('tenant'), { suspendedAt: at(1), deletedAt: null }), null)
    },

    'keys and hooks show that their tenant is suspended, and no other does': async ({ store, tenants }) => {
      const filled = [await fillTenant(store), await fillTenant(store)]
      await tenants.setState(filled[0]?.tenant.tenantId ?? '', { suspendedAt: at(1), deletedAt: null })
      for (const [i, { key, hook }] of filled.entries()) {
        like((await store.apiKeys.findByHashes([key.keyHash]))[0], { ...key, isSuspended: i === 0 })
        like((await store.hooks.findByIds([hook.hookId]))[0], { hookId: hook.hookId, isSuspended: i === 0 })
      }
    },

    'nothing of a suspended tenant is claimed to be published or sent, until it is resumed; its erasures are':
      async ({ store, tenants }) => {
        const { tenant } = await fillTenant(store)
        const other = await fillTenant(store)
        const { tenantId } = tenant
        const later = someClaim({ now: at(2_000), until: at(2_000), horizon: at(9_000) })
        const claimedOf = async (rows: Promise<readonly { readonly tenantId: string }[]>) => {
          const ids = (await rows).map((row) => row.tenantId)
          equal(ids.includes(other.tenant.tenantId), true)
          return ids.includes(tenantId)
        }
        await store.webhooks.retry({ ...other.endpoint, eventId: other.event.eventId, now: at(0) })
        const claims = async () => [
          await claimedOf(store.versions.claim(later)),
          await claimedOf(store.webhooks.claim(later)),
          await claimedOf(store.erasures.claim(later)),
        ]
        await tenants.setState(tenantId, { suspendedAt: at(1), deletedAt: null })
        same(await claims(), [false, false, true])
        await tenants.setState(tenantId, { suspendedAt: null, deletedAt: null })
        same(await claims(), [true, true, true])
      },

    'a deleted tenant is removed with everything of it, a list at a time, and no other': async (scene) => {
      const { store, tenants } = scene
      const first = await fillTenant(store)
      const second = await fillTenant(store)
      const { tenantId } = first.tenant
      const before = await tenants.left(second.tenant.tenantId)
      same(await tenants.left(tenantId), before)
      same(await tenants.deleting(), [])
      await tenants.remove(tenantId)
      like(await tenants.setState(tenantId, { suspendedAt: at(1), deletedAt: at(1) }), { deletedAt: at(1) })
      equal(await tenants.setState(tenantId, { suspendedAt: null, deletedAt: null }), null)
      equal(await tenants.brands(tenantId), null)
      same(
        (await tenants.deleting()).map((tenant) => tenant.tenantId),
        [tenantId],
      )

      let after: Awaited<ReturnType<typeof tenants.removeSome>> = null
      do after = await tenants.removeSome({ tenantId, after, max: 1 })
      while (after !== null)
      same(await tenants.left(tenantId), [])
      same(await store.apiKeys.findByHashes([first.key.keyHash]), [])
      await tenants.remove(tenantId)
      equal(await tenants.find(tenantId), null)
      same(await tenants.deleting(), [])
      same(await tenants.left(second.tenant.tenantId), before)
      equal((await store.prospectLogs.find({ ...second.log }))?.prospectLogId, second.log.prospectLogId)
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
