import type { Test } from 'tap'
import { answerOf, caller, type Environment, linesOf, runCommand, startServer, until } from './program.ts'

/** Runs every command and every operation on a migrated database. */
export const useEverything = async (t: Test, env: Environment): Promise<void> => {
  const tell = (args: string) => answerOf(args.split(' '), env)
  t.match(await tell('migrate'), { applied: [] })
  const { tenantId } = await tell('tenants create --name Acme')
  t.match(await tell(`tenants update ${tenantId} --name New`), { name: 'New' })
  const nobody = `tenants update ${tenantId} --identifies-nobody noreply@shop.example`
  t.match(await tell(nobody), { identifiesNobody: ['noreply@shop.example'], joined: [] })
  t.match(await tell(`${nobody} --remove`), { identifiesNobody: [] })
  t.match(await tell(`tenants update ${tenantId} --identifies-nobody @pos.example`), { joined: [] })
  t.match(await tell('tenants list'), { tenantId, name: 'New' })
  t.match(await tell(`tenants suspend ${tenantId}`), { suspendedAt: /Z$/ })
  t.match(await tell(`tenants resume ${tenantId}`), { suspendedAt: null })
  const first = await tell(`keys create --tenant ${tenantId} --scope all`)
  const { apiKey, apiKeyId } = await tell(`keys rotate ${first.apiKeyId} --overlap 1h`)
  const api = (method: string, target: string, body = '{}') =>
    answerOf(['api', method, target, body, '--tenant', tenantId], env)
  const { pageGroupId } = await api('POST', '/v0/page_groups', '{"name":"a","title":"B"}')

  const program = await startServer(t, env)
  const call = caller(program.url, apiKey)
  const activity = { source: 'crm', payload: {}, email: 'ada@example.com', idempotencyKey: 'one' }
  t.equal((await call('POST', '/v0/prospect_logs', activity)).status, 201)
  const again = await call('POST', '/v0/prospect_logs', activity)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  const named = { ...activity, idempotencyKey: 'two', name: 'Ada' }
  t.match(await call('POST', '/v0/prospect_logs', named), { status: 201, body: { createdProspect: false } })
  const { prospectId } = again.body
  const [{ prospectLogId }] = (await call('GET', `/v0/prospects/${prospectId}/prospect_logs`)).body.items
  for (const list of [
    'prospects?email=ada@example.com',
    'prospects',
    'prospect_logs',
    'prospect_logs?type=webhook',
  ])
    t.match((await call('GET', `/v0/${list}`)).body.items[0], { prospectId }, list)
  t.match((await call('GET', `/v0/prospect_logs/${prospectLogId}`)).body, { prospectId, payload: {} })
  t.equal((await call('PATCH', `/v0/prospects/${prospectId}`, { email: 'ada.king@example.com' })).status, 200)
  t.match((await call('GET', `/v0/prospects/${prospectId}`)).body, {
    email: 'ada.king@example.com',
    name: 'Ada',
  })
  t.match((await call('GET', '/v0/api_keys/self')).body, { tenantId, tenantName: 'New', apiKeyId })
  t.match((await call('GET', '/v0/prospect_log_counts?by=day')).body, { items: [] })
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  const endpoints = '/v0/webhook_endpoints'
  const endpoint = await call('POST', endpoints, { url: 'https://example.invalid' })
  const { webhookEndpointId } = endpoint.body
  t.match(endpoint, { status: 201, body: { secret: /^whsec_/ } })
  await call('POST', '/v0/prospect_logs', { source: 'crm', payload: {}, prospectId })
  const readFeed = async () => (await call('GET', '/v0/events')).body.items
  const [event] = await until('the event has a number', async () => {
    const items = await readFeed()
    return items.length > 0 && items
  })
  t.match(event, { type: 'prospect_log.created', data: { prospectId } })
  t.strictSame((await call('GET', `/v0/events/${event.eventId}`)).body, event)
  const own = `${endpoints}/${webhookEndpointId}`
  t.equal((await call('PATCH', own, { types: ['page.created'] })).status, 200)
  t.match((await call('POST', `${own}/test`)).body, { delivered: false, statusCode: null })
  t.match((await call('GET', `${own}/deliveries`)).body.items, [{ eventId: event.eventId }])
  t.match((await call('GET', `${own}/deliveries/${event.eventId}`)).body, { body: { type: event.type } })
  t.equal((await call('POST', `${own}/deliveries/${event.eventId}/retry`)).status, 202)
  t.equal((await call('POST', `${own}/replay`, { since: event.createdAt })).status, 202)
  t.equal((await call('POST', `${own}/rotate_secret`)).status, 200)
  t.match((await call('GET', endpoints)).body.items, [{ webhookEndpointId }])
  t.match(await api('GET', `${own}/deliveries`), { items: [{ eventId: event.eventId }] })
  t.match(await api('GET', '/v0/events'), { items: [event] })
  t.equal((await call('DELETE', own)).status, 204)
  const { pageId } = (await call('POST', pages, {}, { 'idempotency-key': 'one' })).body
  t.match((await call('GET', '/v0/page_groups')).body.items, [{ pageGroupId, title: 'B', pagesCount: 1 }])
  t.match((await call('GET', pages)).body.items, [{ pageId }])
  await until('it is published', async () => (await call('GET', `${pages}/${pageId}`)).body.publishedVersion)
  const other = await call('POST', '/v0/prospects', { email: 'grace@example.com', externalId: '1' })
  t.equal(
    (await call('POST', `/v0/prospects/${other.body.prospectId}/merge`, { into: prospectId })).status,
    200,
  )
  const erasure = await call('POST', '/v0/erasures', { email: 'grace@example.com' })
  t.match(erasure, { status: 202, body: { prospectId } })
  const { erasureId } = erasure.body
  const isErased = async () => (await call('GET', `/v0/erasures/${erasureId}`)).body.completedAt
  await until('the person is erased', isErased)
  const refused = await call('POST', '/v0/prospect_logs', activity)
  t.equal(refused.status, 410)
  t.match((await call('POST', `/v0/erasures/${erasureId}/unblock`)).body, { blockedUntil: null })
  await tell(`keys revoke ${apiKeyId}`)
  const isRefused = async () => (await call('GET', pages)).status === 401
  await until('the revoked key is refused', isRefused)
  const listed = await runCommand(['keys', 'list', '--tenant', tenantId], env)
  t.match(linesOf(listed.stdout)[1], { apiKeyId, lastUsedAt: /Z$/ })
  t.equal(await program.stop(), 0)
  const loud = program.logs().filter(({ level }) => level > 30)
  t.strictSame(
    loud.filter(({ msg }) => !/fsync/.test(msg)),
    [],
  )
}
