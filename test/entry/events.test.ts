import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createApi } from '../../src/entry/http.ts'
import {
  createService,
  DomainFailure,
  memoryStore,
  SCOPES,
  type WebhookOptions,
} from '../../src/entry/index.ts'
import { caller } from '../support/api.ts'

const opened = async (webhooks: WebhookOptions = {}) => {
  const store = memoryStore()
  const service = createService({ store, webhooks })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  const activity = { tenantId, source: 'crm', payload: { rawJson: '{ "a": 1.0 }' } }
  const number = () => store.events.number({ tenantId, now: new Date().toISOString(), max: 100 })
  return { service, store, tenantId, activity, number, call: caller(createApi({ store, webhooks }), apiKey) }
}
const kindOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (why: unknown) => (why instanceof DomainFailure ? [why.kind, why.facts.errors?.[0]] : why),
  )

t.test('the feed and what is delivered, as the API answers them', async (t) => {
  const { service, tenantId, activity, number, call } = await opened()
  const created = await service.createWebhookEndpoint({ tenantId, url: 'https://example.com/hooks' })
  const { secret, ...endpoint } = created.value
  t.match(secret, /^whsec_/)
  const { webhookEndpointId } = endpoint
  const want = { tenantId, webhookEndpointId }
  await service.logProspectActivity(activity)
  await number()

  const { value: feed } = await service.listEvents({ tenantId, types: 'prospect_log.created' })
  t.match(feed, { items: [{ sequence: 2, data: { payload: { rawJson: '{ "a": 1.0 }' } } }], hasMore: false })
  const [event] = feed.items
  t.strictSame((await service.getEvent({ tenantId, eventId: event?.eventId ?? '' })).value, event)
  t.match((await service.listEvents({ tenantId, cursor: feed.nextCursor, limit: 1 })).value, { items: [] })

  const path = `/v0/webhook_endpoints/${webhookEndpointId}`
  t.strictSame((await service.getWebhookEndpoint(want)).value, (await call(`GET ${path}`)).json)
  t.strictSame((await service.listWebhookEndpoints({ tenantId })).value, { items: [endpoint] })
  const { value: deliveries } = await service.listDeliveries({ ...want, limit: 1, status: 'pending' })
  t.strictSame(deliveries, (await call(`GET ${path}/deliveries?limit=1&status=pending`)).json)
  const eventId = deliveries.items[0]?.eventId ?? ''
  t.match((await service.retryDelivery({ ...want, eventId })).value, { eventId, status: 'pending' })
  const since = '2026-01-01T00:00:00Z'
  t.strictSame(await service.replayDeliveries({ ...want, since }), {
    value: { deliveries: 2, nextCursor: null },
  })

  t.match(await service.updateWebhookEndpoint({ ...want, types: ['page.created'] }), {
    value: { types: ['page.created'] },
  })
  t.not((await service.rotateWebhookSecret(want)).value.secret, secret)
  await service.deleteWebhookEndpoint(want)
  t.strictSame((await service.listWebhookEndpoints({ tenantId })).value, { items: [] })
})

t.test('a program waits for the next event, until its signal aborts', async (t) => {
  const { service, tenantId, activity, number } = await opened()
  await service.createWebhookEndpoint({ tenantId, url: 'https://example.com/hooks' })
  const next = service.listEvents({ tenantId, wait: 25, limit: 1 })
  await service.logProspectActivity(activity)
  await number()
  t.match((await next).value, { items: [{ sequence: 1, apiKeyId: null }], hasMore: true })
  const ended = AbortSignal.abort()
  const leaving = new AbortController()
  const ask = (signal: AbortSignal) => service.listEvents({ tenantId, wait: 25, cursor: 'latest', signal })
  t.match((await ask(ended)).value, { items: [] })
  setImmediate(() => leaving.abort())
  t.match((await ask(leaving.signal)).value, { items: [] })
})

t.test('a test sends an activity that arrived before there was an endpoint', async (t) => {
  const bodies: string[] = []
  const receiver = createServer(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()).toString())
    response.end()
  })
  receiver.listen(0, '127.0.0.1')
  t.teardown(() => receiver.close())
  await once(receiver, 'listening')
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

  const { service, tenantId, activity } = await opened({ allowedNetworks: ['127.0.0.0/8'] })
  const { prospectLogId } = (await service.logProspectActivity({ ...activity, email: 'ada@example.com' }))
    .value
  const body = { rawJson: '{"email":"{{/data/prospect/email}}","id":"{{/eventId}}"}' }
  const { webhookEndpointId } = (await service.createWebhookEndpoint({ tenantId, url, body })).value
  const endpoint = { tenantId, webhookEndpointId }

  const { value: tested } = await service.testWebhookEndpoint({ ...endpoint, prospectLogId })

  t.match(tested, { delivered: true, statusCode: 200 })
  const eventId = prospectLogId.replace('prospectlog', 'event')
  t.strictSame(
    bodies.map((text) => JSON.parse(text)),
    [{ email: 'ada@example.com', id: eventId }],
  )
  const missing = { ...endpoint, prospectLogId: prospectLogId.replace(/.$/, '0') }
  t.match(await kindOf(service.testWebhookEndpoint(missing)), ['prospect_log_not_found'])
  t.match(await kindOf(service.testWebhookEndpoint({ ...endpoint, prospectLogId, eventId })), [
    'invalid_request',
    { pointer: '/prospectLogId' },
  ])
})

t.test('a test reaches a receiver on a network that is allowed', async (t) => {
  const received: string[] = []
  const receiver = createServer((request, response) => {
    received.push(`${request.method} ${request.headers['webhook-id']}`)
    response.writeHead(202).end()
  })
  receiver.listen(0, '127.0.0.1')
  t.teardown(() => receiver.close())
  await once(receiver, 'listening')
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

  const allowing = await opened({ allowedNetworks: ['127.0.0.0/8'] })
  const { tenantId } = allowing
  const { webhookEndpointId } = (await allowing.service.createWebhookEndpoint({ tenantId, url })).value
  const { value: tested } = await allowing.service.testWebhookEndpoint({ tenantId, webhookEndpointId })
  t.match(tested, { delivered: true, statusCode: 202, error: null })
  const overHttp = await allowing.call(`POST /v0/webhook_endpoints/${webhookEndpointId}/test`)
  t.match(overHttp.json, { delivered: true, statusCode: 202 })
  t.match(received, [/^POST event_/, /^POST event_/])

  const { service, tenantId: other } = await opened()
  t.match(await kindOf(service.createWebhookEndpoint({ tenantId: other, url })), [
    'invalid_request',
    { pointer: '/url', detail: /allowedNetworks/ },
  ])
})

t.test('what they are given is checked as over HTTP', async (t) => {
  const { service, tenantId } = await opened()
  const refused = async (call: Promise<unknown>, fault: object) =>
    t.match(await kindOf(call), ['invalid_request', fault])
  const want = { tenantId, webhookEndpointId: 'x' }
  await refused(service.listEvents({ tenantId, types: 'page.gone' }), { parameter: 'types' })
  await refused(service.listEvents({ tenantId, wait: 26 }), { parameter: 'wait' })
  await refused(service.createWebhookEndpoint({ tenantId, url: '' }), { pointer: '/url' })
  await refused(service.rotateWebhookSecret({ ...want, overlapHours: 0.5 }), { pointer: '/overlapHours' })
  await refused(service.replayDeliveries({ ...want, since: 'now' }), { pointer: '/since' })
  await refused(service.listDeliveries({ ...want, status: 'gone' as 'failed' }), { parameter: 'status' })
  t.match(await kindOf(service.getWebhookEndpoint(want)), ['webhook_endpoint_not_found'])
  t.match(await kindOf(service.listEvents({ tenantId: 'x' })), ['not_found'])
})
