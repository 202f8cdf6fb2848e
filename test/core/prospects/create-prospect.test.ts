import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { createProspects } from '../../../src/core/prospects/create-prospect.ts'
import { createTenant } from '../../../src/core/tenants/create-tenant.ts'
import { countedIds, stoppedClock } from '../../support/setting.ts'

t.test('a list has one event for each prospect that it creates or fills', async (t) => {
  const store = memoryStore({ everyEvent: true })
  const deps = { store, clock: stoppedClock(), newId: countedIds() }
  const { tenantId } = await createTenant(deps)({ name: 'Acme' })
  const create = createProspects(deps)
  const events = async () => {
    await store.events.number({ tenantId, now: new Date(0).toISOString(), max: 100 })
    return (await store.events.list({ tenantId, afterSequence: 0, limit: 100 })).rows.map(({ type }) => type)
  }
  const ada = { tenantId, email: 'ada@example.com' }
  await create([ada, { ...ada, externalId: '1' }, { ...ada, name: 'Ada' }])
  t.strictSame(await events(), ['prospect.created'])
  const bob = { tenantId, externalId: '2' }
  await create([bob])
  await create([
    { ...bob, email: 'bob@example.com' },
    { ...bob, name: 'Bob' },
  ])
  t.strictSame(await events(), ['prospect.created', 'prospect.created', 'prospect.updated'])
  await create([bob, ada])
  t.equal((await events()).length, 3, 'nothing was filled')
})
