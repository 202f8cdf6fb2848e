import t from 'tap'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { apiCommand } from '../../src/cli/api.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { shellOf } from '../support/program.ts'
import { countedIds, stoppedClock } from '../support/setting.ts'

t.test('api runs every operation on webhook endpoints and hooks of any tenant', async (t) => {
  const shell = shellOf({ DATABASE_URL: 'memory:', WEBHOOKS_ALLOWED_HOSTS: '127.0.0.1' })
  const world = { store: memoryStore(), clock: stoppedClock(), newId: countedIds() }
  const { tenantId: tenant } = await createTenant(world)({ name: 'Acme' })
  const api = async (method: string, path: string, body?: object) => {
    const operands = [method, path, ...(body ? [JSON.stringify(body)] : [])]
    const input = { texts: { tenant }, operands, values: { json: true } }
    const answers = apiCommand.run(input, async () => world, shell) as AsyncIterable<{ rawJson: string }>
    for await (const { rawJson } of answers) return JSON.parse(rawJson)
    return null
  }
  const created = await api('POST', '/v0/webhook_endpoints', { url: 'http://127.0.0.1:9/' })
  const endpoint = `/v0/webhook_endpoints/${created.webhookEndpointId}`
  t.match(await api('GET', '/v0/webhook_endpoints'), { items: [{ status: 'enabled' }] })
  t.match(await api('PATCH', endpoint, { status: 'disabled' }), { status: 'disabled' })
  t.match(await api('PATCH', endpoint, { status: 'enabled' }), { status: 'enabled' })
  t.match(await api('POST', `${endpoint}/test`), { delivered: false })
  t.match(await api('POST', `${endpoint}/rotate_secret`), { secret: /^whsec_/ }, 'without a body')
  t.match(await api('POST', `${endpoint}/rotate_secret`, { overlapHours: 0 }), { secret: /^whsec_/ })
  await api('POST', '/v0/prospect_logs', { source: 'crm', payload: {} })
  const now = new Date(world.clock()).toISOString()
  await world.store.events.number({ tenantId: tenant, now, max: 100 })
  const { items } = await api('GET', `${endpoint}/deliveries?status=pending`)
  const delivery = `${endpoint}/deliveries/${items[0].eventId}`
  t.match(await api('POST', `${delivery}/retry`), { status: 'pending' })
  t.match(await api('POST', `${endpoint}/replay`, { since: '2020-01-01T00:00:00Z' }), {})

  const verify = { preset: 'github', secret: 'shared' }
  const { hookId } = await api('POST', '/v0/hooks', { source: 'git', verify })
  const hook = `/v0/hooks/${hookId}`
  t.match(await api('GET', '/v0/hooks'), { items: [{ hookId }] })
  t.match(await api('GET', hook), { hookId, status: 'enabled' })
  t.match(await api('PATCH', hook, { verify: { ...verify, secret: 'another' } }), { hookId })
  t.match(await api('POST', `${hook}/try`, { headers: {}, body: '{}' }), { verified: false })
  t.equal(await api('DELETE', hook), null)
  t.equal(await api('DELETE', endpoint), null)
  t.equal(shell.exitCode, undefined, 'nothing was refused')
})
