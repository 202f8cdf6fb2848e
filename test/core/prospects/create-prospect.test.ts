import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { createProspect } from '../../../src/core/prospects/create-prospect.ts'
import { createTenant } from '../../../src/core/tenants/create-tenant.ts'
import { countedIds, stoppedClock } from '../../support/setting.ts'

t.test('each prospect that is created or filled has one event', async (t) => {
  const store = memoryStore({ everyEvent: true })
  const deps = { store, clock: stoppedClock(), newId: countedIds() }
  const { tenantId } = await createTenant(deps)({ name: 'Acme' })
  const create = createProspect(deps)
  const events = async () => {
    await store.events.number({ tenantId, now: new Date(0).toISOString(), max: 100 })
    return (await store.events.list({ tenantId, afterSequence: 0, limit: 100 })).rows.map(({ type }) => type)
  }
  const ada = { tenantId, email: 'ada@example.com' }
  await create({ ...ada, externalId: '1', name: 'Ada' })
  t.strictSame(await events(), ['prospect.created'])
  const bob = { tenantId, externalId: '2' }
  await create(bob)
  await create({ ...bob, email: 'bob@example.com', name: 'Bob' })
  t.strictSame(await events(), ['prospect.created', 'prospect.created', 'prospect.updated'])
  for (const known of [bob, ada]) await create(known)
  t.equal((await events()).length, 3, 'nothing was filled')
})
