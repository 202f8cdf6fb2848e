import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { listTenants } from '../../../src/core/tenants/list-tenants.ts'
import { addTenant } from '../../support/rows.ts'

t.test('all tenants are listed, oldest first, a hundred at a time', async (t) => {
  const store = memoryStore()
  const added: string[] = []
  for (let i = 0; i < 205; i++) added.push((await addTenant(store)).tenantId)
  const asked: number[] = []
  const list: typeof store.tenants.list = async (...args) => {
    const found = await store.tenants.list(...args)
    asked.push(found.length)
    return found
  }
  const listed: string[] = []
  for await (const { tenantId } of listTenants({ store: { tenants: { ...store.tenants, list } } })())
    listed.push(tenantId)
  t.strictSame(listed, added)
  t.strictSame(asked, [100, 100, 5, 0])
})
