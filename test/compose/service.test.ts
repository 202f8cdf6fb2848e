import t, { type Test } from 'tap'
import { createLog } from '../../src/adapters/log.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { compose } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { unavailable } from '../../src/core/engine/failures.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import type { Counts } from '../../src/core/ports/counts.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { hooksOver } from '../support/hooks.ts'
import { countedIds, stoppedClock } from '../support/setting.ts'

t.test('a service that is stopped while it migrates opens nothing more', async (t) => {
  const migration = Promise.withResolvers<readonly string[]>()
  let watched = false
  const store = {
    ...memoryStore(),
    migrate: () => migration.promise,
    watch: () => {
      watched = true
      return () => {}
    },
  }
  const world = { store, clock: stoppedClock(), newId: countedIds(), log: createLog('silent') }
  const service = compose(readConfig({ DATABASE_URL: 'memory:' }), world)
  const started = service.start()
  await service.close()
  migration.resolve([])
  await started
  t.notOk(watched, 'nobody would close it')
})

/** A service of a tenant with two keys. `addUsageOver` makes the `addUsage` of its store. */
const openUsage = async (t: Test, env: object = {}, addUsageOver = (addUsage: AddUsage) => addUsage) => {
  const memory = memoryStore()
  const store = { ...memory, counts: { ...memory.counts, addUsage: addUsageOver(memory.counts.addUsage) } }
  const world = { store, clock: stoppedClock(), newId: countedIds(), log: createLog('silent') }
  const service = compose(readConfig({ DATABASE_URL: 'memory:', ...env }), world)
  await service.start()
  t.teardown(service.close)
  const { tenantId } = await createTenant(world)({ name: 'One' })
  const newKey = () => issueApiKey(world)({ tenantId, name: null, scopes: SCOPES, lifeMs: null })
  const busy = await newKey()
  const idle = await newKey()
  const { call, create, deliver } = hooksOver(service.api, busy.apiKey)
  const usage = () => store.counts.sumUsage({ tenantId, since: '', rowsMax: 100, limit: 100 })
  return { service, tenantId, call, create, deliver, usage, busy, idle }
}
type AddUsage = Counts['addUsage']
const ACTIVITY = { source: 'crm', payload: {}, email: 'ada@example.com' }
const since = '2026-01-01T00:00:00.000Z'

t.test('what each key uses is counted, and written before the store is closed', async (t) => {
  const { service, call, usage, busy, idle, tenantId } = await openUsage(t)
  const keyed = { ...ACTIVITY, idempotencyKey: 'one' }
  const batch = { items: [keyed, ACTIVITY, ACTIVITY, { source: '' }] }
  for (const json of [keyed, keyed]) await call('POST /v0/prospect_logs', { json })
  await call('POST /v0/prospect_logs/batch', { json: batch })
  await call('GET /v0/page_groups', { key: idle.apiKey })
  await call('GET /v0/page_groups', { key: 'pp_unknown' })
  t.strictSame(await usage(), [], 'nothing is written for a request')
  await service.close()
  const bytes = [keyed, keyed, batch].reduce((sum, body) => sum + JSON.stringify(body).length, 0)
  t.strictSame(await usage(), [
    { tenantId, apiKeyId: busy.apiKeyId, requests: 3, activities: 3, bytes, since },
    { tenantId, apiKeyId: idle.apiKeyId, requests: 1, activities: 0, bytes: 0, since },
  ])
})

t.test('requests beyond the rate limit count, and so do deliveries to a hook', async (t) => {
  const { service, call, create, deliver, usage, busy } = await openUsage(t, { RATE_LIMIT_PER_MINUTE: '3' })
  const hook = await create({ source: 'vendor', each: '/items', map: { idempotencyKey: ['/id'] } })
  for (const json of [ACTIVITY, ACTIVITY, ACTIVITY, ACTIVITY]) await call('POST /v0/prospect_logs', { json })
  await deliver(hook, '{"items":[{"id":1},{"id":2}]}')
  await deliver(hook, '{"items":[{"id":2},{"id":3}]}')
  await deliver(hook, '{}', { 'x-signature': 'wrong' })
  await service.close()
  t.match(await usage(), [
    { apiKeyId: busy.apiKeyId, requests: 5, activities: 2 },
    { apiKeyId: hook.hookId, requests: 3, activities: 3, bytes: 2 * 29 + 2 },
  ])
})

t.test('what could not be written counts for the next minute', async (t) => {
  let isAway = true
  const { service, call, usage, busy } = await openUsage(t, {}, (addUsage) => async (...change) => {
    if (isAway) throw unavailable('away')
    return addUsage(...change)
  })
  await call('GET /v0/page_groups')
  isAway = false
  await service.close()
  t.match(await usage(), [{ apiKeyId: busy.apiKeyId, requests: 1 }])
})
