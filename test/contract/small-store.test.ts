import * as core from '../../src/entry/use-cases.ts'
import { smallStore } from '../store-contract/small-store.ts'
import { overStores } from '../support/stores.ts'

overStores(async (t, kind) => {
  smallStore(core, {
    test: (title, body) =>
      t.test(title, async (t) => {
        await body()
        t.pass('no assertion failed')
      }),
    openStore: async () => {
      const { store, close } = await kind.open()
      return {
        store,
        addTenant: (tenant) =>
          store.tenants.add({ ...tenant, name: 'Acme', createdAt: '2026-01-01T00:00:00.000Z' }),
        addPageGroup: (group) => store.pageGroups.add(group),
        close,
      }
    },
  })
})
